import type { Random } from "../support/fakes/random.ts";
import { connect, pause, requestText } from "./ask.ts";
import { say } from "../support/upstream/raw_upstream.ts";
import type { Behaviour } from "./question.ts";
import type { Scene, Way } from "./scene.ts";

/** The states of a request in which its caller hangs up. */
export const STAGES = [
  "in the head",
  "in the body",
  "before the upstream's headers",
  "after the headers",
  "in mid-stream",
  "in a JSON answer",
] as const;

/** One of {@linkcode STAGES}. */
export type Stage = (typeof STAGES)[number];

/** The parameters of a hang-up. */
export interface HangUpOptions {
  readonly scene: Scene;
  readonly way: Way;
  readonly random: Random;
  /** The tag of the question. */
  readonly tag: string;
  /** Default: any. */
  readonly stage?: Stage;
}

/** The upstream's behaviour at each stage. */
const BEHAVIOURS: Readonly<Record<Stage, Behaviour>> = {
  "in the head": "whole",
  "in the body": "whole",
  "before the upstream's headers": "wait",
  "after the headers": "begin",
  "in mid-stream": "trickle",
  "in a JSON answer": "begin",
};

/** More time than the gateway needs to reach the upstream, in milliseconds. */
const ASKED_MS = 30;

/**
 * Sends a request and hangs up at a stage.
 *
 * @returns The time of the hang-up, in milliseconds since 1970.
 */
export async function hangUpOnce(options: HangUpOptions): Promise<number> {
  const { scene, way, random, tag } = options;
  const stage = options.stage ?? random.pick(STAGES);
  const question = { tag, behaviour: BEHAVIOURS[stage], words: 8 };
  const isStream = stage !== "in a JSON answer";
  const text = requestText({ way, question, isStream }, scene);
  const connection = await connect(scene);
  try {
    await say(connection, text.slice(0, sentLength(text, stage, random)));
    await waitAt(stage, connection);
  } finally {
    connection.close();
  }
  return performance.timeOrigin + performance.now();
}

function sentLength(text: string, stage: Stage, random: Random): number {
  const headEnd = text.indexOf("\r\n\r\n") + 4;
  if (stage === "in the head") return 1 + random.below(headEnd - 5);
  if (stage === "in the body") {
    return headEnd + random.below(text.length - headEnd);
  }
  return text.length;
}

async function waitAt(stage: Stage, connection: Deno.Conn): Promise<void> {
  switch (stage) {
    case "in the head":
    case "in the body":
      return;
    case "before the upstream's headers":
    case "in a JSON answer":
      return await pause(ASKED_MS);
    case "after the headers":
      return await readSome(connection, 1);
    case "in mid-stream":
      return await readSome(connection, 4);
  }
}

async function readSome(connection: Deno.Conn, times: number): Promise<void> {
  const buffer = new Uint8Array(65_536);
  for (let read = 0; read < times; read++) {
    if (await connection.read(buffer) === null) {
      throw new Error("The gateway closed the connection");
    }
  }
}
