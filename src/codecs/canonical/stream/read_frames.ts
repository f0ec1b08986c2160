import type { SseFrame } from "@gateway/base/frame";
import {
  isHeavyJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "@gateway/base/json";
import type { Emit, Stage } from "@gateway/base/stage";
import { type AnswerEvent, brokenEvent, oversizedEvent } from "./event.ts";
import { guardDecoder } from "./guard.ts";

/**
 * Takes the text of an event that differs from an earlier event only in this text. Called if `isAlone` is true for the
 * {@linkcode TextPlace} of the text.
 */
export type PushText = (
  text: JsonValue | undefined,
  field: string,
  emit: Emit<AnswerEvent>,
) => void;

/** Decodes the events of one stream. */
interface EventDecoder {
  /** Returns the place of an event's text. Absent when events differ in more than their text. */
  textPlace?(event: JsonObject): TextPlace | undefined;
  readonly pushText?: PushText;
  /** Takes the next event; `name` is the value of the frame's `event:` line. */
  push(
    event: JsonObject,
    name: string | undefined,
    emit: Emit<AnswerEvent>,
  ): void;
  /** Takes `[DONE]`. Some providers also send `[DONE]` in protocols that do not have it. */
  done(emit: Emit<AnswerEvent>): void;
  /** Ends the stream after the last bytes. */
  end(emit: Emit<AnswerEvent>): void;
}

const DONE = "[DONE]";

const DONE_REGEXP = /^"?\[done\]"?$/i;

/** A short text that keeps a connection open, such as `ping` or `: keep-alive`. A longer text is no heartbeat. */
const HEARTBEAT_REGEXP = /^[\w\s.:[\]<>/-]{1,64}$/;

/**
 * Returns a stage that parses frames into events for `decoder`. The stage ignores what providers and proxies send
 * between events: empty data (https://github.com/Growth-Circle/cadis/issues/362), and heartbeats that are not JSON
 * (https://github.com/aaif-goose/goose/pull/11816). The stage accepts `[DONE]` with spaces around it, lists of events
 * (Gemini's errors), and events on consecutive lines without a blank line between them. With other data, the answer
 * fails.
 */
export function readFrames(
  decoder: EventDecoder,
): Stage<SseFrame, AnswerEvent> {
  const { textPlace } = decoder;
  const parser = textPlace && new EventParser(textPlace);
  return guardDecoder({
    push(frame, emit) {
      const { data } = frame;
      if (data === DONE) return decoder.done(emit);
      if (data === "" && frame.event !== "error") return;
      if (isHeavyJson(data)) {
        return emit(
          oversizedEvent("The provider sent an event that is too long"),
        );
      }
      const event = parser === undefined ? parseJson(data) : parser.parse(data);
      const alone = frame.event === undefined ? parser?.alone : undefined;
      if (alone !== undefined && decoder.pushText !== undefined) {
        const { holder, field } = alone;
        decoder.pushText(holder[field], field, emit);
      } else if (isJsonObject(event)) decoder.push(event, frame.event, emit);
      else readIrregular(event, frame, { decoder, emit });
    },
    end: (emit) => decoder.end(emit),
  });
}

interface Reading {
  readonly decoder: EventDecoder;
  readonly emit: Emit<AnswerEvent>;
}

/** Reads a frame whose data is not a single object. */
function readIrregular(
  value: JsonValue | undefined,
  { data, event: name }: SseFrame,
  { decoder, emit }: Reading,
): void {
  const text = data.trim();
  if (DONE_REGEXP.test(text)) return decoder.done(emit);
  const events = Array.isArray(value) ? value : eventsIn(text);
  if (events.length > 0 && events.every(isEventOrDone)) {
    for (const event of events) {
      if (isJsonObject(event)) decoder.push(event, name, emit);
      else decoder.done(emit);
    }
  } else if (name === "error") {
    decoder.push({ error: { message: text } }, name, emit);
  } else if (!isHeartbeat(value, text)) {
    emit(brokenEvent("The provider sent an event that is not a JSON object"));
  }
}

/** Returns the events of several lines, one event a line; an empty list for a single line or if a line is no event. */
function eventsIn(text: string): JsonValue[] {
  const events: JsonValue[] = [];
  const lines = text.includes("\n") ? text.split("\n") : [];
  for (const line of lines.map((line) => line.trim())) {
    if (line === "") continue;
    const event = line === DONE ? DONE : parseJson(line);
    // Further lines are not parsed: each failure is slow, and there may be many lines.
    if (event === undefined || !isEventOrDone(event)) return [];
    events.push(event);
  }
  return events;
}

function isEventOrDone(event: JsonValue): boolean {
  return isJsonObject(event) || event === DONE;
}

function isHeartbeat(value: JsonValue | undefined, text: string): boolean {
  if (value === undefined) return text === "" || HEARTBEAT_REGEXP.test(text);
  return value === null || typeof value === "string";
}

/** The place of an event's text: an object and one of its fields. */
export interface TextPlace {
  readonly holder: JsonObject;
  readonly field: string;
  /** True when an event that differs only in its text adds nothing but the text; default: false. */
  readonly isAlone?: boolean;
}

/** Returns the place of the first of `fields` that has text; `undefined` if `holder` is no object or has no text. */
export function textIn(
  holder: JsonValue | undefined,
  fields: readonly string[],
): TextPlace | undefined {
  if (!isJsonObject(holder)) return undefined;
  for (const field of fields) {
    const text = holder[field];
    if (typeof text === "string" && text !== "") return { holder, field };
  }
  return undefined;
}

/** An event whose text can be replaced: the JSON before and after the text, and the object that gets the next text. */
interface Template extends TextPlace {
  readonly head: string;
  readonly tail: string;
  readonly event: JsonObject;
}

/**
 * The longest JSON string that is read without a parser, in characters. Most pieces of a model's text are shorter. V8
 * copies slices up to this length. A longer slice would keep its whole source text in memory.
 */
const MAX_PLAIN_CHARACTERS = 12;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** Returns the value of a short JSON string without escapes, four times as fast as a parser; else `undefined`. */
function plainText(json: string): string | undefined {
  const last = json.length - 1;
  if (last < 1 || last > MAX_PLAIN_CHARACTERS + 1) return undefined;
  for (let index = 1; index < last; index++) {
    const code = json.charCodeAt(index);
    if (code < SPACE || code === QUOTE || code === BACKSLASH) return undefined;
  }
  const isString = json.charCodeAt(0) === QUOTE &&
    json.charCodeAt(last) === QUOTE;
  return isString ? json.slice(1, last) : undefined;
}

/** A text that no provider sends. It serves to check where an event's JSON has its text. */
const PROBE = "(model-gateway: text)";

/** The most consecutive templates that no event matched. After so many, no further template is made. */
const MAX_USELESS = 8;

/** The longest event that becomes a template, in characters. A template of megabytes is slower than the parser. */
const MAX_TEMPLATE_CHARACTERS = 64 * 1024;

/**
 * Parses the events of one stream. More than half of the events of real providers differ from the previous event only
 * in their text. For such an event, the parser reads only the text, in a quarter of the time, and puts the text into
 * the previous object. The JSON before and after the text must be the same, and the text must be a JSON string.
 *
 * Use an event before you parse the next event, because both may be the same object.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const parser = new EventParser((event) => ({ holder: event, field: "text" }));
 * assert.deepEqual(parser.parse('{"text":"Good"}'), { text: "Good" });
 * assert.deepEqual(parser.parse('{"text":" day"}'), { text: " day" });
 * assert.deepEqual(parser.parse('{"text":null}'), { text: null });
 * assert.equal(parser.parse('{"text":'), undefined);
 * ```
 */
export class EventParser {
  readonly #placeOf: (event: JsonObject) => TextPlace | undefined;
  #template: Template | undefined;
  #useless = 0;
  /** The place of the last event's text, if the event added only this text. */
  alone: TextPlace | undefined;

  /** @param placeOf Returns the place of an event's text; `undefined` when the event has no text. */
  constructor(placeOf: (event: JsonObject) => TextPlace | undefined) {
    this.#placeOf = placeOf;
  }

  /** Returns the parsed `data`; `undefined` when it is not JSON. */
  parse(data: string): JsonValue | undefined {
    this.alone = undefined;
    return this.#parseText(data) ?? this.#parseWhole(data);
  }

  #parseText(data: string): JsonObject | undefined {
    const template = this.#template;
    if (template === undefined) return undefined;
    const { head, tail, event, holder, field } = template;
    const end = data.length - tail.length;
    // Comparing a slice is four times faster than startsWith().
    if (data.slice(0, head.length) !== head || data.slice(end) !== tail) {
      return undefined;
    }
    const json = data.slice(head.length, end);
    const text = plainText(json) ?? parseJson(json);
    if (typeof text !== "string") return undefined;
    this.#useless = 0;
    holder[field] = text;
    if (template.isAlone) this.alone = template;
    return event;
  }

  #parseWhole(data: string): JsonValue | undefined {
    const event = parseJson(data);
    if (!isJsonObject(event) || !this.#mayBeTemplate(data)) return event;
    const place = this.#placeOf(event);
    if (place !== undefined) {
      this.#useless++;
      this.#template = this.#templateOf(data, place);
    }
    return event;
  }

  #mayBeTemplate(data: string): boolean {
    return this.#useless < MAX_USELESS &&
      data.length <= MAX_TEMPLATE_CHARACTERS;
  }

  /** Returns the template of an event. Writes a probe in place of the text, and checks that parsing finds the probe. */
  #templateOf(
    data: string,
    { holder, field }: TextPlace,
  ): Template | undefined {
    const text = JSON.stringify(holder[field]);
    const start = data.lastIndexOf(text);
    if (start < 0) return undefined;
    const rest = data.slice(start + text.length);
    const probed = `${data.slice(0, start)}"${PROBE}"${rest}`;
    const event = parseJson(probed);
    if (!isJsonObject(event)) return undefined;
    const place = this.#placeOf(event);
    if (place?.holder[place.field] !== PROBE) return undefined;
    // A slice keeps its whole source string in memory. Unlike `data`, `probed` lacks the text, which may be long.
    const head = probed.slice(0, start);
    const tail = probed.slice(probed.length - rest.length);
    return { head, tail, event, ...place };
  }
}
