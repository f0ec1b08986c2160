import { memory, resetPeak } from "../bench/processes.ts";
import { PATHS } from "../support/wire/ask.ts";
import { bodyOf } from "./ask.ts";
import { sizeText } from "./findings.ts";
import type { Behaviour, Question } from "./question.ts";
import { hasProc, NATIVE, type Way } from "./scene.ts";
import type { SceneOptions } from "./soak_options.ts";
import { jsonAnswer } from "./speech.ts";

const MIB = 1024 * 1024;

/**
 * The size of a native answer, in MiB. The least is more than the gateway holds of a translated
 * one.
 */
const PASSED_MIB = 1_024;
const MIN_PASSED_MIB = 128;

/** The time to read an endless stream, in milliseconds. */
const ENDLESS_MS = 5_000;

/** The most by which a native answer of any size may raise the peak of memory. Most of that is uncollected garbage. */
const MAX_PASSING_BYTES = 192 * MIB;

/**
 * The most by which an answer may raise it that the gateway holds up to its limit, as bytes, text and parsed values.
 */
const MAX_HELD_BYTES = 512 * MIB;

const TRANSLATED: Way = { protocol: "chat", upstream: "messages", model: "b" };

/** Sends answers that are very long or endless. */
export async function soakBigAnswers(options: SceneOptions): Promise<void> {
  const { findings, effort } = options;
  const mib = Math.max(MIN_PASSED_MIB, Math.ceil(PASSED_MIB * effort));
  const endlessMs = ENDLESS_MS * effort;
  const send = (way: Way, behaviour: Behaviour) =>
    ask({ tag: "big", behaviour, words: mib }, way, options);
  const pass = (what: string, work: () => Promise<string>) =>
    measure(what, MAX_PASSING_BYTES, options, work);
  const hold = (what: string, work: () => Promise<string>) =>
    measure(what, MAX_HELD_BYTES, options, work);
  await pass(`JSON of ${mib} MiB, native`, async () => {
    const bytes = await readFor(await send(NATIVE, "huge"), Infinity);
    const frame = jsonAnswer("chat", [""]).length;
    if (bytes !== mib * MIB + frame) {
      findings.fail(`The answer of ${mib} MiB has ${sizeText(bytes)}`);
    }
    return `${sizeText(bytes)} passed`;
  });
  for (
    const [name, way] of Object.entries({
      native: NATIVE,
      translated: TRANSLATED,
    })
  ) {
    await pass(`an endless stream, ${name}`, async () => {
      const answer = await send(way, "flood");
      return `${sizeText(await readFor(answer, endlessMs))} passed`;
    });
  }
  await hold(`JSON of ${mib} MiB, translated`, async () => {
    const answer = await send(TRANSLATED, "huge");
    const text = await answer.text();
    if (answer.status !== 502 || !text.includes("too long")) {
      findings.fail(`JSON that is too long returned ${answer.status}: ${text}`);
    }
    return `rejected with ${answer.status}`;
  });
  await hold("an endless event, translated", async () => {
    const answer = await send(TRANSLATED, "one-event");
    const text = await answer.text();
    if (!text.includes("error") || text.includes("[DONE]")) {
      findings.fail(`An endless event returned ${answer.status}: ${text}`);
    }
    return `ended with ${answer.status} and an error`;
  });
}

/** Notes the result of `work`, its time, and the rise of the peak of memory. */
async function measure(
  what: string,
  maxBytes: number,
  { scene: { gateway }, findings }: SceneOptions,
  work: () => Promise<string>,
): Promise<void> {
  if (hasProc) await resetPeak(gateway.pid);
  const before = hasProc ? (await memory(gateway.pid)).now : 0;
  const began = performance.now();
  const said = await work();
  const seconds = (performance.now() - began) / 1000;
  const rise = hasProc ? (await memory(gateway.pid)).peak - before : 0;
  findings.note(
    what,
    `${said} in ${seconds.toFixed(1)} s, peak memory up by ${sizeText(rise)}`,
  );
  if (rise > maxBytes) {
    findings.exceed(`${what} takes ${sizeText(rise)} of memory`);
  }
}

function ask(
  question: Question,
  way: Way,
  { scene }: SceneOptions,
): Promise<Response> {
  const isStream = question.behaviour !== "huge";
  return fetch(scene.gateway.url + PATHS[way.protocol], {
    method: "POST",
    headers: scene.headers,
    body: bodyOf({ way, question, isStream }),
  });
}

/**
 * Reads for `ms` milliseconds, then disconnects.
 *
 * @returns The number of bytes.
 */
async function readFor(answer: Response, ms: number): Promise<number> {
  const untilMs = performance.now() + ms;
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (performance.now() > untilMs) break;
  }
  return bytes;
}
