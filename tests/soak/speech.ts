import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { WIRES, WORDS } from "../support/wire/wire.ts";

/** Returns an answer as JSON text. */
export function jsonAnswer(
  protocol: Protocol,
  words: readonly string[],
): string {
  return put(JSON.stringify(WIRES[protocol].answer), words.join(""));
}

/** Returns the chunks of a streamed answer: the start, one chunk per word, the end. */
export function streamPieces(
  protocol: Protocol,
  words: readonly string[],
): string[] {
  const { start, output, end } = WIRES[protocol];
  return [
    start,
    ...words.map((word) => put(output, word)),
    put(end, words.join("")),
  ];
}

function put(text: string, words: string): string {
  return text.replaceAll(WORDS, () => JSON.stringify(words).slice(1, -1));
}

/** Returns the text in a JSON answer; `undefined` when there is none. */
export function textOfJson(
  protocol: Protocol,
  body: string,
): string | undefined {
  const found = at(parseJson(body), JSON_PLACES[protocol]);
  return typeof found === "string" ? found : undefined;
}

const JSON_PLACES: Readonly<Record<Protocol, readonly (string | number)[]>> = {
  chat: ["choices", 0, "message", "content"],
  messages: ["content", 0, "text"],
  responses: ["output", 0, "content", 0, "text"],
};

/** Returns the text of a stream, and whether the stream reached the end of its protocol. */
export function textOfStream(
  protocol: Protocol,
  body: string,
): { readonly text: string; readonly isWhole: boolean } {
  const values = body.split("\n").filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length));
  const events = values.map((value) => parseJson(value)).filter(isJsonObject);
  const text = events.map((event) => DELTAS[protocol](event))
    .filter((delta) => typeof delta === "string").join("");
  const isWhole = protocol === "chat"
    ? values.at(-1) === "[DONE]"
    : events.at(-1)?.type === LAST_EVENTS[protocol];
  return { text, isWhole };
}

const LAST_EVENTS = {
  messages: "message_stop",
  responses: "response.completed",
} as const;

const DELTAS: Readonly<Record<Protocol, (event: JsonObject) => unknown>> = {
  chat: (event) => at(event, ["choices", 0, "delta", "content"]),
  messages: (event) => at(event, ["delta", "text"]),
  responses: (event) =>
    event.type === "response.output_text.delta" ? event.delta : undefined,
};

function at(value: unknown, path: readonly (string | number)[]): unknown {
  let found = value;
  for (const key of path) {
    if (Array.isArray(found)) found = found[Number(key)];
    else if (isJsonObject(found)) found = found[key];
    else return undefined;
  }
  return found;
}
