import type { SseFrame } from "../../../core/frame.ts";
import {
  isHeavyJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../core/json.ts";
import type { Emit, Stage } from "../../../core/stage.ts";
import { type AnswerEvent, brokenEvent, oversizedEvent } from "./event.ts";
import { EventParser, type TextPlace } from "./event_parser.ts";
import { guardDecoder } from "./guard.ts";

/** Reads the events of one stream, whatever frames they came in. */
export interface EventDecoder {
  /** Finds the text that an event brings; absent where the events of a stream differ in more than that. */
  textPlace?(event: JsonObject): TextPlace | undefined;
  /**
   * Takes the next event.
   *
   * @param name What the frame's `event:` line says.
   */
  push(
    event: JsonObject,
    name: string | undefined,
    emit: Emit<AnswerEvent>,
  ): void;
  /** Told of `[DONE]`, which some providers send in the other protocols, too. */
  done(emit: Emit<AnswerEvent>): void;
  /** Told that the bytes are over. */
  end(emit: Emit<AnswerEvent>): void;
}

const DONE = "[DONE]";

const DONE_REGEXP = /^"?\[done\]"?$/i;

/** A word or two that keep a connection busy, such as `ping` or `: keep-alive`; longer ones are something else. */
const HEARTBEAT_REGEXP = /^[\w\s.:[\]<>/-]{1,64}$/;

/**
 * Reads frames as events. What providers and the proxies before them send beside events says nothing: empty data
 * (https://github.com/Growth-Circle/cadis/issues/362), heartbeats that are no JSON
 * (https://github.com/aaif-goose/goose/pull/11816). A `[DONE]` may have spaces around it, a list holds events
 * (Gemini's errors), and so do lines that no blank line parted. Anything else is the answer's failure.
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
      if (isJsonObject(event)) decoder.push(event, frame.event, emit);
      else readOdd(event, frame, { decoder, emit });
    },
    end: (emit) => decoder.end(emit),
  });
}

interface Reading {
  readonly decoder: EventDecoder;
  readonly emit: Emit<AnswerEvent>;
}

/** Reads a frame whose data is not one object. */
function readOdd(
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
  } else if (!isSilence(value, text)) {
    emit(brokenEvent("The provider sent an event that is no JSON object"));
  }
}

/** The events of several lines, each of them by itself; none where there is one line, or one is no event. */
function eventsIn(text: string): JsonValue[] {
  const events: JsonValue[] = [];
  const lines = text.includes("\n") ? text.split("\n") : [];
  for (const line of lines.map((line) => line.trim())) {
    if (line === "") continue;
    const event = line === DONE ? DONE : parseJson(line);
    // To fail to parse takes long, and there may be many lines.
    if (event === undefined || !isEventOrDone(event)) return [];
    events.push(event);
  }
  return events;
}

function isEventOrDone(event: JsonValue): boolean {
  return isJsonObject(event) || event === DONE;
}

function isSilence(value: JsonValue | undefined, text: string): boolean {
  if (value === undefined) return text === "" || HEARTBEAT_REGEXP.test(text);
  return value === null || typeof value === "string";
}
