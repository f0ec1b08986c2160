import {
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
} from "../../../../src/base/json.ts";
import { type AskOfBody, numberOf, textOf } from "./ask.ts";
import { unseal } from "./seal.ts";
import { invalid } from "./error_shapes.ts";
import { claudeSchemaFault } from "../schema_rules.ts";
import { faultOfHistory } from "./history.ts";

/**
 * Fields of the other protocols. One of them in a Messages request is an error of the translation.
 */
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
 * Judges a Messages request, or a request to count its tokens.
 *
 * @throws {GatewayError} For a field of another protocol; a reasoning budget, tool, tool choice or block
 *   that Anthropic rejects; a thinking block that is not the provider's own; or calls and results
 *   that do not pair up.
 */
export function judgeMessages(body: JsonObject, ask: AskOfBody): void {
  refuseForeignFields(body);
  checkBudget(body);
  objectsOf(body.messages).forEach(checkMessage);
  const fault = faultOfHistory(ask.turns);
  if (fault !== undefined) {
    throw invalid(
      fault.kind === "unanswered"
        ? `messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${fault.callId}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
        : `messages: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${fault.callId}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    );
  }
  objectsOf(body.tools).forEach(checkTool);
  checkToolChoice(body.tool_choice);
}

function refuseForeignFields(body: JsonObject): void {
  const found = FOREIGN_FIELDS.find((name) => body[name] !== undefined);
  if (found !== undefined) {
    throw invalid(`${found}: Extra inputs are not permitted`);
  }
}

function checkBudget(body: JsonObject): void {
  const maxTokens = numberOf(body.max_tokens);
  const { type, budget_tokens } = objectOf(body.thinking);
  if (maxTokens === undefined || type !== "enabled") return;
  const budget = numberOf(budget_tokens) ?? 0;
  if (budget < MIN_THINKING_BUDGET) {
    throw invalid(
      `thinking.enabled.budget_tokens: Input should be greater than or equal to ${MIN_THINKING_BUDGET}`,
    );
  }
  if (budget >= maxTokens) {
    throw invalid("`max_tokens` must be greater than `thinking.budget_tokens`");
  }
}

function checkTool(tool: JsonObject, index: number): void {
  if (tool.type !== undefined && tool.type !== "custom") return;
  if (!NAME_REGEXP.test(textOf(tool.name))) {
    throw invalid(
      `tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`,
    );
  }
  const fault = claudeSchemaFault(objectOf(tool.input_schema));
  if (fault !== undefined) {
    throw invalid(`tools.${index}.custom.input_schema: ${fault}`);
  }
  if (objectOf(tool.input_schema).type !== "object") {
    throw invalid(
      `tools.${index}.custom.input_schema.type: Input should be 'object'`,
    );
  }
}

const TOOL_CHOICES = ["auto", "any", "tool", "none"];

function checkToolChoice(choice: JsonValue | undefined): void {
  if (choice === undefined) return;
  if (TOOL_CHOICES.includes(textOf(objectOf(choice).type))) return;
  throw invalid(
    "tool_choice: Input should be an object with the type 'auto', 'any', 'tool' or 'none'",
  );
}

function checkMessage({ role, content }: JsonObject, index: number): void {
  if (content === undefined || content === null) {
    throw invalid(`messages.${index}.content: Field required`);
  }
  const blocks = typeof content === "string"
    ? [{ type: "text", text: content }]
    : objectsOf(content);
  if (blocks.length === 0 && role === "user") {
    throw invalid(
      `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
    );
  }
  blocks.forEach((block, place) =>
    checkBlock(block, `messages.${index}.content.${place}`)
  );
}

const BLOCK_TYPES_REGEXP =
  /^(text|image|document|search_result|tool_use|tool_result|thinking|redacted_thinking|container_upload|compaction|server_tool_use|\w+_tool_result)$/;

function checkBlock(block: JsonObject, path: string): void {
  const type = textOf(block.type);
  if (!BLOCK_TYPES_REGEXP.test(type)) {
    throw invalid(`${path}: Input tag '${type}' found using 'type' is unknown`);
  }
  if (type === "text" && textOf(block.text) === "") {
    throw invalid(`${path}: text content blocks must be non-empty`);
  }
  if (type === "tool_use" && typeof block.input !== "object") {
    throw invalid(`${path}.tool_use.input: Input should be an object`);
  }
  if (type === "thinking" && !isOwnThinking(block)) {
    throw invalid(`${path}: Invalid \`signature\` in \`thinking\` block`);
  }
}

/**
 * Returns true for a block that the provider signed. A block whose text was omitted has the
 * signature alone.
 */
function isOwnThinking(block: JsonObject): boolean {
  const text = unseal(textOf(block.signature));
  const shown = textOf(block.thinking);
  return text !== undefined && (shown === "" || text.startsWith(shown));
}
