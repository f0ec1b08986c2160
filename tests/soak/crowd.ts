import { PATHS } from "../support/wire/ask.ts";
import { bodyOf, connect, pause, requestText } from "./ask.ts";
import { say } from "../support/upstream/raw_upstream.ts";
import { quantile } from "./findings.ts";
import { jsonAnswer } from "./speech.ts";
import { wordsOf } from "./question.ts";
import { NATIVE, type Scene } from "./scene.ts";
import type { SceneOptions } from "./soak_options.ts";

/**
 * The numbers of idle connections, and of connections that send a request a few bytes at a time.
 */
const IDLE = 4_000;
const DRIBBLING = 1_000;

/** The time between two chunks of a slow request, in milliseconds. */
const CHUNK_MS = 1_000;

/** The number of timed requests. */
const TIMED = 1_000;

/** A longer time means that requests starve, in milliseconds. */
const MAX_MS = 250;

/** Holds thousands of idle and slow connections beside usual requests. */
export async function soakCrowd(
  { scene, findings, effort }: SceneOptions,
): Promise<void> {
  const timed = Math.ceil(TIMED * effort);
  const idleCount = Math.ceil(IDLE * effort);
  const slowCount = Math.ceil(DRIBBLING * effort);
  await timeRequests("w", timed, scene);
  const alone = await timeRequests("a", timed, scene);
  const over = new AbortController();
  const idle: Deno.TcpConn[] = [];
  for (let count = 0; count < idleCount; count++) {
    idle.push(await connect(scene));
  }
  const dribbling = Array.from(
    { length: slowCount },
    (_, index) => dribble(`d${index}`, scene, over.signal),
  );
  await pause(2 * CHUNK_MS);
  const beside = await timeRequests("b", timed, scene);
  over.abort();
  await Promise.all(dribbling);
  for (const connection of idle) connection.close();
  findings.note(
    `requests beside ${idleCount} idle and ${slowCount} slow connections`,
    `${timesText(beside)}; alone ${timesText(alone)}`,
  );
  const most = quantile(beside, 0.99);
  if (!(most < MAX_MS)) {
    findings.exceed(
      `Idle and slow connections delay other requests: ${most} ms`,
    );
  }
}

function timesText(times: readonly number[]): string {
  const [half, most] = [0.5, 0.99].map((share) => quantile(times, share));
  return `${half?.toFixed(1)} ms (half), ${most?.toFixed(1)} ms (99 of 100)`;
}

async function timeRequests(
  tag: string,
  timed: number,
  scene: Scene,
): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < timed; count++) {
    const one = `${tag}${count}`;
    const question = { tag: one, behaviour: "whole", words: 8 } as const;
    const began = performance.now();
    const answer = await fetch(scene.gateway.url + PATHS.chat, {
      method: "POST",
      headers: scene.headers,
      body: bodyOf({ way: NATIVE, question, isStream: false }),
    });
    const text = await answer.text();
    times.push(performance.now() - began);
    if (text !== jsonAnswer("chat", wordsOf(question))) {
      throw new Error(`Got ${answer.status}: ${text}`);
    }
  }
  return times;
}

/** Sends a request chunk by chunk, without its end. */
async function dribble(
  tag: string,
  scene: Scene,
  signal: AbortSignal,
): Promise<void> {
  const question = { tag, behaviour: "whole", words: 8 } as const;
  const text = requestText({ way: NATIVE, question, isStream: false }, scene);
  const connection = await connect(scene);
  try {
    for (let sent = 0; sent < text.length - 8 && !signal.aborted; sent += 4) {
      await say(connection, text.slice(sent, sent + 4));
      await pause(CHUNK_MS);
    }
  } finally {
    connection.close();
  }
}
