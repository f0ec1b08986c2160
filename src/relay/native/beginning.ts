import {
  isJsonObject,
  type JsonObject,
  parseLightJson,
} from "../../core/json.ts";
import type { AnswerWatch } from "../../protocols/canonical/stream/watch.ts";
import { createDataLines } from "../../streams/data_lines.ts";
import { joinBytes } from "../../streams/join_bytes.ts";
import { type BodyKind, bodyKind } from "../../streams/media_type.ts";
import type { BeginningJudge } from "../hold_back.ts";

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

const decoder = new TextDecoder();

/** Where an answer's first keys stand, in characters. */
const HEAD_LENGTH = 256;

/** Whether it is worth reading whole: a few microseconds, for every JSON answer. */
function mayHoldFailure(text: string, watch: AnswerWatch): boolean {
  return watch.mayBeFailure(text.slice(0, HEAD_LENGTH));
}

/** Whether a JSON answer is a failure, whatever its status. */
export function holdsFailure(text: string, watch: AnswerWatch): boolean {
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
