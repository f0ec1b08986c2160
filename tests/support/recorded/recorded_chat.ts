import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
} from "../../../src/base/json.ts";
import { textOf } from "../upstream/strict_provider/ask.ts";
import {
  lastText,
  type RecordedCall,
  type RecordedWords,
} from "./recorded_words.ts";

/**
 * Reads the first choice, whole or in deltas. Copilot splits it over several choices without an
 * index.
 */
export function readChat(
  objects: readonly JsonObject[],
  streamed: boolean,
): RecordedWords | undefined {
  const choices = objects.flatMap(({ choices }) => objectsOf(choices))
    .filter(({ index }) => (index ?? 0) === 0);
  if (choices.length === 0) return undefined;
  const messages = choices.map(({ delta, message }) =>
    objectOf(streamed ? delta : message)
  );
  return {
    text: messages.map(({ content }) => contentText(content)).join(""),
    refusal: messages.map(({ refusal }) => textOf(refusal)).join(""),
    reasoning: messages.map(chatReasoning).join(""),
    calls: joinCalls(messages.flatMap(({ tool_calls, function_call }) => [
      ...objectsOf(tool_calls),
      // The older field for calls. Some providers add an empty one beside `tool_calls`.
      ...(textOf(objectOf(function_call).name) === ""
        ? []
        : [{ function: objectOf(function_call) }]),
    ])),
    finish: lastText(choices.map(({ finish_reason }) => finish_reason)),
  };
}

/**
 * Joins the text parts of a list; or writes the object that the request asked for (Cloudflare) as
 * JSON.
 */
function contentText(content: JsonValue | undefined): string {
  if (isJsonObject(content)) return JSON.stringify(content);
  return textOf(content) +
    objectsOf(content).map(({ text }) => textOf(text)).join("");
}

/** Several fields may hold the same reasoning. */
function chatReasoning(message: JsonObject): string {
  const details = objectsOf(message.reasoning_details)
    .map(({ text, summary }) => textOf(text ?? summary));
  const parts = objectsOf(message.content)
    .flatMap(({ thinking }) => objectsOf(thinking))
    .map(({ text }) => textOf(text));
  return textOf(message.reasoning_content) || textOf(message.reasoning) ||
    textOf(message.reasoning_text) || details.join("") || parts.join("");
}

/** A call that is still incomplete. */
interface OpenCall {
  readonly index: JsonValue | undefined;
  readonly id: string;
  name: string;
  input: string;
  isCustom: boolean;
}

/** Joins the chunks of each call. A new index or a new id begins a call. */
function joinCalls(pieces: readonly JsonObject[]): RecordedCall[] {
  const calls: OpenCall[] = [];
  for (const { index, id: given, function: ours, custom } of pieces) {
    const id = textOf(given);
    const last = index === undefined
      ? calls.at(-1)
      : calls.findLast((call) => call.index === index);
    const goesOn = last !== undefined && (id === "" || id === last.id);
    const call = goesOn
      ? last
      : { index, id, name: "", input: "", isCustom: false };
    if (!goesOn) calls.push(call);
    const { name, arguments: json, input } = objectOf(ours ?? custom);
    call.name ||= textOf(name);
    call.input += textOf(json ?? input);
    call.isCustom ||= isJsonObject(custom);
  }
  return calls.map(({ name, input, isCustom }) => ({ name, input, isCustom }));
}
