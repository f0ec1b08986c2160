import {
  type AnyResponse,
  DirectResponse,
  type HttpResponse,
} from "@gateway/http1";
import { callUpstream } from "../../upstream/call.ts";
import { isJsonObject, parseJson } from "@gateway/base/json";
import { OPERATIONS, type Protocol } from "@gateway/base/protocol";
import { CODECS, UpstreamFailure } from "@gateway/codecs";
import type { ByteEdit } from "@gateway/json_scan";
import type { Clock } from "@gateway/base/time/timers";
import type { Deadlines } from "@gateway/base/time/deadlines";
import {
  abandon,
  type ByteReader,
  type ByteSource,
  createLookAhead,
  discard,
  type LookAhead,
  WholeBody,
} from "@gateway/base/streams/byte_reader";
import {
  bodyKind,
  isEventStream,
  isJson,
} from "@gateway/base/streams/media_type";
import { PassThrough } from "@gateway/base/streams/pass_through";
import { signatureOf } from "../../upstream/aws_signature.ts";
import {
  brokenUpstream,
  failedReading,
  redirected,
} from "../../upstream/failure.ts";
import { responseHeaders, upstreamHeaders } from "../../upstream/headers.ts";
import {
  declaredBytes,
  readResponseBytes,
} from "../../upstream/read_response.ts";
import { type Secrets, secretsOf } from "../../upstream/secrets.ts";
import {
  isVertexClaude,
  operationUrl,
  vertexEdits,
} from "../../upstream/vertex_claude.ts";
import { answerFailure } from "../answer_failure.ts";
import { endingOf, holdBack, openBody } from "../answer_body.ts";
import { endRequest } from "../end_request.ts";
import {
  type Attempt,
  fallbackHeader,
  firstAnswerMs,
  firstOutputRestMs,
  noteResponse,
  quotaHeaders,
} from "../attempt.ts";
import { nativeBody } from "../request/held_body.ts";
import { streamHeaders, withRequestId } from "../request_id.ts";
import type { Uses } from "../services.ts";
import { sealEdits } from "./own_seals.ts";
import {
  type Beginning,
  createBeginningJudge,
  mayHoldFailure,
} from "./beginning.ts";
import { type AnswerLabel, createAnswerMeter, meterWhole } from "./meter.ts";
import { nativeFailure, readNativeFailure } from "./native_failure.ts";
import { reasonOfRefusedBetas } from "./refused_betas.ts";

/**
 * Forwards a request to an upstream that speaks its protocol (docs/design.md#native-and-translated). The body is sent
 * byte for byte. The exceptions are the model's name, if the upstream has another, and the gateway's own seals. The
 * response passes as it arrives.
 *
 * @throws {NativeFailure} When the upstream sends an error before any output.
 * @throws {GatewayError} When there is no response to forward.
 * @throws {CallerLeft} When the caller disconnects before there is a response.
 */
export async function relayNative(
  attempt: Attempt,
  services: Uses<
    "client" | "clock" | "deadlines" | "harvest" | "codexQuota"
  >,
): Promise<AnyResponse> {
  const { harvest, deadlines, clock, codexQuota } = services;
  const { exchange, head, controller, deployment } = attempt;
  const { connection, model } = deployment;
  const { protocol } = OPERATIONS[attempt.operation];
  const isRenamed = model.upstream !== head.model;
  const own = await sealEdits(attempt);
  const response = await sendRequest(attempt, own.edits, services);
  const secrets = secretsOf(connection);
  noteResponse(response, exchange.record, secrets);
  harvest.observe(connection, response.headers);
  const isOk = response.status < 300;
  if (!isOk && response.status < 400) {
    // Redirects are never followed.
    discard(response);
    throw redirected();
  }
  const headers = withRequestId(
    responseHeaders(response.headers, { isRenamed, secrets, clock }),
    protocol,
    exchange.record.requestId,
  );
  if (own.isCut) {
    const { sealedReasoning } = CODECS[protocol].fieldNames;
    exchange.record.facts.answer.dropped = [sealedReasoning];
    headers.push(["x-gateway-dropped", sealedReasoning]);
  }
  if (!isOk) {
    const { idleMs } = connection.timeouts;
    throw await readNativeFailure(response, {
      protocol,
      headers,
      reasonOf: (failure) =>
        reasonOfRefusedBetas(
          failure,
          upstreamHeaders(exchange.headers, connection),
          connection,
        ),
      secrets,
      deadlines,
      clock,
      idleMs,
      controller,
    });
  }
  headers.push(
    ...fallbackHeader(attempt),
    ...quotaHeaders(attempt, codexQuota, response.headers),
  );
  return await passAnswer(response, {
    attempt,
    protocol,
    headers,
    secrets,
    deadlines,
    clock,
  });
}

function sendRequest(
  attempt: Attempt,
  edits: readonly ByteEdit[],
  { client, clock, deadlines }: Uses<"client" | "clock" | "deadlines">,
): Promise<HttpResponse> {
  const { exchange, head, controller, deployment } = attempt;
  const { connection, model } = deployment;
  return callUpstream(client, {
    url: operationUrl(connection, attempt.operation, {
      model: model.upstream,
      stream: head.stream,
    }),
    headers: upstreamHeaders(exchange.headers, connection),
    sign: signatureOf(connection, clock),
    body: nativeBody(attempt.body, [...editsOf(attempt), ...edits]),
    deadlines,
    connectMs: connection.timeouts.connectMs,
    firstByteMs: firstAnswerMs(attempt),
    overNewConnection: attempt.overNewConnection,
    controller,
  });
}

/** Returns the edits that put the upstream's name of the model into the body. */
function editsOf(
  { head, deployment: { connection, model }, operation, exchange }: Attempt,
): readonly ByteEdit[] {
  const { modelMember, versionMember } = head;
  if (modelMember === undefined) return [];
  if (isVertexClaude(connection)) {
    const version = exchange.headers.get("anthropic-version") ?? undefined;
    const members = { modelMember, versionMember };
    return vertexEdits(members, operation, model.upstream, version);
  }
  return model.upstream === head.model
    ? []
    : [{ span: modelMember.span, text: JSON.stringify(model.upstream) }];
}

/**
 * Forwards an upstream's successful response, with its status and bytes unchanged. The end of a stream ends the
 * request. Only the gateway's own key is masked.
 *
 * @throws {UpstreamFailure} When the body is a failure and another attempt may follow.
 * @throws {GatewayError} When the body breaks off, or exceeds a timeout, before any of it was sent.
 * @throws {CallerLeft} When the caller disconnects before any of it was sent.
 */
export function passAnswer(
  response: HttpResponse,
  options: PassAnswerOptions,
): Promise<AnyResponse> {
  const { status, body, headers } = response;
  if (body === null) {
    options.attempt.exchange.record.facts.status = status;
    const empty = new Response(null, { status, headers: options.headers });
    return Promise.resolve(empty);
  }
  const type = headers.get("content-type") ?? "";
  const isStream = isEventStream(type);
  const mayBeJson = type === "" || isJson(type);
  const length = isStream ? undefined : declaredBytes(headers);
  const passing = { ...options, body, isStream, isJson: mayBeJson };
  return length !== undefined && length <= MAX_WHOLE_BYTES
    ? passWhole(response, passing)
    : passInChunks(response, passing);
}

interface PassAnswerOptions {
  readonly attempt: Attempt;
  /** The protocol of the path and of the upstream. */
  readonly protocol: Protocol;
  /** The upstream's headers that the caller receives. */
  readonly headers: [string, string][];
  /** The secrets to mask in the body. */
  readonly secrets: Secrets;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
}

/** The options of an answer that is forwarded chunk by chunk. */
interface ChunksOptions extends PassAnswerOptions, AnswerLabel {
  readonly body: ByteSource;
}

/**
 * Forwards an answer chunk by chunk. While another attempt is possible, the beginning is held back until it is known to
 * be good.
 *
 * @throws As `passAnswer` does.
 */
async function passInChunks(
  response: HttpResponse,
  options: ChunksOptions,
): Promise<AnyResponse> {
  const { attempt, isStream } = options;
  const { status } = response;
  const { firstOutputMs } = attempt.deployment.connection.timeouts;
  const isHeld = attempt.mayFailOver || isStream && firstOutputMs > 0;
  let source = openBody(options.body, attempt, options);
  if (isHeld) {
    const beginning = createLookAhead(source);
    await rejectFailure(response, beginning, options);
    source = beginning;
  }
  attempt.exchange.record.facts.status = status;
  const headers = isStream ? streamHeaders(options.headers) : options.headers;
  return new DirectResponse(passOn(source, options), { status, headers });
}

/** Checks the beginning of an answer, and cancels the source if the beginning is a failure. */
async function rejectFailure(
  response: HttpResponse,
  source: LookAhead,
  options: ChunksOptions,
): Promise<void> {
  const { attempt, protocol, isStream, deadlines } = options;
  try {
    const beginning = await holdBack(source, {
      judge: createBeginningJudge(CODECS[protocol].watch, isStream),
      deadlines,
      outputMs: isStream ? firstOutputRestMs(attempt, deadlines) : undefined,
      waitsWithoutLimit: !isStream,
    });
    if (beginning !== undefined) throwFailure(beginning, response, options);
  } catch (cause) {
    abandon(source);
    throw failedReading(cause, attempt.controller.signal);
  }
}

/**
 * Throws when the beginning is not good.
 *
 * @throws {UpstreamFailure} The failure in the beginning.
 * @throws {GatewayError} When the body ended before the answer began.
 */
function throwFailure(
  beginning: Beginning,
  response: HttpResponse,
  { protocol, headers, secrets, clock }: PassAnswerOptions,
): void {
  switch (beginning.kind) {
    case "cut":
      throw brokenUpstream("it ended before it began");
    case "failure":
      throw new UpstreamFailure(
        answerFailure(response, beginning.body, { protocol, secrets, clock }),
      );
    case "refusal": {
      const { bytes } = beginning;
      const details = { bytes, headers, protocol, secrets, clock };
      throw nativeFailure(response, details);
    }
  }
}

function passOn(
  source: ByteReader,
  { attempt, protocol, isStream, isJson, deadlines }: ChunksOptions,
): PassThrough {
  const { controller, exchange, head } = attempt;
  const { record } = exchange;
  const { watch } = CODECS[protocol];
  const mayChangeModel = head.namedModels.length > 0;
  const label = { isStream, isJson, mayChangeModel };
  const meter = createAnswerMeter(watch, record, label);
  return new PassThrough(source, {
    deadlines,
    isAwaited: attempt.isAwaited,
    onChunk: meter.push,
    isWhole: () => meter.end(true) !== "cut",
    onEnd(end) {
      const answerEnd = meter.end(end.kind === "complete");
      const error = answerEnd === "failed" ? meter.failure() : undefined;
      const failure = error && CODECS[protocol].decodeFailure(200, error);
      if (failure !== undefined) attempt.noteFailure(failure);
      const { signal } = controller;
      const ending = { answerEnd, failure, record, signal };
      endRequest(exchange, endingOf(end, ending));
      if (end.kind !== "complete") controller.abort();
    },
  });
}

/** The longest JSON body that is read whole, in bytes. Sending it at once is much cheaper than a stream. */
const MAX_WHOLE_BYTES: number = 64 * 1024;

/**
 * Sends a short answer to the caller once it is complete.
 *
 * @throws As `passAnswer` does.
 */
async function passWhole(
  response: HttpResponse,
  options: ChunksOptions,
): Promise<AnyResponse> {
  const { attempt, protocol, headers, secrets, clock, isJson } = options;
  const { exchange: { record }, controller, deployment } = attempt;
  const { status } = response;
  const bytes = await readResponseBytes(response, {
    maxBytes: MAX_WHOLE_BYTES,
    deadlines: options.deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
  if (bytes === undefined) throw brokenUpstream("it is longer than it says");
  secrets.coverIn(bytes);
  if (bodyKind(bytes) === "events") {
    const body = new WholeBody(bytes);
    return passInChunks(response, { ...options, body, isStream: true });
  }
  const { watch } = CODECS[protocol];
  const text = decoder.decode(bytes);
  const isRead = isJson || watch.mayCount(text) || mayHoldFailure(text, watch);
  const json = isRead ? parseJson(text) : undefined;
  if (isJsonObject(json) && watch.failureOf(json) !== undefined) {
    const details = { bytes, headers, protocol, secrets, clock };
    throw nativeFailure(response, details);
  }
  if (meterWhole(bytes, { json, watch, record, isJson }) === "cut") {
    throw brokenUpstream("its JSON is not whole");
  }
  record.facts.status = status;
  return new DirectResponse(bytes, { status, headers });
}

const decoder = new TextDecoder();
