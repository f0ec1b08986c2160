import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import { textIn, type TextPlace } from "../../canonical/stream/event_parser.ts";

/** Texts of which a delta has one, as a rule. */
const TEXT_FIELDS = ["content", "reasoning_content", "reasoning"];

/** Where a chunk has text, reasoning or a piece of a call's arguments. */
export function textPlace({ choices }: JsonObject): TextPlace | undefined {
  const delta = firstOf(choices)?.delta;
  if (!isJsonObject(delta)) return undefined;
  return textIn(delta, TEXT_FIELDS) ??
    textIn(firstOf(delta.tool_calls)?.function, ["arguments"]);
}

function firstOf(list: JsonValue | undefined): JsonObject | undefined {
  const first = Array.isArray(list) ? list[0] : undefined;
  return isJsonObject(first) ? first : undefined;
}
