import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/core/json.ts";
import { objectOf, objectsOf, textOf } from "../../../src/demo/ask/ask.ts";
import {
  lastText,
  type RecordedCall,
  type RecordedWords,
} from "./recorded_words.ts";

/** The first choice, whole or in the deltas that make it up; Copilot splits it over several without an index. */
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
      // The way of before the tools; some tell it empty beside them.
      ...(textOf(objectOf(function_call).name) === ""
        ? []
        : [{ function: objectOf(function_call) }]),
    ])),
    finish: lastText(choices.map(({ finish_reason }) => finish_reason)),
  };
}

/** A list of parts, of which those of text are shown; or the object that was asked for (Cloudflare). */
function contentText(content: JsonValue | undefined): string {
  if (isJsonObject(content)) return JSON.stringify(content);
  return textOf(content) +
    objectsOf(content).map(({ text }) => textOf(text)).join("");
}

/** Several fields may tell the same. */
function chatReasoning(message: JsonObject): string {
  const details = objectsOf(message.reasoning_details)
    .map(({ text, summary }) => textOf(text ?? summary));
  const parts = objectsOf(message.content)
    .flatMap(({ thinking }) => objectsOf(thinking))
    .map(({ text }) => textOf(text));
  return textOf(message.reasoning_content) || textOf(message.reasoning) ||
    textOf(message.reasoning_text) || details.join("") || parts.join("");
}

/** A call of which not all has come. */
interface OpenCall {
  readonly index: JsonValue | undefined;
  readonly id: string;
  name: string;
  input: string;
  isCustom: boolean;
}

/** Puts calls together from their pieces: one begins with a new index, or with a new id. */
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
