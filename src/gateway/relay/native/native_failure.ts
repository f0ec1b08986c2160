import type { HttpResponse } from "@gateway/http1";
import { isJsonObject, parseJson } from "@gateway/base/json";
import type { Connection } from "../../config/config.ts";
import type { Protocol } from "@gateway/base/protocol";
import {
  CODECS,
  type Failure,
  isOverLimit,
  meaningOf,
  parseErrorBody,
  UpstreamFailure,
} from "@gateway/codecs";
import {
  retryAfterText,
  saneWaitHeader,
  stopHeaders,
} from "@gateway/base/retry_after";
import {
  type ReadBodyOptions,
  readErrorBytes,
} from "../../upstream/read_response.ts";
import {
  answerFailure,
  type AnswerFailureOptions,
  noteFailure,
} from "../answer_failure.ts";
import type { Exchange } from "../exchange.ts";
import { meterWhole } from "./meter.ts";
import { reasonOfRefusedBetas } from "./refused_betas.ts";

/** An upstream's failure with the upstream's response. A caller of the same protocol gets the response unchanged. */
export class NativeFailure extends UpstreamFailure {
  readonly #response: OwnResponse;

  constructor(failure: Failure, response: OwnResponse) {
    super(failure);
    this.#response = response;
  }

  /**
   * Returns the upstream's own response. If its body names a time to retry, adds a `retry-after`. If the failure is
   * final, adds the headers that stop clients from retrying, unless the upstream sent these headers. A `retry-after` of
   * the upstream is shortened to the gateway's next try.
   */
  pass({ record }: Exchange, { untilMs, nowMs }: PassOptions): Response {
    const { status, bytes, protocol } = this.#response;
    const headers = new Headers(
      untilMs !== undefined || meaningOf(this.failure).isFinal(status)
        ? { ...stopHeaders(protocol, status) }
        : {},
    );
    const waitMs = untilMs === undefined
      ? this.failure.retryAfterMs
      : untilMs - nowMs;
    if (waitMs !== undefined) {
      headers.set("retry-after", retryAfterText(waitMs));
    }
    for (const [name, value] of this.#response.headers) {
      const isWait = name === "retry-after" || name === "retry-after-ms";
      // Some providers ask clients to repeat any 429, even a 429 that is about the size of a request.
      const isAdvice = isWait || name === "x-should-retry";
      if (isAdvice && isOverLimit(this.failure)) continue;
      const sent = isWait && untilMs !== undefined
        ? saneWaitHeader(name, value, nowMs, untilMs - nowMs)
        : value;
      headers.set(name, sent ?? value);
    }
    noteFailure(this.failure, record.facts);
    if (this.#response.reason !== undefined) {
      record.facts.reason = this.#response.reason;
    }
    record.facts.status = status;
    if (status < 400) {
      // An answer with an error in it may report the usage up to the error.
      const { watch } = CODECS[protocol];
      const json = parseJson(new TextDecoder().decode(bytes));
      meterWhole(bytes, { json, watch, record, isJson: true });
    } else record.facts.bytesOut = bytes.length;
    return new Response(bytes.length === 0 ? null : bytes, { status, headers });
  }
}

/** The options of {@linkcode NativeFailure.pass}. */
interface PassOptions {
  /**
   * The time of the reset or of the gateway's next try, in milliseconds since 1970; `undefined` unless the upstream's
   * quota is exhausted for a minute or longer.
   */
  readonly untilMs: number | undefined;
  readonly nowMs: number;
}

/** An error response, unchanged. */
interface OwnResponse {
  /** The protocol of the upstream and of the caller. */
  readonly protocol: Protocol;
  readonly status: number;
  /** The upstream's headers that the caller receives. */
  readonly headers: [string, string][];
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The reason for the log. */
  readonly reason?: string | undefined;
}

/** The options of {@linkcode readNativeFailure}. The upstream's protocol is also the protocol of the path. */
interface ReadFailureOptions extends ReadBodyOptions, AnswerFailureOptions {
  /** The upstream's headers that the caller receives. */
  readonly headers: [string, string][];
  readonly connection: Connection;
  /** The headers that the upstream got. */
  readonly sent: readonly [string, string][];
}

/**
 * Reads an error response. If the response is too long or breaks off, only its status is used.
 *
 * @throws The reason of the controller's signal when another part of the gateway aborts the controller.
 */
export async function readNativeFailure(
  response: HttpResponse,
  options: ReadFailureOptions,
): Promise<UpstreamFailure> {
  const bytes = await readErrorBytes(response, options);
  if (bytes === undefined) {
    return new UpstreamFailure(answerFailure(response, undefined, options));
  }
  const { sent, connection } = options;
  const reasonOf = (failure: Failure) =>
    reasonOfRefusedBetas(failure, sent, connection);
  return nativeFailure(response, { ...options, bytes, reasonOf });
}

interface NativeFailureOptions
  extends AnswerFailureOptions, Pick<ReadFailureOptions, "headers"> {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Returns the reason for the log; default: none. */
  readonly reasonOf?: (failure: Failure) => string | undefined;
}

/**
 * Creates the failure of an error response with any status, or of an answer with an error in it. The response's text is
 * left out if it is about the gateway's own key or about the key's rights or account, or if it contains the key.
 */
export function nativeFailure(
  response: HttpResponse,
  { bytes, headers, reasonOf, protocol, secrets, clock }: NativeFailureOptions,
): UpstreamFailure {
  const text = new TextDecoder().decode(bytes);
  const body = parseErrorBody(text);
  const inside = response.status < 300 && isJsonObject(body)
    ? CODECS[protocol].watch.failureOf(body)
    : undefined;
  const options = { protocol, secrets, clock };
  const failure = answerFailure(response, inside ?? body, options);
  return meaningOf(failure).isHidden || secrets.areIn(text)
    ? new UpstreamFailure(failure)
    : new NativeFailure(failure, {
      protocol,
      status: response.status,
      headers,
      bytes,
      reason: reasonOf?.(failure),
    });
}
