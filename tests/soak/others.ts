import { jsonAnswer } from "./speech.ts";
import { PATHS } from "../support/wire/ask.ts";
import { bodyOf, pause } from "./ask.ts";
import { type Findings, quantile } from "./findings.ts";
import { wordsOf } from "./question.ts";
import type { Way } from "./scene.ts";

/** Who has waited longer than this, beyond what the upstream takes, has noticed something, in milliseconds. */
const NOTICED_MS = 250;

/** Between two of them, in milliseconds. */
const PACE_MS = 5;

const NATIVE: Way = { protocol: "chat", upstream: "chat", model: "all" };

/** Callers who ask something small while somebody else is a burden. */
export interface Others {
  /** Of the gateway. */
  readonly url: string;
  /** The headers that show who asks, by the number of the caller. */
  readonly headers: (index: number) => Readonly<Record<string, string>>;
  readonly count: number;
  /** How long the upstream takes for each, in milliseconds. */
  readonly upstreamMs?: number;
}

/** What they have noticed. */
export interface Noticed {
  readonly count: number;
  /** What those were told who got no good answer. */
  readonly refused: readonly string[];
  /** How many of those who got one have waited for it longer than `lateMs`. */
  readonly late: number;
  readonly lateMs: number;
  /** The longest wait for a good answer, in milliseconds. */
  readonly longestMs: number;
}

/** Lets others ask, one after the other begins, whether or not those before have their answers. */
export async function askOthers(others: Others): Promise<Noticed> {
  const asking: Promise<number | string>[] = [];
  for (let index = 0; index < others.count; index++) {
    asking.push(askOne(index, others));
    await pause(PACE_MS);
  }
  const told = await Promise.all(asking);
  const times = told.filter((one) => typeof one === "number");
  const lateMs = NOTICED_MS + (others.upstreamMs ?? 0);
  return {
    count: others.count,
    refused: told.filter((one) => typeof one === "string"),
    late: times.filter((ms) => ms > lateMs).length,
    lateMs,
    longestMs: quantile(times, 1),
  };
}

/** Tells in a few words who has noticed what. */
export function noticedText(
  { count, refused, late, lateMs, longestMs }: Noticed,
): string {
  return `of ${count} others ${refused.length + late} noticed it ` +
    `(${refused.length} got no good answer, ${late} waited for more than ${lateMs} ms); ` +
    `at most ${longestMs.toFixed(0)} ms`;
}

/**
 * Nobody should have noticed anything.
 *
 * @param allowed How many may have got no good answer.
 */
export function judgeNoticed(
  what: string,
  { refused, late }: Noticed,
  findings: Findings,
  allowed = 0,
): void {
  if (refused.length > allowed) {
    findings.fail(
      `${what} fail ${refused.length} others, one with ${refused[0]}`,
    );
  }
  if (late > 0) findings.exceed(`${what} hold up ${late} others`);
}

/** @returns How long it took in milliseconds, or what came instead of a good answer. */
async function askOne(
  index: number,
  { url, headers }: Others,
): Promise<number | string> {
  const question = { tag: `o${index}`, manner: "whole", words: 8 } as const;
  const began = performance.now();
  try {
    const answer = await fetch(url + PATHS.chat, {
      method: "POST",
      headers: headers(index),
      body: bodyOf({ way: NATIVE, question, isStream: false }),
    });
    const text = await answer.text();
    return text === jsonAnswer("chat", wordsOf(question))
      ? performance.now() - began
      : `${answer.status} ${text.slice(0, 300)}`;
  } catch (error) {
    return String(error);
  }
}
