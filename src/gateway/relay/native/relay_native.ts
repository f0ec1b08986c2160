import {
  type AnyResponse,
  DirectResponse,
  type HttpResponse,
} from "@gateway/http1";
import { isJsonObject, parseJson } from "@gateway/base/json";
import { OPERATIONS, type Protocol } from "@gateway/base/protocol";
import { CODECS } from "@gateway/codecs";
import { type ByteSource, WholeBody } from "@gateway/base/streams/byte_reader";
import {
  bodyKind,
  isEventStream,
  isJson,
} from "@gateway/base/streams/media_type";
import { brokenUpstream } from "../../upstream/failure.ts";
import { responseHeaders, upstreamHeaders } from "../../upstream/headers.ts";
import {
  declaredBytes,
  readResponseBytes,
} from "../../upstream/read_response.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { modelEdits } from "../../upstream/vertex_claude.ts";
import { openBody, passOn } from "../answer_body.ts";
import type { AnswerFailureOptions } from "../answer_failure.ts";
import type { Attempt } from "../attempt.ts";
import { nativeBody } from "../request/held_body.ts";
import {
  answerHeaders,
  streamHeaders,
  withRequestId,
} from "../answer_headers.ts";
import { sendRequest } from "../send_request.ts";
import type { Uses } from "../services.ts";
import { holdBeginning, mayHoldFailure } from "./beginning.ts";
import { type AnswerLabel, createAnswerMeter, meterWhole } from "./meter.ts";
import { nativeFailure, readNativeFailure } from "./native_failure.ts";
import { sealEdits } from "./own_seals.ts";

/** The longest JSON body that is read whole, in bytes. Sending a body at once is much cheaper than a stream. */
const MAX_WHOLE_BYTES: number = 64 * 1024;

type Headers = [name: string, value: string][];

type NativeServices = Uses<
  "client" | "clock" | "deadlines" | "harvest" | "codexQuota"
>;

/** An answer's body, and the kind that its headers name. */
interface LabelledBody extends AnswerLabel {
  readonly body: ByteSource;
}

/**
 * Serves a request through an upstream that speaks the request's protocol (docs/design.md#native-and-translated). The
 * body is sent byte for byte. The exceptions are the model's name, if the upstream has another name, and the gateway's
 * own seals. The response passes as it arrives. The methods are in the order of their steps.
 */
export class NativeAttempt {
  readonly #attempt: Attempt;
  /** The protocol of the path and of the upstream. */
  readonly #protocol: Protocol;
  readonly #services: NativeServices;
  /** The options that decode a failure and mask the secrets in it. */
  readonly #decoding: AnswerFailureOptions;

  constructor(attempt: Attempt, services: NativeServices) {
    this.#attempt = attempt;
    this.#services = services;
    this.#protocol = OPERATIONS[attempt.operation].protocol;
    this.#decoding = {
      protocol: this.#protocol,
      secrets: secretsOf(attempt.deployment.connection),
      clock: services.clock,
    };
  }

  /**
   * Sends the request and answers the caller.
   *
   * @throws {NativeFailure} When the upstream sends an error before any output.
   * @throws {GatewayError} When there is no response to forward.
   * @throws {CallerLeft} When the caller disconnects before there is a response.
   */
  async relay(): Promise<AnyResponse> {
    const { exchange, body, head, operation, deployment } = this.#attempt;
    const seals = await sealEdits(this.#attempt);
    const version = exchange.headers.get("anthropic-version") ?? undefined;
    const edits = modelEdits(deployment, operation, head, version);
    const sent = upstreamHeaders(exchange.headers, deployment.connection);
    const response = await sendRequest(this.#attempt, {
      operation,
      stream: head.stream,
      headers: sent,
      body: nativeBody(body, [...edits, ...seals.edits]),
    }, this.#services);
    const headers = this.#headersOf(response, seals);
    if (response.status >= 300) {
      throw await this.#failureOf(response, headers, sent);
    }
    return await this.answer(response, headers);
  }

  /** Returns the headers that the caller receives: headers of the upstream and headers of the gateway. */
  #headersOf(
    response: HttpResponse,
    { isCut }: { readonly isCut: boolean },
  ): Headers {
    const { exchange: { record }, deployment, head } = this.#attempt;
    const isRenamed = deployment.model.upstream !== head.model;
    const headers = withRequestId(
      responseHeaders(response.headers, { isRenamed, ...this.#decoding }),
      this.#protocol,
      record.requestId,
    );
    if (isCut) {
      const { sealedReasoning } = CODECS[this.#protocol].fieldNames;
      record.facts.answer.dropped = [sealedReasoning];
      headers.push(["x-gateway-dropped", sealedReasoning]);
    }
    if (response.status < 300) {
      const { codexQuota } = this.#services;
      headers.push(
        ...answerHeaders(this.#attempt, codexQuota, response.headers),
      );
    }
    return headers;
  }

  #failureOf(
    response: HttpResponse,
    headers: Headers,
    sent: Headers,
  ): Promise<Error> {
    const { controller, deployment: { connection } } = this.#attempt;
    const { deadlines } = this.#services;
    const { idleMs } = connection.timeouts;
    return readNativeFailure(response, {
      ...this.#decoding,
      ...{ headers, sent, connection },
      ...{ deadlines, idleMs, controller },
    });
  }

  /**
   * Forwards an upstream's successful response, with its status and bytes unchanged. The end of a stream ends the
   * request. Only the gateway's own key is masked.
   *
   * @param headers The headers that the caller receives.
   * @throws {UpstreamFailure} When the body is a failure and another attempt may follow.
   * @throws {GatewayError} When the body breaks off, or exceeds a timeout, before any of it was sent.
   * @throws {CallerLeft} When the caller disconnects before any of it was sent.
   */
  async answer(
    response: HttpResponse,
    headers: Headers,
  ): Promise<AnyResponse> {
    const { status, body } = response;
    if (body === null) {
      this.#attempt.exchange.record.facts.status = status;
      return new Response(null, { status, headers });
    }
    const type = response.headers.get("content-type") ?? "";
    const isStream = isEventStream(type);
    const labelled = { body, isStream, isJson: type === "" || isJson(type) };
    const length = isStream ? undefined : declaredBytes(response.headers);
    return length !== undefined && length <= MAX_WHOLE_BYTES
      ? await this.#sendWhole(response, headers, labelled)
      : await this.#stream(response, headers, labelled);
  }

  /** Sends a short answer to the caller once the answer is complete. */
  async #sendWhole(
    response: HttpResponse,
    headers: Headers,
    labelled: LabelledBody,
  ): Promise<AnyResponse> {
    const { exchange: { record }, controller, deployment } = this.#attempt;
    const { status } = response;
    const bytes = await readResponseBytes(response, {
      maxBytes: MAX_WHOLE_BYTES,
      deadlines: this.#services.deadlines,
      idleMs: deployment.connection.timeouts.idleMs,
      controller,
    });
    if (bytes === undefined) {
      throw brokenUpstream("it is longer than its content-length");
    }
    this.#decoding.secrets.coverIn(bytes);
    if (bodyKind(bytes) === "events") {
      const body = new WholeBody(bytes);
      const events = { ...labelled, body, isStream: true };
      return await this.#stream(response, headers, events);
    }
    const { watch } = CODECS[this.#protocol];
    const text = decoder.decode(bytes);
    const isRead = labelled.isJson || watch.mayCount(text) ||
      mayHoldFailure(text, watch);
    const json = isRead ? parseJson(text) : undefined;
    if (isJsonObject(json) && watch.failureOf(json) !== undefined) {
      throw nativeFailure(response, { ...this.#decoding, bytes, headers });
    }
    const { isJson } = labelled;
    if (meterWhole(bytes, { json, watch, record, isJson }) === "cut") {
      throw brokenUpstream("its JSON is not whole");
    }
    record.facts.status = status;
    return new DirectResponse(bytes, { status, headers });
  }

  /**
   * Forwards an answer chunk by chunk. While another attempt is possible, the beginning is held back until it is known
   * to be good.
   */
  async #stream(
    response: HttpResponse,
    headers: Headers,
    labelled: LabelledBody,
  ): Promise<AnyResponse> {
    const { mayFailOver, deployment, exchange, head } = this.#attempt;
    const { deadlines } = this.#services;
    const { record } = exchange;
    const { status } = response;
    const { isStream } = labelled;
    const { firstOutputMs } = deployment.connection.timeouts;
    let source = openBody(labelled.body, this.#attempt, { deadlines });
    if (mayFailOver || isStream && firstOutputMs > 0) {
      source = await holdBeginning(source, this.#attempt, {
        ...this.#decoding,
        ...{ response, headers, isStream, deadlines },
      });
    }
    record.facts.status = status;
    const codec = CODECS[this.#protocol];
    const mayChangeModel = head.namedModels.length > 0;
    const label = { ...labelled, mayChangeModel };
    const meter = createAnswerMeter(codec.watch, record, label);
    const body = passOn(source, this.#attempt, {
      deadlines,
      onChunk: meter.push,
      isWhole: () => meter.end(true) !== "cut",
      onEnd(isWhole) {
        const answerEnd = meter.end(isWhole);
        const error = answerEnd === "failed" ? meter.failure() : undefined;
        const failure = error && codec.decodeFailure(200, error);
        return { answerEnd, failure };
      },
    });
    return new DirectResponse(body, {
      status,
      headers: isStream ? streamHeaders(headers) : headers,
    });
  }
}

const decoder = new TextDecoder();
