import { byId, element } from "./element.js";
import { send } from "./gateway.js";
import { PROBES, PROMPT, TOOL_PROMPT } from "../wording/probes.js";
import { withLocalTimes } from "../wording/times.js";
import { asSentence } from "../wording/words.js";

/**
 * @typedef {import("../wording/protocols.js").Protocol} Protocol
 *
 * @typedef {object} Trial A model, in the protocol of the chosen client.
 * @property {string} model
 * @property {Protocol} protocol
 *
 * @typedef {object} TryView
 * @property {(trial: Trial | undefined) => void} show Offers to try this model, if there is one, and removes the result
 * of the last trial.
 *
 * @typedef {object} TryOptions
 * @property {string} base The gateway's address without a trailing slash.
 * @property {() => string} token The caller's token.
 * @property {(text: string) => void} announce Announces an event to screen readers.
 * @property {() => void} onTried Called after a trial.
 *
 * @typedef {(prompt: string, more?: Readonly<Record<string, unknown>>) => Promise<Answer>} Ask Sends a prompt to the
 * model and reads its whole answer.
 *
 * @typedef {object} Answer
 * @property {string} type The media type.
 * @property {string} text
 *
 * @typedef {object} Result
 * @property {string} name
 * @property {boolean} isGood
 * @property {string} text
 */

/** The error of a failed step; its message gives the reason and an instruction. */
class StepFailed extends Error {}

/** The steps of `setup --check` that an open page has not passed already. */
const STEPS = [
  { name: "model", run: tryModel },
  { name: "stream", run: tryStream },
  { name: "tools", run: tryTools },
];

/**
 * Connects the button that tries a model with the requests of the chosen client.
 *
 * @param {TryOptions} options
 * @returns {TryView}
 */
export function createTryView({ base, token, announce, onTried }) {
  const button = byId("try", HTMLButtonElement);
  const list = byId("try-steps", HTMLElement);
  /** @type {Trial | undefined} */
  let trial;
  /** @type {Trial | undefined} */
  let running;

  /** @param {Trial | undefined} tried */
  function setRunning(tried) {
    running = tried;
    button.textContent = tried === undefined ? "Try it" : "Trying…";
    button.setAttribute("aria-disabled", String(tried !== undefined));
  }

  async function runSteps() {
    const tried = trial;
    if (tried === undefined || running !== undefined) return;
    setRunning(tried);
    list.replaceChildren();
    const ask = askOf(tried, { base, token: token() });
    for (const step of STEPS) {
      const result = await resultOf(step, tried, ask);
      // The reader may have chosen another model in the meantime.
      if (running !== tried) return;
      list.append(stepView(result));
      announce(`${result.name}: ${result.text}`);
      if (!result.isGood) break;
    }
    setRunning(undefined);
    onTried();
  }

  button.addEventListener("click", runSteps);
  return {
    show(chosen) {
      trial = chosen;
      button.disabled = chosen === undefined;
      list.replaceChildren();
      setRunning(undefined);
    },
  };
}

/**
 * @param {typeof STEPS[number]} step
 * @param {Trial} trial
 * @param {Ask} ask
 * @returns {Promise<Result>}
 */
async function resultOf({ name, run }, trial, ask) {
  try {
    return { name, isGood: true, text: asSentence(await run(trial, ask)) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return {
      name,
      isGood: false,
      text: asSentence(withLocalTimes(error.message)),
    };
  }
}

/** @param {Result} result @returns {HTMLElement} */
function stepView({ name, isGood, text }) {
  const word = isGood ? "good" : "bad";
  return element(
    "li",
    { class: `step ${word}` },
    element("span", { class: "step-result" }, word),
    element("b", {}, name),
    element("span", {}, text),
  );
}

/** @param {Trial} trial @param {Ask} ask */
async function tryModel({ model, protocol }, ask) {
  await ask(PROMPT);
  return `${model} answers on /v1${PROBES[protocol].path}`;
}

/** @param {Trial} trial @param {Ask} ask */
async function tryStream({ model, protocol }, ask) {
  const { type, text } = await ask(PROMPT, { stream: true });
  if (!type.startsWith("text/event-stream")) {
    throw new StepFailed(
      `${model} sent ${
        type || "an unnamed type"
      } instead of a stream. A proxy may change the responses: contact the administrator`,
    );
  }
  if (!PROBES[protocol].streamEnd.test(text)) {
    throw new StepFailed(
      `The stream of ${model} broke off. Try again, or try another model`,
    );
  }
  return "it arrives and ends correctly";
}

/** @param {Trial} trial @param {Ask} ask */
async function tryTools({ model, protocol }, ask) {
  const { tool, callsTool } = PROBES[protocol];
  const { text } = await ask(TOOL_PROMPT, { tools: [tool] });
  if (!callsTool(parsed(text))) {
    throw new StepFailed(
      `${model} did not call the tool in the prompt. For an agent, choose another model`,
    );
  }
  return `${model} calls them`;
}

/**
 * @param {Trial} trial
 * @param {{ readonly base: string, readonly token: string }} gateway
 * @returns {Ask}
 */
function askOf({ model, protocol }, { base, token }) {
  const { path, body } = PROBES[protocol];
  return async (prompt, more = {}) => {
    const request = { ...body(model, prompt), ...more };
    const answer = await send(`${base}/v1${path}`, token, request);
    const text = await answer.text().catch(() => {
      throw new StepFailed(
        `The answer of ${model} broke off. Try again, or try another model`,
      );
    });
    if (answer.ok) {
      return { type: answer.headers.get("content-type") ?? "", text };
    }
    const message = parsed(text)?.error?.message ??
      "The response gives no reason";
    throw new StepFailed(
      `${model} failed with HTTP ${answer.status}. ${asSentence(message)} ${
        adviceFor(answer.status)
      }`.trim(),
    );
  };
}

/** @param {number} status @returns {string} */
function adviceFor(status) {
  // The message of the gateway already gives advice.
  if (status === 401) return "";
  if (status === 429) return "The top of this page shows what is left";
  return status >= 500
    ? "Try another model. If that fails too, contact the administrator"
    : "Try another model";
}

/** @param {string} text @returns {any} Undefined when it is not JSON. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
