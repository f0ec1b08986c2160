import {
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
} from "../../../src/base/json.ts";
import { textOf } from "../upstream/strict_provider/ask.ts";
import {
  jsonText,
  type RecordedCall,
  type RecordedWords,
} from "./recorded_words.ts";

/** Reads the items of an answer. Some streams list them only in their `done` events. */
export function readResponses(
  objects: readonly JsonObject[],
  streamed: boolean,
): RecordedWords | undefined {
  const answer = streamed
    ? objectOf(objects.at(-1)?.response)
    : objects[0] ?? {};
  if (/^(queued|in_progress|cancelled)$/.test(textOf(answer.status))) {
    return undefined;
  }
  const listed = objectsOf(answer.output);
  const done = objects.filter(({ type }) =>
    type === "response.output_item.done"
  ).map(({ item }) => objectOf(item));
  const items = listed.length > 0 ? listed : done;
  const parts = items.filter(({ type }) => type === "message")
    .flatMap(({ content }) => objectsOf(content));
  const thoughts = items.filter(({ type }) => type === "reasoning");
  return {
    text: parts.map(({ text }) => textOf(text)).join(""),
    refusal: parts.map(({ refusal }) => textOf(refusal)).join(""),
    reasoning: thoughts.flatMap(({ summary, content }) => [
      ...objectsOf(summary),
      ...objectsOf(content),
    ]).map(({ text }) => textOf(text)).join(""),
    calls: items.flatMap((item) => responsesCall(item, items)),
    finish: textOf(objectOf(answer.incomplete_details).reason) ||
      textOf(answer.status),
  };
}

/**
 * Returns a call that the client must run. The output of a provider's own shell is already in the
 * answer.
 */
function responsesCall(
  item: JsonObject,
  items: readonly JsonObject[],
): RecordedCall[] {
  const call = (name: JsonValue | undefined, input: JsonValue | undefined) => [{
    name: textOf(name),
    input: jsonText(input),
    isCustom: item.type === "custom_tool_call",
  }];
  switch (item.type) {
    case "function_call":
      return call(item.name, item.arguments);
    case "custom_tool_call":
      return call(item.name, item.input);
    case "local_shell_call": {
      const { type: _, ...action } = objectOf(item.action);
      return call("local_shell", action);
    }
    case "apply_patch_call":
      return call("apply_patch", item.operation);
    case "shell_call":
      return items.some(({ type, call_id }) =>
          type === "shell_call_output" && call_id === item.call_id
        )
        ? []
        : call("shell", item.action);
    default:
      return [];
  }
}
