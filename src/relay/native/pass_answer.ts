import {
  isJsonObject,
  type JsonObject,
  parseJson,
  parseLightJson,
} from "../../core/json.ts";
import type { Protocol } from "../../core/protocol.ts";
import type { Clock } from "../../core/time/timers.ts";
import type { Deadlines } from "../../core/time/deadlines.ts";
import { UpstreamFailure } from "../../protocols/canonical/failure/failure.ts";
import type { AnswerWatch } from "../../protocols/canonical/codec.ts";
import { CODECS } from "../../protocols/mod.ts";
import { DataLines } from "../../streams/data_lines.ts";
import {
  abandon,
  type ByteReader,
  type ByteSource,
  createLookAhead,
  type LookAhead,
} from "../../streams/byte_reader.ts";
import { joinBytes } from "../../streams/bytes.ts";
import {
  type BodyKind,
  bodyKind,
  isEventStream,
  isJson,
  markBytes,
} from "../../streams/media_type.ts";
import { passThrough } from "../../streams/pass_through.ts";
import type { UpstreamResponse } from "../../upstream/call.ts";
import { brokenUpstream, failedReading } from "../../upstream/failure.ts";
import { declaredBytes, readBodyBytes } from "../../upstream/read_response.ts";
import type { Secrets } from "../../upstream/secrets.ts";
import {
  type BeginningJudge,
  endingOf,
  holdBack,
  openBody,
} from "../answer_body.ts";
import { type Attempt, firstOutputRestMs } from "../attempt.ts";
import { type AnswerLabel, createAnswerMeter, meterWhole } from "./meter.ts";
import { nativeFailure } from "./native_failure.ts";

/**
 * Forwards an upstream's successful response, with its status and bytes unchanged, and finishes the record at its end.
 * Only the gateway's own key is masked.
 *
 * @throws {UpstreamFailure} When the body is a failure and another attempt may follow.
 * @throws {GatewayError} When the body breaks off, or exceeds a timeout, before any of it was sent.
 * @throws {CallerLeft} When the caller disconnects before any of it was sent.
 */
export function passAnswer(
  response: UpstreamResponse,
  options: PassAnswerOptions,
): Promise<Response> {
  const { status, body, headers } = response;
  const { record } = options.attempt.exchange;
  if (body === null) {
    record.facts.status = status;
    record.finish("complete");
    const empty = new Response(null, { status, headers: options.headers });
    return Promise.resolve(empty);
  }
  const type = headers.get("content-type") ?? "";
  const isStream = isEventStream(type);
  const mayBeJson = type === "" || isJson(type);
  const length = isStream ? undefined : declaredBytes(headers);
  return length !== undefined && length <= MAX_WHOLE_BYTES
    ? passWhole(response, { ...options, body, length, isJson: mayBeJson })
    : passInChunks(response, { ...options, body, isStream, isJson: mayBeJson });
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
  response: UpstreamResponse,
  options: ChunksOptions,
): Promise<Response> {
  const { attempt, headers } = options;
  const { status } = response;
  const { firstOutputMs } = attempt.deployment.connection.timeouts;
  const isHeld = attempt.mayFailOver || options.isStream && firstOutputMs > 0;
  const reader = openBody(options.body, attempt, options);
  const source = createLookAhead(reader);
  if (isHeld) await rejectFailure(response, source, options);
  attempt.exchange.record.facts.status = status;
  return new Response(passOn(isHeld ? source : reader, options), {
    status,
    headers,
  });
}

/** Checks the beginning, and cancels the source if it is a failure. */
async function rejectFailure(
  response: UpstreamResponse,
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
  response: UpstreamResponse,
  { protocol, headers, secrets, clock }: PassAnswerOptions,
): void {
  switch (beginning.kind) {
    case "cut":
      throw brokenUpstream("it ended before it began");
    case "failure":
      throw new UpstreamFailure(
        secrets.leaveOut(CODECS[protocol].decodeFailure(200, beginning.body)),
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
): ReadableStream<Uint8Array> {
  const { controller, exchange: { record }, head } = attempt;
  const { watch } = CODECS[protocol];
  const mayChangeModel = head.namedModels.length > 0;
  const label = { isStream, isJson, mayChangeModel };
  const meter = createAnswerMeter(watch, record, label);
  return passThrough(source, {
    deadlines,
    onChunk: meter.push,
    isWhole: () => meter.end(true) !== "cut",
    onEnd(end) {
      const answerEnd = meter.end(end.kind === "complete");
      const error = answerEnd === "failed" ? meter.failure() : undefined;
      const failure = error && CODECS[protocol].decodeFailure(200, error);
      if (failure !== undefined) attempt.noteFailure(failure);
      const { signal } = controller;
      record.finish(endingOf(end, { answerEnd, failure, record, signal }));
      if (end.kind !== "complete") controller.abort();
    },
  });
}

/** The longest JSON body that is read whole, in bytes. Sending it at once is much cheaper than a stream. */
const MAX_WHOLE_BYTES: number = 64 * 1024;

/** The options of an answer that is read whole before it is sent. */
interface WholeOptions extends PassAnswerOptions {
  readonly body: ByteSource;
  /** The length in its header, in bytes. */
  readonly length: number;
  /** True when its headers name JSON or no type. */
  readonly isJson: boolean;
}

/**
 * Sends a short answer to the caller once it is complete.
 *
 * @throws As `passAnswer` does.
 */
async function passWhole(
  response: UpstreamResponse,
  options: WholeOptions,
): Promise<Response> {
  const { attempt, protocol, headers, secrets, clock, isJson } = options;
  const { record } = attempt.exchange;
  const { status } = response;
  const bytes = await readShort(options);
  if (bytes === undefined) throw brokenUpstream("it is longer than it says");
  secrets.coverIn(bytes);
  if (bodyKind(bytes) === "events") {
    const events = new Blob([bytes]).stream();
    return passInChunks(response, { ...options, body: events, isStream: true });
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
  await attempt.noteServed();
  record.finish("complete");
  return new Response(bytes, { status, headers });
}

const decoder = new TextDecoder();

function readShort(
  { attempt: { controller, deployment }, deadlines, body, length }:
    WholeOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return readBodyBytes(body, length, {
    maxBytes: MAX_WHOLE_BYTES,
    deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
}

/** The beginning of an answer. */
type Beginning =
  /** Output, or enough bytes to send them now. */
  | { readonly kind: "good" }
  /** An error event in place of output. */
  | { readonly kind: "failure"; readonly body: JsonObject }
  /** An error in place of a JSON answer, complete. */
  | { readonly kind: "refusal"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** A body that ended before the answer began. */
  | { readonly kind: "cut" };

/** The most events that are held back (docs/design.md#failover). */
const MAX_EVENTS = 64;

/**
 * Creates a judge of an answer's beginning. The first bytes decide whether it is events or JSON.
 *
 * @param isStream True when the headers name an event stream. It counts only if the bytes do not decide.
 */
export function createBeginningJudge(
  watch: AnswerWatch,
  isStream: boolean,
): BeginningJudge<Beginning> {
  let chosen: BeginningJudge<Beginning> | undefined;
  const judgeOf = (kind: BodyKind | undefined) =>
    kind === "events" || isStream && kind !== "json"
      ? createStreamJudge(watch)
      : createJsonJudge(watch);
  return {
    push(chunk) {
      if (chunk.length === 0) return undefined;
      const kind = chosen === undefined ? bodyKind(chunk) : undefined;
      if (chosen === undefined && kind === undefined && isStream) return;
      chosen ??= judgeOf(kind);
      // The beginning of a byte order mark may have come before, alone.
      return chosen.push(
        kind === "events" ? chunk.subarray(markBytes(chunk)) : chunk,
      );
    },
    end: () => (chosen ??= judgeOf(undefined)).end(),
  };
}

/**
 * Creates a judge of JSON of unknown length. It reads the first keys, and the rest if those may belong to a failure.
 * White space is sent at once, as a sign that the model works.
 */
function createJsonJudge(watch: AnswerWatch): BeginningJudge<Beginning> {
  const seen: Uint8Array[] = [];
  let head = "";
  return {
    push(chunk) {
      seen.push(chunk);
      const isHeadSeen = head.length >= HEAD_LENGTH;
      if (!isHeadSeen) head += decoder.decode(chunk.subarray(0, HEAD_LENGTH));
      const isClear = head.trim() === "" ||
        !isHeadSeen && head.length >= HEAD_LENGTH &&
          !mayHoldFailure(head, watch);
      return isClear ? { kind: "good" } : undefined;
    },
    end() {
      const whole = joinBytes(seen);
      return holdsFailure(decoder.decode(whole), watch)
        ? { kind: "refusal", bytes: whole }
        : { kind: "good" };
    },
  };
}

/** The characters at the start of an answer in which its first keys are found. */
const HEAD_LENGTH = 256;

/** Returns true when an answer may be a failure. Only then is it worth a few microseconds to parse it. */
function mayHoldFailure(text: string, watch: AnswerWatch): boolean {
  return watch.mayBeFailure(text.slice(0, HEAD_LENGTH));
}

/** Returns true when a JSON answer is a failure, even with a successful status. */
function holdsFailure(text: string, watch: AnswerWatch): boolean {
  if (!mayHoldFailure(text, watch)) return false;
  const body = parseLightJson(text);
  return isJsonObject(body) && watch.failureOf(body) !== undefined;
}

/** Creates a judge of an event stream. */
function createStreamJudge(
  watch: AnswerWatch,
): BeginningJudge<Beginning> {
  let found: Beginning | undefined;
  let events = 0;
  const lines = new DataLines(undefined, {
    wantsEvery: () => found === undefined,
    line(data) {
      events += 1;
      found ??= classify(data, watch);
      if (events >= MAX_EVENTS) found ??= { kind: "good" };
    },
  });
  return {
    push(chunk) {
      lines.push(chunk);
      return found;
    },
    end: () => classify(lines.unfinished(), watch) ?? { kind: "cut" },
  };
}

/** Classifies an event; `undefined` while more events are needed. */
function classify(data: string, watch: AnswerWatch): Beginning | undefined {
  const event = parseLightJson(data);
  if (isJsonObject(event)) {
    const body = watch.failureOf(event);
    if (body !== undefined) return { kind: "failure", body };
    if (watch.isOutput(event)) return { kind: "good" };
  }
  return watch.isEnd(data) ? { kind: "good" } : undefined;
}
