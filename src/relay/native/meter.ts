import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  nonEmptyText,
  parseJson,
  parseLightJson,
} from "../../core/json.ts";
import { JsonEnd } from "../../json_scan/walker.ts";
import type { RequestRecord } from "../../observe/record.ts";
import type { AnswerWatch } from "../../protocols/canonical/codec.ts";
import { createDataLines } from "../../streams/data_lines.ts";
import { LONG_BYTES } from "../../streams/line_buffer.ts";
import { type BodyKind, bodyKind } from "../../streams/media_type.ts";
import type { AnswerEnd } from "../answer_body.ts";

/** Reads along while an answer passes, for the record; never throws and never changes a byte. */
export interface Meter {
  /** Sees the next bytes, which are with the caller already, and what `byteText` makes of them, where that is known. */
  readonly push: (chunk: Uint8Array, text?: string) => void;
  /**
   * Told that no more bytes come.
   *
   * @param isBodyWhole Whether the body came to its end, and did not break or lose its reader.
   * @returns How the answer ended, whatever became of the body behind it; the same when it is asked again.
   */
  end(isBodyWhole: boolean): AnswerEnd;
  /** What the error says that the answer ended with; for `decodeFailure`, and known at the end. */
  failure(): JsonObject | undefined;
}

const LINE_FEED = new Uint8Array([10]);

/** After so many events that are no JSON no output is looked for: to fail to parse takes ten times as long. */
const MAX_MISSES = 1000;

/**
 * A meter for a stream of events: first output, model, usage, and whether the protocol's last event came. A few more
 * may stand behind that: the usage of a Chat answer, or `[DONE]` in the other protocols (OpenRouter).
 *
 * @param mayChangeModel Whether another model may go on with the answer in its middle, so that every event is read.
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
  const lines = createDataLines(watch.usageMark, {
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
    facts.answer.outputCharacters = firstLength +
      Math.round(lines.bytesAbove());
    return lines.last().map(endOf).reduce(betterEnd, longEnd);
  }

  function endOf(data: string): AnswerEnd {
    if (watch.isEnd(data)) return "whole";
    if (!watch.isFailure(data)) return "cut";
    const event = parseLightJson(data);
    // Of a line that is very long only the ends are known, which are no JSON.
    if (!isJsonObject(event)) return "failed";
    const said = watch.failureOf(event);
    failure ??= said;
    return said === undefined ? "cut" : "failed";
  }
}

/** A protocol's own end counts, whatever it is the end of. */
function betterEnd(one: AnswerEnd, other: AnswerEnd): AnswerEnd {
  if (one === "whole" || other === "whole") return "whole";
  return one === "failed" || other === "failed" ? "failed" : "cut";
}

/** Mistral ends its stream without a last line feed; what broke off in the middle is no JSON. */
function isWhole(data: string): boolean {
  // To fail to parse nothing would cost more than all else at the end of a stream.
  if (data === "") return false;
  return data === "[DONE]" || parseLightJson(data) !== undefined;
}

/** What an answer's headers say that it is. */
export interface AnswerLabel {
  /** Whether it is a stream of events. */
  readonly isStream: boolean;
  /** Whether it is JSON. */
  readonly isJson: boolean;
  /** Whether another model may go on with a stream in its middle. */
  readonly mayChangeModel?: boolean | undefined;
}

/** A meter for an answer whose first bytes say what it is, whatever its headers say; these count for other bytes. */
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
      const kind = chosen === undefined ? bodyKind(chunk) : undefined;
      // White space before either of them tells a meter nothing but its length.
      if (chosen === undefined && kind === undefined) {
        record.facts.bytesOut += chunk.length;
        return;
      }
      chosen ??= meterOf(kind);
      chosen.push(chunk, text);
    },
    end: (isBodyWhole) => (chosen ??= meterOf(undefined)).end(isBodyWhole),
    failure: () => chosen?.failure(),
  };
}

/** The usage of a longer body than this stays unseen; the log is not worth the memory. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/** The first model that a body names, of which the end may be missing. No string holds it: quotes are escaped there. */
const MODEL_REGEXP = /"model"\s*:\s*("(?:[^"\\]|\\.)+")/;

function modelIn(text: string): string | undefined {
  const [, name = ""] = MODEL_REGEXP.exec(text) ?? [];
  return nonEmptyText(parseJson(name));
}

/** A meter for a whole body, which is JSON unless its headers say otherwise. */
export function createBodyMeter(
  watch: AnswerWatch,
  record: RequestRecord,
  isJson = true,
): Meter {
  const { facts } = record;
  const json = isJson ? new JsonEnd() : undefined;
  const decoder = new TextDecoder();
  let text = "";
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
      if (isJsonObject(body)) noteAnswer(watch, body, record);
      else facts.answer.model ??= modelIn(text);
      return isBodyWhole && json?.isCut() !== true ? "whole" : "cut";
    },
    failure: () => undefined,
  };
}

/** What {@linkcode meterWhole} goes by. */
export interface MeterWholeOptions {
  /** The body as text. */
  readonly text: string;
  readonly watch: AnswerWatch;
  readonly record: RequestRecord;
  /** Whether it is JSON, as far as its headers say. */
  readonly isJson: boolean;
}

/**
 * Reads a body that is all there, as the meter of a body does.
 */
export function meterWhole(
  bytes: Uint8Array,
  { text, watch, record, isJson }: MeterWholeOptions,
): AnswerEnd {
  const { facts } = record;
  facts.answer.firstOutputMs ??= record.elapsedMs();
  facts.bytesOut += bytes.length;
  const body = isJson || watch.mayCount(text) ? parseJson(text) : undefined;
  if (isJsonObject(body)) {
    noteAnswer(watch, body, record);
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
  facts.answer.usage = usage;
  facts.answer.isUsageFinal = facts.answer.firstOutputMs !== undefined;
}

/** An event that shows some of the answer. */
interface OutputEvent {
  /** How much of it a model has written, in characters. */
  readonly textLength: number;
  /** What its line in the stream has around that, in bytes; about the same for all of a stream. */
  readonly envelopeBytes: number;
}

const DATA_PREFIX_BYTES = "data: ".length;

/** Tells text and envelope of an event apart, so that those after it need not be parsed for that. */
export function measureOutput(
  event: JsonObject,
  data: string,
  { writtenKeys }: Pick<AnswerWatch, "writtenKeys">,
): OutputEvent {
  const textLength = writtenLength(event, writtenKeys);
  const envelopeBytes = DATA_PREFIX_BYTES + data.length - textLength;
  return { textLength, envelopeBytes };
}

/** How much of an event a model has written, in characters. */
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
