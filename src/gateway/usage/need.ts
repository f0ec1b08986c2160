import type { Deployment } from "../config/config.ts";
import { countsRow } from "../config/usage_limits.ts";
import { type AmountBound, amountOf } from "./bounds.ts";
import { type Counts, countsOf } from "./counts.ts";
import type { Row } from "./tables.ts";

/** A call to admit. */
export interface LimitedCall {
  /** The id of the request. */
  readonly id: string;
  /** The client's id of the request's session; `undefined` when the request names no session. */
  readonly session?: string | undefined;
  /** A rough count of the request's input tokens. */
  readonly estimatedTokens: number;
  /** The start of the request, in milliseconds since 1970. */
  readonly startedMs: number;
  /** The most output tokens that the request allows; `undefined` when the request sets no bound. */
  readonly maxOutputTokens?: number | undefined;
}

/** The need of a request at one deployment. */
export interface Need {
  readonly row: Row;
  /** A rough count of the request's input, without any output. */
  readonly least: Counts;
  /** A rough count of the request's input and expected output. */
  readonly expected: Counts;
}

/** Returns the need of a call. @param expectedTokens The output tokens to expect for the caller. */
export function needOf(
  { connection, model: { id, price, maxOutputTokens } }: Deployment,
  { estimatedTokens, startedMs, maxOutputTokens: asked }: LimitedCall,
  expectedTokens: number,
): Need {
  const inputTokens = Math.max(1, estimatedTokens);
  const output = [asked, maxOutputTokens].filter((one) => one !== undefined);
  const counts = (outputTokens: number) =>
    countsOf({ inputTokens, outputTokens }, {
      price,
      startedMs,
      isEstimated: false,
    });
  return {
    row: { connection: connection.name, model: id },
    least: counts(0),
    expected: counts(Math.min(expectedTokens, ...output)),
  };
}

/** Returns the largest need that a limit counts, the first if several are equal. */
export function largestNeed(
  needs: readonly Need[],
  { limit }: AmountBound,
): Need | undefined {
  const amount = ({ expected }: Need) => amountOf(limit.unit, expected);
  return needs.filter(({ row }) => countsRow(limit, row))
    .reduce<Need | undefined>(
      (most, one) =>
        most === undefined || amount(one) > amount(most) ? one : most,
      undefined,
    );
}
