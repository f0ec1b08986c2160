import { memory, resetPeak } from "../bench/processes.ts";
import { PATHS } from "../support/wire/ask.ts";
import { bodyOf, pause } from "./ask.ts";
import { quantile, sizeText } from "./findings.ts";
import { wordsOf } from "./question.ts";
import { hasProc, type Scene, type Way } from "./scene.ts";
import { sendLong, statusText } from "./send_long.ts";
import type { SoakOptions } from "./soak_options.ts";
import { jsonAnswer } from "./speech.ts";

const MIB = 1024 * 1024;

/** How many long bodies come at once, and how long each is. */
const BODIES = { count: 100, bytes: 30 * MIB };

/** The default of `max_body_memory`, and what the program and its garbage take beside it. */
const MAX_BYTES = 1024 * MIB + 768 * MIB;

/** How many others ask something small meanwhile. */
const OTHERS = 1_000;

/** Who has waited longer than this has noticed something, in milliseconds. */
const NOTICED_MS = 250;

const WAY: Way = { protocol: "chat", upstream: "chat", model: "all" };

/** A hundred long bodies to translate at once, beside a thousand other callers. */
export async function soakBodyMemory(
  { scene, findings }: SoakOptions,
): Promise<void> {
  for (const shape of ["one text", "a long history"]) {
    if (hasProc) await resetPeak(scene.gateway.pid);
    const before = hasProc ? (await memory(scene.gateway.pid)).now : 0;
    const sending = sendLong({ shape, model: "chat-only", ...BODIES }, scene);
    const times = await askOthers(scene);
    const sent = await sending;
    const rise = hasProc ? (await memory(scene.gateway.pid)).peak - before : 0;
    const noticed = times.filter((ms) => ms > NOTICED_MS).length;
    const what = `100 bodies of 30 MiB of ${shape}, translated`;
    findings.note(
      what,
      `peak of memory ${sizeText(rise)} up; ${
        statusText(sent)
      }; of ${OTHERS} others ${noticed} waited for more than ${NOTICED_MS} ms, at most ${
        quantile(times, 1).toFixed(0)
      } ms`,
    );
    if (rise > MAX_BYTES) {
      findings.fail(`${what} take ${sizeText(rise)} of memory`);
    }
    if (noticed > 0) findings.fail(`${what} hold up ${noticed} others`);
    if (sent.statuses[200] === undefined) {
      findings.fail(`${what}: none got through (${statusText(sent)})`);
    }
  }
}

/** How long each waited, in milliseconds; one who got no good answer waited for ever. */
async function askOthers(scene: Scene): Promise<number[]> {
  const times: Promise<number>[] = [];
  for (let count = 0; count < OTHERS; count++) {
    times.push(askOne(`o${count}`, scene));
    await pause(5);
  }
  return await Promise.all(times);
}

async function askOne(tag: string, scene: Scene): Promise<number> {
  const question = { tag, manner: "whole", words: 8 } as const;
  const began = performance.now();
  const answer = await fetch(scene.gateway.url + PATHS.chat, {
    method: "POST",
    headers: scene.headers,
    body: bodyOf({ way: WAY, question, isStream: false }),
  });
  const text = await answer.text();
  return text === jsonAnswer("chat", wordsOf(question))
    ? performance.now() - began
    : Infinity;
}
