import type { Deadlines } from "../core/time/deadlines.ts";
import type { LookAhead } from "../streams/look_ahead.ts";
import { silentUpstream } from "../upstream/failure.ts";

/** Finds out what the chunks at the beginning of an answer mean. */
export interface BeginningJudge<Verdict extends object> {
  /** Takes the next chunk; `undefined` while it is not clear. */
  push(chunk: Uint8Array): Verdict | undefined;
  /** Told that the answer has ended. */
  end(): Verdict;
}

/** How the beginning of an answer is held back. */
export interface HoldBackOptions<Verdict extends object> {
  readonly judge: BeginningJudge<Verdict>;
  readonly deadlines: Deadlines;
  /** Until when it must be clear, in milliseconds from now; `undefined` when it may take its time. */
  readonly outputMs: number | undefined;
  /** Whether the caller waits as long as the answer takes; default false. */
  readonly isPatient?: boolean;
}

/** A caller waits no longer than this for what is there, in milliseconds. */
const MAX_HOLD_MS = 15_000;

/**
 * Sees an answer's beginning before it is given away: up to the first output, for nothing may be sent again
 * after that. What was seen is still to be read, byte for byte.
 *
 * @returns What the judge found; `undefined` when the caller has waited long enough, and is to have what is there.
 * @throws {GatewayError} `timeout` when it is not clear in time.
 * @throws Whatever the source and the judge throw.
 */
export async function holdBack<Verdict extends object>(
  source: LookAhead,
  { judge, deadlines, outputMs, isPatient = false }: HoldBackOptions<Verdict>,
): Promise<Verdict | undefined> {
  const late = Promise.withResolvers<undefined>();
  let isLate = false;
  const takeBack = isPatient
    ? () => {}
    : deadlines.start(outputMs ?? MAX_HOLD_MS, () => {
      isLate = true;
      if (outputMs === undefined) late.resolve(undefined);
      else late.reject(silentUpstream());
    });

  async function look(): Promise<Verdict | undefined> {
    let found: Verdict | undefined;
    while (found === undefined) {
      const read = await source.peek();
      if (isLate) break;
      found = read.done ? judge.end() : judge.push(read.value);
    }
    return found;
  }

  try {
    // One race for all chunks: each would keep its chunk until the deadline.
    return await Promise.race([look(), late.promise]);
  } finally {
    takeBack();
  }
}
