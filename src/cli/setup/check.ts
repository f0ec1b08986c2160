import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import {
  MAIN_OPERATIONS,
  operationPath,
  OPERATIONS,
  type OperationShape,
  type Protocol,
} from "../../core/protocol.ts";
import { type CliIo, EXIT } from "../command.ts";
import {
  type Asked,
  askGateway,
  type AskTools,
  errorMessage,
  NoAnswer,
  notGateway,
} from "../gateway_client.ts";
import type { SetupOptions } from "./options.ts";
import {
  chooseModels,
  readModels,
  SetupFailed,
  unlistedHint,
} from "./read_models.ts";

/** How a model is tried in a protocol. */
interface Probe {
  /** The body of a request that says `text` to a model, and asks for no stream. */
  body(model: string, text: string): JsonObject;
  /** The tool {@linkcode TOOL}, as the protocol writes it. */
  readonly tool: JsonObject;
  /** What ends a whole stream. */
  readonly streamEnd: RegExp;
  /** Whether an answer calls {@linkcode TOOL}. */
  callsTool(answer: JsonObject): boolean;
}

/** A tool that any model can call without knowing anything. */
const TOOL = {
  name: "note_number",
  description: "Notes a number.",
  schema: {
    type: "object",
    properties: { number: { type: "integer" } },
    required: ["number"],
  },
};

/** What makes a model call {@linkcode TOOL}. */
const TOOL_PROMPT = `Use ${TOOL.name} with {"number":7}`;

/** Enough for a model that thinks before it says a word. */
const MAX_TOKENS = 2048;

/** One row a protocol. */
const PROBES: Readonly<Record<Protocol, Probe>> = {
  chat: {
    body: (model, content) => ({
      model,
      messages: [{ role: "user", content }],
    }),
    tool: {
      type: "function",
      function: {
        name: TOOL.name,
        description: TOOL.description,
        parameters: TOOL.schema,
      },
    },
    streamEnd: /^data: *\[DONE\]/m,
    callsTool: ({ choices }) =>
      objectsIn(choices).some(({ message }) =>
        isJsonObject(message) &&
        objectsIn(message.tool_calls).some(({ function: called }) =>
          isJsonObject(called) && called.name === TOOL.name
        )
      ),
  },
  messages: {
    body: (model, content) => ({
      model,
      max_tokens: MAX_TOKENS,
      messages: [{ role: "user", content }],
    }),
    tool: {
      name: TOOL.name,
      description: TOOL.description,
      input_schema: TOOL.schema,
    },
    streamEnd: /^event: *message_stop/m,
    callsTool: ({ content }) =>
      objectsIn(content).some(({ type, name }) =>
        type === "tool_use" && name === TOOL.name
      ),
  },
  responses: {
    body: (model, input) => ({ model, input, store: false }),
    tool: {
      type: "function",
      name: TOOL.name,
      description: TOOL.description,
      parameters: TOOL.schema,
      strict: false,
    },
    streamEnd: /^event: *response\.completed/m,
    callsTool: ({ output }) =>
      objectsIn(output).some(({ type, name }) =>
        type === "function_call" && name === TOOL.name
      ),
  },
};

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** What a step works with; the model is known once the token has been tried. */
interface Trial extends AskTools, SetupOptions {
  chosen: string;
  /** Why no connection could be made with what is there. */
  connectionFault: string | undefined;
}

/** A step of a check: what is tried, and what came of it in some words. */
interface Step {
  readonly name: string;
  /** @throws {SetupFailed} What is wrong and what to do. */
  run(trial: Trial): Promise<string>;
}

const STEPS: readonly Step[] = [
  { name: "reachable", run: reach },
  { name: "TLS", run: tryTransport },
  { name: "token", run: tryToken },
  { name: "model", run: tryModel },
  { name: "stream", run: tryStream },
  { name: "tools", run: tryTools },
];

const NAME_WIDTH = Math.max(...STEPS.map(({ name }) => name.length));

/**
 * `setup CLIENT --check`: asks the gateway what the client would, one thing after another until something
 * fails, and prints a line for each.
 *
 * @returns The exit code.
 */
export async function checkSetup(
  options: SetupOptions,
  tools: AskTools & CliIo,
): Promise<number> {
  const trial: Trial = {
    ...options,
    ...tools,
    chosen: "",
    connectionFault: undefined,
  };
  for (const step of STEPS) {
    const name = step.name.padEnd(NAME_WIDTH);
    try {
      tools.write(`good  ${name}  ${await step.run(trial)}\n`);
    } catch (error) {
      if (!(error instanceof SetupFailed)) throw error;
      tools.write(`bad   ${name}  ${error.message}\n`);
      return EXIT.failed;
    }
  }
  return EXIT.good;
}

/** Asks without the token, which goes nowhere before it is known what is there. */
async function reach(trial: Trial): Promise<string> {
  const url = `${trial.base}/v1/models`;
  try {
    const answer = await askGateway({ url }, trial);
    if (answer.status === 401 && errorMessage(answer) !== undefined) {
      return `${trial.base} is a gateway`;
    }
    throw new SetupFailed(notGateway(answer));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    if (!error.isThere) throw new SetupFailed(error.message);
    trial.connectionFault = error.message;
    return "something is there";
  }
}

function tryTransport({ base, connectionFault }: Trial): Promise<string> {
  if (connectionFault !== undefined) {
    return Promise.reject(new SetupFailed(connectionFault));
  }
  const { protocol, hostname } = new URL(base);
  if (protocol === "https:") {
    return Promise.resolve("the certificate is trusted here");
  }
  const isHere = /^(localhost|127\..*|\[::1\])$/.test(hostname);
  return Promise.resolve(
    isHere
      ? "not used, and not needed on this machine"
      : "not used: others on the way can read the token and the answers",
  );
}

async function tryToken(trial: Trial): Promise<string> {
  const models = await readModels(trial, trial);
  const [first] = chooseModels(models, trial.client, trial.model);
  trial.chosen = first.id;
  const count = models.length === 1 ? "1 model" : `${models.length} models`;
  const hint = unlistedHint(models, first.id);
  return `it is known and may use ${count}${hint ? `. ${hint}` : ""}`;
}

async function tryModel(trial: Trial): Promise<string> {
  await ask(trial, "Say OK.", {});
  return `${trial.chosen} answers on ${pathFor(trial, { stream: false })}`;
}

async function tryStream(trial: Trial): Promise<string> {
  const { type, text } = await ask(trial, "Say OK.", { stream: true });
  if (!type.startsWith("text/event-stream")) {
    throw new SetupFailed(
      `${trial.chosen} gave no stream but ${
        type || "an unnamed type"
      }: a proxy on the way may change answers; tell the administrator`,
    );
  }
  if (!probeOf(trial).streamEnd.test(text)) {
    throw new SetupFailed(
      `the stream of ${trial.chosen} ended before its end: try it again, or another model with --model; if it stays so, tell the administrator`,
    );
  }
  return "it comes and ends as it should";
}

async function tryTools(trial: Trial): Promise<string> {
  const { tool, callsTool } = probeOf(trial);
  const { body } = await ask(trial, TOOL_PROMPT, { tools: [tool] });
  if (!isJsonObject(body) || !callsTool(body)) {
    throw new SetupFailed(
      `${trial.chosen} was told to use a tool and did not: for an agent choose another model with --model`,
    );
  }
  return `${trial.chosen} calls them`;
}

function probeOf({ client }: Trial): Probe {
  return PROBES[client.protocol];
}

function operationOf({ client }: Trial): OperationShape {
  return OPERATIONS[MAIN_OPERATIONS[client.protocol]];
}

function pathFor(trial: Trial, asked: { readonly stream: boolean }): string {
  return `/v1${operationPath(operationOf(trial), trial.chosen, asked)}`;
}

/** @throws {SetupFailed} For every answer that is not 200. */
async function ask(
  trial: Trial,
  prompt: string,
  more: { readonly stream?: boolean; readonly tools?: readonly JsonObject[] },
): Promise<Asked> {
  const { stream = false, ...fields } = more;
  const { streamField } = operationOf(trial);
  const question = {
    ...probeOf(trial).body(trial.chosen, prompt),
    ...fields,
    ...(stream && streamField !== undefined ? { [streamField]: true } : {}),
  };
  try {
    const answer = await askGateway({
      url: trial.base + pathFor(trial, { stream }),
      token: trial.token,
      body: question,
    }, trial);
    if (answer.status === 200) return answer;
    const message = errorMessage(answer) ?? "without a reason";
    throw new SetupFailed(
      `${trial.chosen}: HTTP ${answer.status}, ${message}: ${
        advice(answer.status)
      }`,
    );
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    throw new SetupFailed(`${trial.chosen}: ${error.message}`);
  }
}

function advice(status: number): string {
  switch (status) {
    case 401:
      return "ask the administrator for a new token";
    case 404:
      return "name one of your models with --model";
    case 429:
      return "wait, and see what is left with model-gateway limits";
    default:
      return status >= 500
        ? "try another model with --model; if it stays so, tell the administrator"
        : "try another model with --model";
  }
}
