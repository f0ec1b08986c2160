import type { Protocol } from "../../core/protocol.ts";
import { parseErrorBody } from "../../protocols/canonical/failure/error_body.ts";
import { stopHeaders } from "../../core/retry_after.ts";
import {
  type Failure,
  isFinal,
  isHidden,
  UpstreamFailure,
} from "../../protocols/canonical/failure/failure.ts";
import type { UpstreamAnswer } from "../../upstream/call.ts";
import {
  type ReadBodyOptions,
  readErrorBytes,
} from "../../upstream/read_answer.ts";
import {
  answerFailure,
  type AnswerFailureOptions,
  noteFailure,
} from "../answer_failure.ts";
import type { Exchange } from "../exchange.ts";

/** An upstream's failure with its own words, which a caller of the same protocol gets unchanged. */
export class NativeFailure extends UpstreamFailure {
  readonly #words: OwnWords;

  constructor(failure: Failure, words: OwnWords) {
    super(failure);
    this.#words = words;
  }

  /**
   * Returns the failure as the upstream told it, with the headers on which clients stop where it is final and the
   * upstream has none of that name. Finishes the record.
   *
   * @param isExhausted Whether the upstream's quota is exhausted for a minute or longer.
   */
  pass({ record }: Exchange, isExhausted: boolean): Response {
    const { status, bytes, protocol } = this.#words;
    const headers = new Headers(
      isExhausted || isFinal(this.failure, status)
        ? { ...stopHeaders(protocol, status) }
        : {},
    );
    for (const [name, value] of this.#words.headers) headers.set(name, value);
    noteFailure(this.failure, record.facts);
    record.facts.status = status;
    record.facts.bytesOut = bytes.length;
    record.finish("complete");
    return new Response(bytes.length === 0 ? null : bytes, { status, headers });
  }
}

/** A failure as it came. */
interface OwnWords {
  /** The caller's, too. */
  readonly protocol: Protocol;
  readonly status: number;
  /** What the caller gets of the upstream's headers. */
  readonly headers: [string, string][];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** How a failure is read and passed on; its protocol is that of the path, too. */
interface ReadFailureOptions extends ReadBodyOptions, AnswerFailureOptions {
  /** What the caller gets of the upstream's headers. */
  readonly headers: [string, string][];
}

/**
 * Reads an answer that is an error; of one that is too long only the status is told.
 *
 * @throws {GatewayError} When it breaks off or does not come in time.
 */
export async function readNativeFailure(
  answer: UpstreamAnswer,
  options: ReadFailureOptions,
): Promise<UpstreamFailure> {
  const bytes = await readErrorBytes(answer, options);
  return bytes === undefined
    ? new UpstreamFailure(answerFailure(answer, undefined, options))
    : nativeFailure(answer, { ...options, bytes });
}

/** What an answer that is a failure brings. */
interface NativeFailureOptions
  extends AnswerFailureOptions, Pick<ReadFailureOptions, "headers"> {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * The failure that is all of an answer, with whatever status it came; without its words where those are about
 * the gateway's own key, its rights or its account, or hold that key.
 */
export function nativeFailure(
  answer: UpstreamAnswer,
  { bytes, headers, protocol, secrets, clock }: NativeFailureOptions,
): UpstreamFailure {
  const text = new TextDecoder().decode(bytes);
  const body = parseErrorBody(text);
  const failure = answerFailure(answer, body, { protocol, secrets, clock });
  return isHidden(failure) || secrets.areIn(text)
    ? new UpstreamFailure(failure)
    : new NativeFailure(failure, {
      protocol,
      status: answer.status,
      headers,
      bytes,
    });
}
