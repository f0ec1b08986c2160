import type { FailureKind } from "../protocols/canonical/failure/failure.ts";
import { QuotaFailure } from "./failure.ts";
import { isGood, type Reading } from "./reading.ts";
import type { QuotaWindow } from "./window.ts";

/** A {@linkcode Reading} as data alone, to be sent to another thread or written as JSON. */
export interface PlainReading {
  /** Milliseconds since 1970. */
  readonly checkedAtMs: number;
  /** Absent where they could not be read. */
  readonly windows?: readonly QuotaWindow[] | undefined;
  /** Why they could not. */
  readonly failure?: PlainFailure | undefined;
}

/** A {@linkcode QuotaFailure} as data alone. */
export interface PlainFailure {
  readonly kind: FailureKind;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

/** The data of a reading. */
export function toPlain(reading: Reading): PlainReading {
  const { checkedAtMs } = reading;
  if (isGood(reading)) return { checkedAtMs, windows: reading.windows };
  const { kind, message, retryAfterMs } = reading.failure;
  return { checkedAtMs, failure: { kind, message, retryAfterMs } };
}

/** The reading that some data was made of. */
export function fromPlain(
  { checkedAtMs, windows = [], failure }: PlainReading,
): Reading {
  if (failure === undefined) return { checkedAtMs, windows };
  const { kind, message, retryAfterMs } = failure;
  return {
    checkedAtMs,
    failure: new QuotaFailure(kind, message, { retryAfterMs }),
  };
}
