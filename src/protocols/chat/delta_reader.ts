import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import type { Emit } from "../../core/stage.ts";
import type { AnswerEvent } from "../canonical/event.ts";
import type { BlockWriter } from "./block_writer.ts";
import { decodeCitation } from "./citation.ts";
import { thinkingText } from "./part_decode.ts";
import { type DetailsGatherer, textOfDetails } from "./reasoning_details.ts";
import type { ToolCallTracker } from "./tool_call_tracker.ts";

/** Where the pieces of a delta go. */
export interface DeltaSinks {
  readonly writer: BlockWriter;
  readonly details: DetailsGatherer;
  readonly calls: ToolCallTracker;
}

/** Reads a `delta`, or a `message`, which has the same fields. */
export function readDelta(
  delta: JsonObject,
  sinks: DeltaSinks,
  emit: Emit<AnswerEvent>,
): void {
  readReasoning(delta, sinks, emit);
  readContent(delta.content, sinks.writer, emit);
  sinks.writer.say("refusal", delta.refusal, emit);
  for (const annotation of listOf(delta.annotations)) {
    if (isJsonObject(annotation)) {
      sinks.writer.cite(decodeCitation(annotation), emit);
    }
  }
  readCalls(delta, sinks.calls, emit);
}

function readReasoning(
  delta: JsonObject,
  sinks: DeltaSinks,
  emit: Emit<AnswerEvent>,
): void {
  const { reasoning_content, reasoning, reasoning_text } = delta;
  const details = listOf(delta.reasoning_details);
  const text = [reasoning_content, reasoning, reasoning_text]
    .find((one) => typeof one === "string" && one !== "");
  sinks.writer.say("reasoning", text ?? textOfDetails(details), emit);
  sinks.details.push(details);
}

/** Text; parts, as Mistral sends thoughts; an object where JSON was asked for (Cloudflare). */
function readContent(
  content: JsonValue | undefined,
  writer: BlockWriter,
  emit: Emit<AnswerEvent>,
): void {
  if (typeof content === "string") return writer.say("text", content, emit);
  if (isJsonObject(content)) {
    return writer.say("text", JSON.stringify(content), emit);
  }
  for (const part of listOf(content)) {
    if (!isJsonObject(part)) continue;
    if (part.type === "thinking") {
      writer.say("reasoning", thinkingText(part.thinking), emit);
    } else if (part.type === "refusal") {
      writer.say("refusal", part.refusal, emit);
    } else writer.say("text", part.text, emit);
  }
}

function readCalls(
  delta: JsonObject,
  calls: ToolCallTracker,
  emit: Emit<AnswerEvent>,
): void {
  for (const entry of listOf(delta.tool_calls)) {
    if (isJsonObject(entry)) calls.push(entry, emit);
  }
  const legacy = delta.function_call;
  if (isJsonObject(legacy)) calls.push({ index: 0, function: legacy }, emit);
}

const NOTHING: readonly JsonValue[] = [];

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : NOTHING;
}
