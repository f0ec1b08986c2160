import { PATHS } from "../support/wire/ask.ts";
import { bodyOf, pause } from "./ask.ts";
import { sizeText } from "./findings.ts";
import { SHAPES } from "./long_bodies.ts";
import type { Scene } from "./scene.ts";
import { sendLong, statusText } from "./send_long.ts";
import type { SceneOptions } from "./soak_options.ts";

const MIB = 1024 * 1024;

/** The longest body that the path accepts, in MiB, without the bytes that the shape adds. */
const BODY_MIB = 31;

/** The length of a whole answer, just below the limit. */
const ANSWER_MIB = 60;

/** The time between two pings, in milliseconds. */
const PING_MS = 20;

/** One request may block the gateway for 100 ms. The rest is the round trip on a busy machine. */
const MAX_GAP_MS = 150;

/** A model that serves Messages natively, and one that serves them translated. */
const MODELS = { native: "b", translated: "chat-only" } as const;

/** Sends the worst bodies, one after the other, beside a small request every 20 ms. */
export async function soakEventLoop(options: SceneOptions): Promise<void> {
  const { scene, effort } = options;
  const bodyMib = Math.ceil(BODY_MIB * effort);
  const answerMib = Math.ceil(ANSWER_MIB * effort);
  // The first run of all code compiles it, including the modules of the thread.
  for (const model of Object.values(MODELS)) {
    await sendLong({
      shape: "a long history",
      model,
      bytes: MIB,
      count: 1,
    }, scene);
  }
  for (const [mode, model] of Object.entries(MODELS)) {
    for (const { name: shape } of SHAPES) {
      const sending = { shape, model, bytes: bodyMib * MIB, count: 1 };
      await measure(
        `${bodyMib} MiB of ${shape}, ${mode}`,
        options,
        async () => {
          const sent = await sendLong(sending, scene);
          return `${statusText(sent)} in ${sent.seconds.toFixed(1)} s`;
        },
      );
    }
  }
  await measure(`an answer of ${answerMib} MiB, translated`, options, () => {
    return askForLong(answerMib, scene);
  });
}

/** Notes the result of `work`, and the longest wait of the other requests. */
async function measure(
  what: string,
  { scene, findings }: SceneOptions,
  work: () => Promise<string>,
): Promise<void> {
  const over = new AbortController();
  const pinging = longestPing(scene, over.signal);
  const said = await work();
  over.abort();
  const gapMs = await pinging;
  findings.note(
    what,
    `longest wait of other requests ${gapMs.toFixed(0)} ms; ${said}`,
  );
  if (gapMs > MAX_GAP_MS) {
    findings.exceed(`${what} delays other requests by ${gapMs.toFixed(0)} ms`);
  }
}

async function askForLong(
  mib: number,
  { gateway, headers }: Scene,
): Promise<string> {
  const way = { protocol: "chat", upstream: "messages", model: "b" } as const;
  const question = { tag: "long", behaviour: "huge", words: mib } as const;
  const began = performance.now();
  const answer = await fetch(gateway.url + PATHS.chat, {
    method: "POST",
    headers,
    body: bodyOf({ way, question, isStream: false }),
  });
  let bytes = 0;
  for await (const chunk of answer.body ?? []) bytes += chunk.length;
  const seconds = (performance.now() - began) / 1000;
  return `${answer.status} with ${sizeText(bytes)} in ${seconds.toFixed(1)} s`;
}

async function longestPing(
  { gateway }: Scene,
  signal: AbortSignal,
): Promise<number> {
  let longestMs = 0;
  while (!signal.aborted) {
    const began = performance.now();
    const answer = await fetch(`${gateway.url}/livez`);
    await answer.body?.cancel();
    longestMs = Math.max(longestMs, performance.now() - began);
    await pause(PING_MS);
  }
  return longestMs;
}
