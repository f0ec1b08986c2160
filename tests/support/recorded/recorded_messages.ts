import {
  type JsonObject,
  objectOf,
  objectsOf,
} from "../../../src/base/json.ts";
import { textOf } from "../upstream/strict_provider/ask.ts";
import { jsonText, lastText, type RecordedWords } from "./recorded_words.ts";

/** Reads the blocks of a message, or of its events. */
export function readMessages(
  objects: readonly JsonObject[],
  streamed: boolean,
): RecordedWords | undefined {
  const whole = objectOf(objects[0]).content;
  if (!streamed && !Array.isArray(whole)) return undefined;
  const blocks = streamed ? streamedBlocks(objects) : objectsOf(whole);
  const ofType = (wanted: string) =>
    blocks.filter(({ type }) => type === wanted);
  return {
    text: ofType("text").map(({ text }) => textOf(text)).join(""),
    refusal: "",
    reasoning: ofType("thinking").map(({ thinking }) => textOf(thinking))
      .join(""),
    calls: ofType("tool_use").map(({ name, input }) => ({
      name: textOf(name),
      input: jsonText(input),
      isCustom: false,
    })),
    finish: lastText(
      objects.map(({ delta, stop_reason }) =>
        objectOf(delta).stop_reason ?? stop_reason
      ),
    ),
  };
}

/** Joins the deltas of each block. */
function streamedBlocks(events: readonly JsonObject[]): JsonObject[] {
  const starts = events.filter(({ type }) => type === "content_block_start");
  return starts.map(({ index, content_block }) => {
    const block = objectOf(content_block);
    const deltas = events.filter((event) =>
      event.type === "content_block_delta" && event.index === index
    ).map(({ delta }) => objectOf(delta));
    const grown = (field: string) =>
      [block, ...deltas].map((one) => textOf(one[field])).join("");
    return {
      ...block,
      text: grown("text"),
      thinking: grown("thinking"),
      input: grown("partial_json") || block.input,
    };
  });
}
