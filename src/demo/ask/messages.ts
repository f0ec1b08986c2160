import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import type {
  AskOfBody,
  JsonFormat,
  ReasoningMode,
  Tool,
  ToolChoice,
} from "./ask.ts";
import { listOf, numberOf, objectOf, objectsOf, textOf } from "./fields.ts";
import { isThinkingModel } from "../models.ts";
import { invalid, Refusal } from "../refusal.ts";
import { readMessagesTurns } from "./messages_turns.ts";

/** Fields of the other protocols; one in a Messages request means that a translation left it standing. */
const FOREIGN_FIELDS = [
  "frequency_penalty",
  "include",
  "input",
  "instructions",
  "logprobs",
  "max_completion_tokens",
  "max_output_tokens",
  "n",
  "parallel_tool_calls",
  "presence_penalty",
  "reasoning",
  "reasoning_effort",
  "response_format",
  "seed",
  "stop",
  "stream_options",
  "text",
  "user",
];

const MIN_THINKING_BUDGET = 1024;

const NAME_REGEXP = /^[a-zA-Z0-9_-]{1,128}$/;

/**
 * Reads a Messages request, or a request to count its tokens, as a provider would.
 *
 * @param options.isCount Whether tokens are only counted: `max_tokens` may be missing then.
 * @throws {Refusal} When a field is missing, wrong or not of this protocol, a thinking block is not the
 * provider's own, or calls and results do not pair up.
 */
export function readMessagesAsk(
  body: JsonObject,
  options: { readonly isCount: boolean },
): AskOfBody {
  refuseForeignFields(body);
  refuseThread(body);
  if (!options.isCount) checkLimits(body);
  const turns = readMessagesTurns(body);
  const choice = objectOf(body.tool_choice);
  return {
    isStream: body.stream === true,
    turns,
    tools: objectsOf(body.tools).flatMap(readTool),
    toolChoice: readToolChoice(body.tool_choice),
    mayCallInParallel: choice.disable_parallel_tool_use !== true,
    reasoning: readReasoning(body),
    maxOutputTokens: numberOf(body.max_tokens),
    stopSequences: listOf(body.stop_sequences).map(textOf),
    format: readFormat(objectOf(objectOf(body.output_config).format)),
    isCompaction: false,
  };
}

function refuseForeignFields(body: JsonObject): void {
  const found = FOREIGN_FIELDS.find((name) => body[name] !== undefined);
  if (found !== undefined) {
    throw invalid(`${found}: Extra inputs are not permitted`);
  }
}

/** The demo keeps no conversations; told so in this way, the SDKs send theirs whole. */
function refuseThread({ thread }: JsonObject): void {
  if (!isJsonObject(thread)) return;
  throw new Refusal("invalid", "thread: This model does not keep threads", {
    errorCode: "thread_unsupported_request",
  });
}

function checkLimits(body: JsonObject): void {
  const maxTokens = numberOf(body.max_tokens);
  if (maxTokens === undefined) throw invalid("max_tokens: Field required");
  if (maxTokens < 1) {
    throw invalid("max_tokens: Input should be greater than or equal to 1");
  }
  const { type, budget_tokens } = objectOf(body.thinking);
  if (type !== "enabled") return;
  const budget = numberOf(budget_tokens) ?? 0;
  if (budget < MIN_THINKING_BUDGET) {
    throw invalid(
      `thinking.enabled.budget_tokens: Input should be greater than or equal to ${MIN_THINKING_BUDGET}`,
    );
  }
  if (budget >= maxTokens) {
    throw invalid(
      "`max_tokens` must be greater than `thinking.budget_tokens`",
    );
  }
}

/** Tools with a `type` of their own run at the provider; the demo has none to run. */
function readTool(tool: JsonObject, index: number): Tool[] {
  if (tool.type !== undefined && tool.type !== "custom") return [];
  const name = textOf(tool.name);
  if (!NAME_REGEXP.test(name)) {
    throw invalid(
      `tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`,
    );
  }
  if (objectOf(tool.input_schema).type !== "object") {
    throw invalid(
      `tools.${index}.custom.input_schema.type: Input should be 'object'`,
    );
  }
  return [{
    kind: "function",
    name,
    namespace: undefined,
    description: textOf(tool.description),
    schema: objectOf(tool.input_schema),
  }];
}

function readToolChoice(choice: JsonValue | undefined): ToolChoice {
  if (choice === undefined) return { mode: "auto", names: undefined };
  const { type, name } = objectOf(choice);
  switch (type) {
    case "auto":
    case "none":
      return { mode: type, names: undefined };
    case "any":
      return { mode: "required", names: undefined };
    case "tool":
      return { mode: "required", names: [textOf(name)] };
    default:
      throw invalid(
        "tool_choice: Input should be an object with the type 'auto', 'any', 'tool' or 'none'",
      );
  }
}

function readReasoning(body: JsonObject): ReasoningMode {
  const { type, display } = objectOf(body.thinking);
  if (type === "disabled") return "none";
  if (type === undefined && !isThinkingModel(textOf(body.model))) return "none";
  return display === "omitted" ? "hidden" : "shown";
}

function readFormat(format: JsonObject): JsonFormat | undefined {
  return format.type === "json_schema"
    ? { schema: objectOf(format.schema) }
    : undefined;
}
