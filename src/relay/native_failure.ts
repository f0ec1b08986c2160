import type { Clock } from "../core/clock.ts";
import type { Deadlines } from "../core/deadlines.ts";
import { parseJson } from "../core/json.ts";
import type { Protocol } from "../core/protocol.ts";
import {
  type Failure,
  UpstreamFailure,
} from "../protocols/canonical/failure.ts";
import { CODECS } from "../protocols/mod.ts";
import { readAnswerBytes } from "../upstream/read_answer.ts";
import { retryAfterMs } from "../core/retry_after.ts";
import type { Exchange } from "./exchange.ts";

/** An upstream's failure with its own words, which a caller of the same protocol gets unchanged. */
export class NativeFailure extends UpstreamFailure {
  readonly #words: OwnWords;

  constructor(failure: Failure, words: OwnWords) {
    super(failure);
    this.#words = words;
  }

  /** The failure as the upstream told it. Finishes the record. */
  pass({ record }: Exchange): Response {
    const { status, headers, bytes } = this.#words;
    record.facts.status = status;
    record.facts.bytesOut = bytes.length;
    record.finish("complete");
    return new Response(bytes.length === 0 ? null : bytes, { status, headers });
  }
}

/** A failure as it came. */
interface OwnWords {
  readonly status: number;
  /** What the caller gets of the upstream's headers. */
  readonly headers: [string, string][];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** How a failure is read and passed on. */
export interface ReadFailureOptions {
  /** Of the path and of the upstream. */
  readonly protocol: Protocol;
  /** What the caller gets of the upstream's headers. */
  readonly headers: [string, string][];
  readonly deadlines: Deadlines;
  readonly clock: Clock;
  /** How long it may take, in milliseconds; 0 means for ever. */
  readonly withinMs: number;
  readonly controller: AbortController;
}

/** An error that explains itself in more than this is none, in bytes. */
const MAX_ERROR_BYTES = 256 * 1024;

/**
 * Reads an answer that is an error.
 *
 * @throws {GatewayError} When it breaks off, is too long or does not come in time.
 */
export async function readNativeFailure(
  answer: Response,
  options: ReadFailureOptions,
): Promise<NativeFailure> {
  const bytes = await readAnswerBytes(answer, {
    ...options,
    maxBytes: MAX_ERROR_BYTES,
  });
  return nativeFailure(answer, { ...options, bytes });
}

/** What an answer that is a failure brings. */
export type NativeFailureOptions =
  & Pick<ReadFailureOptions, "protocol" | "headers" | "clock">
  & { readonly bytes: Uint8Array<ArrayBuffer> };

/** The failure that is all of an answer, with whatever status it came. */
export function nativeFailure(
  answer: Response,
  { bytes, headers, protocol, clock }: NativeFailureOptions,
): NativeFailure {
  const { status } = answer;
  const body = parseJson(new TextDecoder().decode(bytes));
  const failure = CODECS[protocol].decodeFailure(status, body);
  const waitMs = retryAfterMs(answer.headers, clock.now()) ??
    failure.retryAfterMs;
  return new NativeFailure(
    { ...failure, retryAfterMs: waitMs },
    { status, headers, bytes },
  );
}
