import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  nonEmptyText,
  parseJson,
  parseLightJson,
} from "@gateway/base/json";
import type { AnswerWatch } from "@gateway/codecs";
import { JsonEnd } from "@gateway/json_scan";
import type { RequestRecord } from "../../observe/record.ts";
import { DataLines } from "@gateway/base/streams/data_lines";
import { LONG_BYTES } from "@gateway/base/streams/line_buffer";
import {
  type BodyKind,
  bodyKind,
  markBytes,
} from "@gateway/base/streams/media_type";
import type { AnswerEnd } from "../answer_body.ts";

/** Reads the bytes of an answer for the record while the bytes pass. A meter never throws and never changes a byte. */
interface Meter {
  /** Reads the next chunk. The caller already has it. `text` is the chunk's result of `byteText`, if known. */
  readonly push: (chunk: Uint8Array, text?: string) => void;
  /**
   * Ends the reading. A second call returns the same result.
   *
   * @param isBodyWhole True when the body came to its end: it did not break off, and the caller did not disconnect.
   * @returns How the answer ended in its protocol.
   */
  end(isBodyWhole: boolean): AnswerEnd;
  /** Returns the error that ended the answer, as `decodeFailure` takes it. The error is known only after `end`. */
  failure(): JsonObject | undefined;
}

const LINE_FEED = new Uint8Array([10]);

/**
 * The number of events without JSON after which the meter stops looking for output. A failed parse takes ten times as
 * long as a successful one.
 */
const MAX_MISSES = 1000;

/**
 * Creates a meter for an event stream. The meter reads the first output, the model, the usage and the protocol's last
 * event. A few more events may follow that event: the usage of a Chat answer, or `[DONE]` in the other protocols
 * (OpenRouter).
 *
 * @param mayChangeModel True when another model may continue the answer, so that every event must be read.
 */
export function createStreamMeter(
  watch: AnswerWatch,
  record: RequestRecord,
  mayChangeModel = false,
): Meter {
  const { facts } = record;
  const noteChunk = record.watchChunks();
  let longEnd: AnswerEnd = "cut";
  let failure: JsonObject | undefined;
  let ended: AnswerEnd | undefined;
  let firstLength = 0;
  let misses = 0;
  const lines = new DataLines(watch.usageMark, {
    wantsEvery: () =>
      misses < MAX_MISSES &&
      (mayChangeModel || facts.answer.firstOutputMs === undefined),
    line(data) {
      if (data === "") return;
      if (data.length > LONG_BYTES) longEnd = betterEnd(longEnd, endOf(data));
      const isFirst = facts.answer.firstOutputMs === undefined;
      const hasUsage = watch.mayCount(data);
      if (!isFirst && !hasUsage && !mayChangeModel) return;
      const event = parseLightJson(data);
      if (event === undefined) misses++;
      if (!isJsonObject(event)) return;
      noteModel(watch, event, record);
      if (isFirst && watch.isOutput(event)) {
        facts.answer.firstOutputMs = record.elapsedMs();
        const { textLength, envelopeBytes } = measureOutput(
          event,
          data,
          watch,
        );
        firstLength = textLength;
        lines.measureAbove(envelopeBytes);
      }
      if (hasUsage) noteUsage(watch, event, record);
    },
  });
  return {
    push(chunk, text) {
      facts.bytesOut += chunk.length;
      noteChunk?.();
      lines.push(chunk, text);
    },
    end() {
      return ended ??= readEnd();
    },
    failure: () => failure,
  };

  function readEnd(): AnswerEnd {
    if (isWhole(lines.unfinished())) lines.push(LINE_FEED);
    facts.answer.outputCharacters = firstLength + lines.bytesAbove();
    return lines.last().map(endOf).reduce(betterEnd, longEnd);
  }

  function endOf(data: string): AnswerEnd {
    if (watch.isEnd(data)) return "whole";
    if (!watch.isFailure(data)) return "cut";
    const event = parseLightJson(data);
    // Only the two ends of a very long line are kept, and they are not JSON.
    if (!isJsonObject(event)) return "failed";
    const error = watch.failureOf(event);
    failure ??= error;
    return error === undefined ? "cut" : "failed";
  }
}

/** Returns the better of two ends. The protocol's own end counts more than an error. */
function betterEnd(one: AnswerEnd, other: AnswerEnd): AnswerEnd {
  if (one === "whole" || other === "whole") return "whole";
  return one === "failed" || other === "failed" ? "failed" : "cut";
}

/**
 * Returns true when the last line of a stream is complete. Mistral's last line has no line feed, so only its text can
 * show this: a line that broke off is not JSON.
 */
function isWhole(data: string): boolean {
  // Failing to parse an empty line would cost more than all other work at the end of a stream.
  if (data === "") return false;
  return data === "[DONE]" || parseLightJson(data) !== undefined;
}

/** The kind of an answer, by its headers. */
export interface AnswerLabel {
  readonly isStream: boolean;
  readonly isJson: boolean;
  /** True when another model may continue a stream. */
  readonly mayChangeModel?: boolean | undefined;
}

/** Creates a meter for an answer. The first bytes decide the kind of the answer. If they do not, the headers do. */
export function createAnswerMeter(
  watch: AnswerWatch,
  record: RequestRecord,
  { isStream, isJson, mayChangeModel = false }: AnswerLabel,
): Meter {
  let chosen: Meter | undefined;
  const meterOf = (kind: BodyKind | undefined): Meter => {
    const isEvents = kind === "events" || isStream && kind !== "json";
    return isEvents
      ? createStreamMeter(watch, record, mayChangeModel)
      : createBodyMeter(watch, record, isJson || kind === "json");
  };
  return {
    push(chunk, text) {
      if (chosen !== undefined) return chosen.push(chunk, text);
      const kind = bodyKind(chunk);
      // White space and a byte order mark before the answer count only for their length. A mark may be split between
      // chunks.
      const skipped = kind === undefined ? chunk.length : markBytes(chunk);
      record.facts.bytesOut += skipped;
      if (kind === undefined) return;
      chosen = meterOf(kind);
      chosen.push(chunk.subarray(skipped), text?.slice(skipped));
    },
    end: (isBodyWhole) => (chosen ??= meterOf(undefined)).end(isBodyWhole),
    failure: () => chosen?.failure(),
  };
}

/** The longest body whose usage is read, in bytes. Keeping a longer body would take too much memory. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/**
 * Matches the first model in a body that may be cut. Inside a string nothing matches, because quotes are escaped there.
 */
const MODEL_REGEXP = /"model"\s*:\s*("(?:[^"\\]|\\.)+")/;

function modelIn(text: string): string | undefined {
  const [, name = ""] = MODEL_REGEXP.exec(text) ?? [];
  return nonEmptyText(parseJson(name));
}

/** Creates a meter for a body that is not a stream. The body is read as JSON unless its headers name another type. */
export function createBodyMeter(
  watch: AnswerWatch,
  record: RequestRecord,
  isJson = true,
): Meter {
  const { facts } = record;
  const json = isJson ? new JsonEnd() : undefined;
  const decoder = new TextDecoder();
  let text = "";
  let failure: JsonObject | undefined;
  return {
    push(chunk) {
      facts.answer.firstOutputMs ??= record.elapsedMs();
      facts.bytesOut += chunk.length;
      json?.push(chunk);
      if (facts.bytesOut <= MAX_KEPT_BYTES) {
        text += decoder.decode(chunk, { stream: true });
      } else if (text !== "") {
        facts.answer.model = modelIn(text);
        text = "";
      }
    },
    end(isBodyWhole) {
      const body = isJson || watch.mayCount(text)
        ? parseLightJson(text)
        : undefined;
      if (isJsonObject(body)) {
        noteAnswer(watch, body, record);
        failure = watch.failureOf(body);
        if (failure !== undefined) return "failed";
      } else facts.answer.model ??= modelIn(text);
      return isBodyWhole && json?.isCut() !== true ? "whole" : "cut";
    },
    failure: () => failure,
  };
}

/** The options of {@linkcode meterWhole}. */
interface MeterWholeOptions {
  /** The parsed body; `undefined` when it was not parsed, or is not JSON. */
  readonly json: JsonValue | undefined;
  readonly watch: AnswerWatch;
  readonly record: RequestRecord;
  /** True when the headers name JSON or no type. */
  readonly isJson: boolean;
}

/** Records a complete body, as {@linkcode createBodyMeter} does for chunks. */
export function meterWhole(
  bytes: Uint8Array,
  { json, watch, record, isJson }: MeterWholeOptions,
): AnswerEnd {
  const { facts } = record;
  facts.answer.firstOutputMs ??= record.elapsedMs();
  facts.bytesOut += bytes.length;
  if (isJsonObject(json)) {
    noteAnswer(watch, json, record);
    return "whole";
  }
  return isJson && isCutJson(bytes) ? "cut" : "whole";
}

function isCutJson(bytes: Uint8Array): boolean {
  const json = new JsonEnd();
  json.push(bytes);
  return json.isCut();
}

function noteAnswer(
  watch: AnswerWatch,
  body: JsonObject,
  record: RequestRecord,
): void {
  noteModel(watch, body, record);
  noteUsage(watch, body, record);
}

function noteModel(
  watch: AnswerWatch,
  event: JsonObject,
  { facts }: RequestRecord,
): void {
  const model = watch.modelOf(event);
  if (model !== undefined) facts.answer.model = model;
}

function noteUsage(
  watch: AnswerWatch,
  body: JsonObject,
  { facts }: RequestRecord,
): void {
  const usage = watch.usageOf(body, facts.answer.usage);
  if (usage === undefined) return;
  const dropped = watch.droppedOf?.(body) ?? [];
  if (dropped.length > 0) {
    const reasons = [...facts.answer.reasoningDropped ?? [], ...dropped];
    facts.answer.reasoningDropped = [...new Set(reasons)];
  }
  facts.answer.usage = usage;
  facts.answer.isUsageFinal = facts.answer.firstOutputMs !== undefined;
}

/** The sizes of an event that carries output. */
interface OutputEvent {
  /** The length of the text that a model wrote, in characters. */
  readonly textLength: number;
  /** The length of the event's line without that text, in bytes. It is about the same in all events of a stream. */
  readonly envelopeBytes: number;
}

const DATA_PREFIX_BYTES = "data: ".length;

/** Measures the text and the envelope of an event, so that the next events need no parsing. */
export function measureOutput(
  event: JsonObject,
  data: string,
  { writtenKeys }: Pick<AnswerWatch, "writtenKeys">,
): OutputEvent {
  const textLength = writtenLength(event, writtenKeys);
  const envelopeBytes = DATA_PREFIX_BYTES + data.length - textLength;
  return { textLength, envelopeBytes };
}

/** Returns the number of characters that a model wrote in an event. */
function writtenLength(
  value: JsonValue | undefined,
  keys: ReadonlySet<string>,
): number {
  if (Array.isArray(value)) {
    return value.reduce<number>(
      (sum, one) => sum + writtenLength(one, keys),
      0,
    );
  }
  if (!isJsonObject(value)) return 0;
  return Object.entries(value).reduce(
    (sum, [key, one]) =>
      typeof one === "string"
        ? sum + (keys.has(key) ? one.length : 0)
        : sum + writtenLength(one, keys),
    0,
  );
}
