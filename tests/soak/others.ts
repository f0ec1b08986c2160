import { jsonAnswer } from "./speech.ts";
import { PATHS } from "../support/wire/ask.ts";
import { bodyOf, pause } from "./ask.ts";
import { type Findings, quantile } from "./findings.ts";
import { wordsOf } from "./question.ts";
import { NATIVE } from "./scene.ts";

/** The longest acceptable delay beyond the upstream's time, in milliseconds. */
const MAX_DELAY_MS = 250;

/** The time between two requests, in milliseconds. */
const PACE_MS = 5;

/** Callers with small requests, while another caller is a burden. */
export interface Others {
  /** The URL of the gateway. */
  readonly url: string;
  /** The headers with the credentials of a caller, by its number. */
  readonly headers: (index: number) => Readonly<Record<string, string>>;
  readonly count: number;
  /** The upstream's time for each request, in milliseconds. */
  readonly upstreamMs?: number;
  /** Has connections of its own; default: those of this process. */
  readonly client?: Deno.HttpClient;
}

/** The effect of a burden on the other requests. */
export interface Impact {
  readonly count: number;
  /** The response of each failed request. */
  readonly refused: readonly string[];
  /** The number of answers that took longer than `lateMs`. */
  readonly late: number;
  readonly lateMs: number;
  /** The longest time of a correct answer, in milliseconds. */
  readonly longestMs: number;
}

/** Sends requests at a steady pace, without waiting for earlier answers. */
export async function askOthers(others: Others): Promise<Impact> {
  const asking: Promise<number | string>[] = [];
  for (let index = 0; index < others.count; index++) {
    asking.push(askOne(index, others));
    await pause(PACE_MS);
  }
  const results = await Promise.all(asking);
  const times = results.filter((one) => typeof one === "number");
  const lateMs = MAX_DELAY_MS + (others.upstreamMs ?? 0);
  return {
    count: others.count,
    refused: results.filter((one) => typeof one === "string"),
    late: times.filter((ms) => ms > lateMs).length,
    lateMs,
    longestMs: quantile(times, 1),
  };
}

/** Formats the effect as a short text. */
export function impactText(
  { count, refused, late, lateMs, longestMs }: Impact,
): string {
  return `${refused.length + late} of ${count} other requests were affected ` +
    `(${refused.length} failed, ${late} took more than ${lateMs} ms); ` +
    `the longest took ${longestMs.toFixed(0)} ms`;
}

/**
 * Reports failed and late requests as faults.
 *
 * @param mayBeLate The number of requests that may be late.
 */
export function judgeImpact(
  what: string,
  { refused, late }: Impact,
  findings: Findings,
  mayBeLate = 0,
): void {
  if (refused.length > 0) {
    findings.fail(
      `${what} make ${refused.length} other requests fail, one with ${
        refused[0]
      }`,
    );
  }
  if (late > mayBeLate) {
    findings.exceed(`${what} delay ${late} other requests`);
  }
}

/** @returns The time in milliseconds, or the incorrect response. */
async function askOne(
  index: number,
  { url, headers, client }: Others,
): Promise<number | string> {
  const question = { tag: `o${index}`, behaviour: "whole", words: 8 } as const;
  const began = performance.now();
  try {
    const answer = await fetch(url + PATHS.chat, {
      ...(client === undefined ? {} : { client }),
      method: "POST",
      headers: headers(index),
      body: bodyOf({ way: NATIVE, question, isStream: false }),
    });
    const text = await answer.text();
    return text === jsonAnswer("chat", wordsOf(question))
      ? performance.now() - began
      : `${answer.status} ${text.slice(0, 300)}`;
  } catch (error) {
    return error instanceof Error ? `${error} ${error.cause}` : String(error);
  }
}
