import {
  isJsonObject,
  type JsonObject,
  parseLightJson,
} from "@gateway/base/json";
import type { HttpResponse } from "@gateway/http1";
import { type AnswerWatch, CODECS, UpstreamFailure } from "@gateway/codecs";
import {
  abandon,
  type ByteReader,
  createLookAhead,
} from "@gateway/base/streams/byte_reader";
import { joinBytes } from "@gateway/base/streams/bytes";
import { DataLines } from "@gateway/base/streams/data_lines";
import {
  type BodyKind,
  bodyKind,
  markBytes,
} from "@gateway/base/streams/media_type";
import type { Deadlines } from "@gateway/base/time/deadlines";
import { brokenUpstream, failedReading } from "../../upstream/failure.ts";
import { type BeginningJudge, holdBack } from "../answer_body.ts";
import { answerFailure, type AnswerFailureOptions } from "../answer_failure.ts";
import { type Attempt, firstOutputRestMs } from "../attempt.ts";
import { nativeFailure } from "./native_failure.ts";

interface HoldOptions extends AnswerFailureOptions {
  readonly response: HttpResponse;
  /** The headers that the caller receives. */
  readonly headers: [string, string][];
  /** True when the headers name an event stream. */
  readonly isStream: boolean;
  readonly deadlines: Deadlines;
}

/**
 * Holds an answer back until its beginning is known to be good. Cancels the answer if the beginning is a failure.
 *
 * @returns The answer with its beginning.
 * @throws {UpstreamFailure} The failure in the beginning.
 * @throws {GatewayError} When the body ended, broke off or exceeded a timeout before the answer began.
 * @throws The reason of the attempt's signal when the signal aborts.
 */
export async function holdBeginning(
  body: ByteReader,
  attempt: Attempt,
  options: HoldOptions,
): Promise<ByteReader> {
  const { protocol, isStream, deadlines } = options;
  const source = createLookAhead(body);
  try {
    const beginning = await holdBack(source, {
      judge: createBeginningJudge(CODECS[protocol].watch, isStream),
      deadlines,
      outputMs: isStream ? firstOutputRestMs(attempt, deadlines) : undefined,
      waitsWithoutLimit: !isStream,
    });
    if (beginning !== undefined) throwFailure(beginning, options);
    return source;
  } catch (cause) {
    abandon(source);
    throw failedReading(cause, attempt.controller.signal);
  }
}

/** Throws when the beginning is not good. */
function throwFailure(
  beginning: Beginning,
  { response, ...options }: HoldOptions,
): void {
  switch (beginning.kind) {
    case "cut":
      throw brokenUpstream("it ended before it began");
    case "failure":
      throw new UpstreamFailure(
        answerFailure(response, beginning.body, options),
      );
    case "refusal":
      throw nativeFailure(response, { ...options, bytes: beginning.bytes });
  }
}

/** The beginning of an answer. */
type Beginning =
  /** Output, or bytes that need not be held back any longer. */
  | { readonly kind: "good" }
  /** An error event in place of output. */
  | { readonly kind: "failure"; readonly body: JsonObject }
  /** A complete error in place of a JSON answer. */
  | { readonly kind: "refusal"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** A body that ended before the answer began. */
  | { readonly kind: "cut" };

/** The most events that are held back (docs/design.md#failover). */
const MAX_EVENTS = 64;

/**
 * Creates a judge of an answer's beginning. The first bytes decide whether the answer is events or JSON.
 *
 * @param isStream True when the headers name an event stream. The headers count only if the bytes do not decide.
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
      // The first bytes of a byte order mark may have come in an earlier chunk.
      return chosen.push(
        kind === "events" ? chunk.subarray(markBytes(chunk)) : chunk,
      );
    },
    end: () => (chosen ??= judgeOf(undefined)).end(),
  };
}

const decoder = new TextDecoder();

/**
 * Creates a judge of JSON of unknown length. The judge reads the first keys. If these keys may belong to a failure, the
 * judge also reads the rest. White space is sent at once, as a sign that the model works.
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

/** The number of characters at the start of an answer that are searched for its first keys. */
const HEAD_LENGTH = 256;

/** Returns true when an answer may be a failure. Other answers are not parsed. This saves a few microseconds. */
export function mayHoldFailure(text: string, watch: AnswerWatch): boolean {
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
