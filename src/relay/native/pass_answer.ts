import {
  isJsonObject,
  type JsonObject,
  parseLightJson,
} from "../../core/json.ts";
import type { Protocol } from "../../core/protocol.ts";
import type { Clock } from "../../core/time/timers.ts";
import type { Deadlines } from "../../core/time/deadlines.ts";
import {
  isHidden,
  UpstreamFailure,
} from "../../protocols/canonical/failure/failure.ts";
import type { AnswerWatch } from "../../protocols/canonical/codec.ts";
import { CODECS } from "../../protocols/mod.ts";
import { createDataLines } from "../../streams/data_lines.ts";
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
} from "../../streams/media_type.ts";
import { passThrough } from "../../streams/pass_through.ts";
import type { UpstreamAnswer } from "../../upstream/call.ts";
import { brokenUpstream, failedReading } from "../../upstream/failure.ts";
import { declaredBytes, readBodyBytes } from "../../upstream/read_answer.ts";
import type { Secrets } from "../../upstream/secrets.ts";
import {
  type BeginningJudge,
  endingOf,
  holdBack,
  openBody,
} from "../answer_body.ts";
import { noteFailure } from "../answer_failure.ts";
import { type Attempt, firstOutputRestMs } from "../attempt.ts";
import { type AnswerLabel, createAnswerMeter, meterWhole } from "./meter.ts";
import { nativeFailure } from "./native_failure.ts";

/**
 * Gives an upstream's good answer to the caller with its status and bytes unchanged, but for the gateway's own key
 * if it should stand in it, and finishes the record when it ends.
 *
 * @throws {UpstreamFailure} When a failure stands in its place, and something can be tried again.
 * @throws {GatewayError} When the answer breaks off or is silent before any of it went out.
 * @throws {CallerLeft} When the caller leaves before any of it went out.
 */
export function passAnswer(
  answer: UpstreamAnswer,
  options: PassAnswerOptions,
): Promise<Response> {
  const { status, body, headers } = answer;
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
  return length !== undefined && length <= ONE_PIECE_BYTES
    ? passInOnePiece(answer, { ...options, body, length, isJson: mayBeJson })
    : passInPieces(answer, { ...options, body, isStream, isJson: mayBeJson });
}

/** How an upstream's answer goes to the caller. */
interface PassAnswerOptions {
  readonly attempt: Attempt;
  /** Of the path and of the upstream. */
  readonly protocol: Protocol;
  /** What the caller gets of the upstream's headers. */
  readonly headers: [string, string][];
  /** What must not be seen in it. */
  readonly secrets: Secrets;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
}

/** An answer that goes to the caller as it comes. */
interface PiecesOptions extends PassAnswerOptions, AnswerLabel {
  readonly body: ByteSource;
}

/**
 * Gives an answer to the caller as it comes. Where something else could be tried, the beginning is held back until
 * it shows that it is good.
 *
 * @throws As `passAnswer` does.
 */
async function passInPieces(
  answer: UpstreamAnswer,
  options: PiecesOptions,
): Promise<Response> {
  const { attempt, headers } = options;
  const { status } = answer;
  const { firstOutputMs } = attempt.deployment.connection.timeouts;
  const isHeld = attempt.mayMoveOn || options.isStream && firstOutputMs > 0;
  const reader = openBody(options.body, attempt, options);
  const source = createLookAhead(reader);
  if (isHeld) await refuseBad(answer, source, options);
  attempt.exchange.record.facts.status = status;
  return new Response(passOn(isHeld ? source : reader, options), {
    status,
    headers,
  });
}

/** Sees the beginning; the source is given up when that is not good. */
async function refuseBad(
  answer: UpstreamAnswer,
  source: LookAhead,
  options: PiecesOptions,
): Promise<void> {
  const { attempt, protocol, isStream, deadlines } = options;
  try {
    const beginning = await holdBack(source, {
      judge: createBeginningJudge(CODECS[protocol].watch, isStream),
      deadlines,
      outputMs: isStream ? firstOutputRestMs(attempt, deadlines) : undefined,
      isPatient: !isStream,
    });
    if (beginning !== undefined) refuse(beginning, answer, options);
  } catch (cause) {
    abandon(source);
    throw failedReading(cause, attempt.controller.signal);
  }
}

/**
 * Refuses a beginning that is not good.
 *
 * @throws {UpstreamFailure} The failure that it is.
 * @throws {GatewayError} When the answer ended before it began.
 */
function refuse(
  beginning: Beginning,
  answer: UpstreamAnswer,
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
      const told = { bytes, headers, protocol, secrets, clock };
      throw nativeFailure(answer, told);
    }
  }
}

function passOn(
  source: ByteReader,
  { attempt, protocol, isStream, isJson, deadlines }: PiecesOptions,
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
      const said = answerEnd === "failed" ? meter.failure() : undefined;
      const failure = said && CODECS[protocol].decodeFailure(200, said);
      if (failure !== undefined) attempt.noteFailure(failure);
      const { signal } = controller;
      record.finish(endingOf(end, { answerEnd, failure, record, signal }));
      if (end.kind !== "complete") controller.abort();
    },
  });
}

/** A JSON answer that says it is no longer than this goes on in one piece, which is much cheaper than a stream. */
const ONE_PIECE_BYTES: number = 64 * 1024;

/** An answer that is read whole before any of it goes on. */
interface OnePieceOptions extends PassAnswerOptions {
  readonly body: ByteSource;
  /** How long it says that it is, in bytes. */
  readonly length: number;
  /** Whether it is JSON, as far as its headers say. */
  readonly isJson: boolean;
}

/**
 * Gives a short answer to the caller once all of it is there.
 *
 * @throws As `passAnswer` does.
 */
async function passInOnePiece(
  answer: UpstreamAnswer,
  options: OnePieceOptions,
): Promise<Response> {
  const { attempt, protocol, headers, secrets, clock, isJson } = options;
  const { record } = attempt.exchange;
  const { status } = answer;
  const bytes = await readShort(options);
  if (bytes === undefined) throw brokenUpstream("it is longer than it says");
  secrets.coverIn(bytes);
  if (bodyKind(bytes) === "events") {
    const events = new Blob([bytes]).stream();
    return passInPieces(answer, { ...options, body: events, isStream: true });
  }
  const { watch } = CODECS[protocol];
  const text = decoder.decode(bytes);
  if (holdsFailure(text, watch)) {
    const told = { bytes, headers, protocol, secrets, clock };
    const failure = nativeFailure(answer, told);
    if (attempt.mayRepeat || isHidden(failure.failure)) throw failure;
    noteFailure(failure.failure, record.facts);
  }
  if (meterWhole(bytes, { text, watch, record, isJson }) === "cut") {
    throw brokenUpstream("its JSON is not whole");
  }
  record.facts.status = status;
  record.finish("complete");
  return new Response(bytes, { status, headers });
}

const decoder = new TextDecoder();

function readShort(
  { attempt: { controller, deployment }, deadlines, body, length }:
    OnePieceOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return readBodyBytes(body, length, {
    maxBytes: ONE_PIECE_BYTES,
    deadlines,
    idleMs: deployment.connection.timeouts.idleMs,
    controller,
  });
}

/** What the beginning of a stream turned out to be. */
export type Beginning =
  /** Output, or so much else that the caller should have it now. */
  | { readonly kind: "good" }
  /** A failure in place of output; what it says. */
  | { readonly kind: "failure"; readonly body: JsonObject }
  /** A failure in place of JSON; all of it. */
  | { readonly kind: "refusal"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** The bytes ended before anything of an answer. */
  | { readonly kind: "cut" };

/** What is held back at most (docs/design.md#failover). */
const MAX_EVENTS = 64;
const MAX_BYTES = 256 * 1024;

/**
 * Reads an answer until it is clear what it begins. Its first bytes say whether it is events or JSON, whatever its
 * headers say.
 *
 * @param isStream What the headers say.
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
      return chosen.push(chunk);
    },
    end: () => (chosen ??= judgeOf(undefined)).end(),
  };
}

/** No failure is longer than this, in bytes. */
const MAX_FAILURE_BYTES = 64 * 1024;

/**
 * Reads JSON of a length that nobody knows: its first keys, and the rest where those may be a failure's. White space
 * goes on at once, since it says that the model is at work.
 */
function createJsonJudge(watch: AnswerWatch): BeginningJudge<Beginning> {
  const seen: Uint8Array[] = [];
  let bytes = 0;
  let head = "";
  return {
    push(chunk) {
      seen.push(chunk);
      bytes += chunk.length;
      const isHeadSeen = head.length >= HEAD_LENGTH;
      if (!isHeadSeen) head += decoder.decode(chunk.subarray(0, HEAD_LENGTH));
      const isClear = head.trim() === "" ||
        !isHeadSeen && head.length >= HEAD_LENGTH &&
          !mayHoldFailure(head, watch);
      return isClear || bytes > MAX_FAILURE_BYTES
        ? { kind: "good" }
        : undefined;
    },
    end() {
      const whole = joinBytes(seen);
      return holdsFailure(decoder.decode(whole), watch)
        ? { kind: "refusal", bytes: whole }
        : { kind: "good" };
    },
  };
}

/** Where an answer's first keys stand, in characters. */
const HEAD_LENGTH = 256;

/** Whether it is worth reading whole: a few microseconds, for every JSON answer. */
function mayHoldFailure(text: string, watch: AnswerWatch): boolean {
  return watch.mayBeFailure(text.slice(0, HEAD_LENGTH));
}

/** Whether a JSON answer is a failure, whatever its status. */
function holdsFailure(text: string, watch: AnswerWatch): boolean {
  if (!mayHoldFailure(text, watch)) return false;
  const body = parseLightJson(text);
  return isJsonObject(body) && watch.failureOf(body) !== undefined;
}

/** Reads a stream's events until it is clear what they begin. */
function createStreamJudge(
  watch: AnswerWatch,
): BeginningJudge<Beginning> {
  let found: Beginning | undefined;
  let events = 0;
  let bytes = 0;
  const lines = createDataLines(undefined, {
    wantsEvery: () => found === undefined,
    line(data) {
      events += 1;
      found ??= meaningOf(data, watch);
      if (events >= MAX_EVENTS) found ??= { kind: "good" };
    },
  });
  return {
    push(chunk) {
      bytes += chunk.length;
      lines.push(chunk);
      return found ?? (bytes >= MAX_BYTES ? { kind: "good" } : undefined);
    },
    end() {
      return meaningOf(lines.unfinished(), watch) ?? { kind: "cut" };
    },
  };
}

/** What an event says of the answer that it is part of; `undefined` while it is only its start. */
function meaningOf(data: string, watch: AnswerWatch): Beginning | undefined {
  const event = parseLightJson(data);
  if (isJsonObject(event)) {
    const body = watch.failureOf(event);
    if (body !== undefined) return { kind: "failure", body };
    if (watch.isOutput(event)) return { kind: "good" };
  }
  return watch.isEnd(data) ? { kind: "good" } : undefined;
}
