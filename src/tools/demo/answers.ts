import { ENDPOINT_NAMES } from "@gateway/base/protocol";
import type { Usage } from "@gateway/codecs";
import { isThinkingModel, type SimulatedOperation } from "./providers.ts";
import { exampleOf } from "./schema_example.ts";
import {
  type Ask,
  type Block,
  freshResults,
  promptOf,
  type Script,
  type ScriptBlock,
} from "./script.ts";
import { callableTools, callInput, toolsToCall } from "./tool_calls.ts";

/** The longest quote of a prompt or of a tool result in an answer, in characters. */
const MAX_QUOTE_LENGTH = 400;

/** The longest answer to "write N words", in words. */
const MAX_WORDS = 20_000;

/**
 * Composes the answer to a request; equal requests get equal answers. The answer to a prompt quotes the prompt, and
 * names the model, the family and the protocol. The answer to "write 500 words" has 500 words. A tool that the prompt
 * names is called, and the tool's result is quoted. A request for JSON gets JSON that satisfies its schema. A request
 * for compaction gets one block.
 */
export function compose(operation: SimulatedOperation, ask: Ask): Script {
  if (operation === "count_tokens") return scriptOf(ask, []);
  const last = ask.turns.at(-1)?.blocks.at(-1);
  if (last?.kind === "opaque" && last.type === "compaction_trigger") {
    return scriptOf(ask, [{ kind: "text", text: summaryOf(ask) }]);
  }
  const answer = answerBlocks(ask);
  const kept = cut([...reasoningBlocks(ask, answer), ...answer], ask);
  return { ...kept, usage: measure(ask, kept.blocks) };
}

function scriptOf(ask: Ask, blocks: readonly ScriptBlock[]): Script {
  return { blocks, stop: { reason: "end" }, usage: measure(ask, blocks) };
}

function summaryOf(ask: Ask): string {
  const turns = turnsOf(ask);
  const users = turns.filter(({ role }) => role === "user");
  return `The conversation so far: ${turns.length} turns, ${users.length} of the user. Last asked: "${
    quote(promptOf(ask))
  }".`;
}

/**
 * Returns the turns with content. A turn that consists only of items of the protocol, such as a list of tools, is left
 * out.
 */
function turnsOf({ turns }: Ask): Ask["turns"] {
  return turns.filter(({ blocks }) =>
    blocks.some(({ kind }) => kind !== "opaque")
  );
}

function answerBlocks(ask: Ask): ScriptBlock[] {
  const prompt = promptOf(ask);
  const calls = toolsToCall(ask).map((tool): ScriptBlock => ({
    kind: tool.kind === "custom" ? "custom_call" : "function_call",
    text: callInput(tool, prompt),
    name: tool.name,
    namespace: tool.namespace,
  }));
  return calls.length > 0
    ? calls
    : [{ kind: "text", text: answerText(ask, prompt) }];
}

/** Matches the prompt in which Claude Code's auto mode (2.1.330) asks whether to block an action. */
const ACTION_CHECK_REGEXP = /<\/transcript>[^]*<block>/;

function answerText(ask: Ask, prompt: string): string {
  const said = prompt === ""
    ? "You said nothing."
    : `You said: "${quote(prompt)}".`;
  const signature =
    `This is ${ask.model} of the simulated family ${ask.family}, answering over ${
      ENDPOINT_NAMES[ask.protocol]
    }; no real model was asked.`;
  const { format } = ask;
  if (format !== undefined) {
    return JSON.stringify(
      format.type === "schema"
        ? exampleOf(format.schema)
        : { answer: `${said} ${signature}` },
    );
  }
  const results = freshResults(ask).map(({ name, text }) =>
    `The tool ${name} returned: ${text === "" ? "nothing" : quote(text)}.`
  );
  if (results.length > 0) return `${results.join(" ")} ${signature}`;
  if (ACTION_CHECK_REGEXP.test(prompt)) return "<block>no</block>";
  const count = prompt.match(/\b(\d{1,6}) words\b/i)?.[1];
  return count === undefined ? `${said} ${signature}` : Array.from(
    { length: Math.min(Number(count), MAX_WORDS) },
    (_, index) => WORDS[index % WORDS.length],
  ).join(" ");
}

const WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight"];

/**
 * Returns the reasoning before an answer; empty when the model does not reason. A Responses provider hides the
 * reasoning of a model without `think` in its name, unless the request asks for a summary.
 */
function reasoningBlocks(
  ask: Ask,
  [first]: readonly ScriptBlock[],
): ScriptBlock[] {
  const { mode, effort, summary } = ask.reasoning ?? {};
  const isThinking = isThinkingModel(ask.model);
  const isAsked = mode !== undefined || effort !== undefined ||
    summary !== undefined;
  if (mode === "off" || !isAsked && !isThinking) return [];
  const plan = first?.name === undefined
    ? "I answer with what I know."
    : `I call the tool ${first.name}.`;
  return [{
    kind: "reasoning",
    text: `The user said: "${quote(promptOf(ask))}". ${plan}`,
    isHidden: summary === "none" ||
      summary === undefined && ask.protocol === "responses" && !isThinking,
  }];
}

function quote(text: string): string {
  const characters = Array.from(text);
  return characters.length <= MAX_QUOTE_LENGTH
    ? text
    : `${characters.slice(0, MAX_QUOTE_LENGTH).join("")}…`;
}

/**
 * Cuts an answer before the first stop sequence in its text, or at the token limit if the limit comes first. A tool
 * call that exceeds the limit is left out as a whole.
 */
function cut(
  blocks: readonly ScriptBlock[],
  { maxOutputTokens = Infinity, stop = [] }: Ask,
): Pick<Script, "blocks" | "stop"> {
  const kept: ScriptBlock[] = [];
  let left = maxOutputTokens;
  for (const block of blocks) {
    const hit = block.kind === "text" ? firstHit(block.text, stop) : undefined;
    const whole = { ...block, text: block.text.slice(0, hit?.at) };
    const tokens = scriptTokens(whole);
    if (tokens > left) {
      const text = whole.text.slice(0, left * UNITS_PER_TOKEN)
        .replace(/[\uD800-\uDBFF]$/, "");
      if (left > 0 && block.name === undefined) kept.push({ ...block, text });
      return { blocks: kept, stop: { reason: "max_tokens" } };
    }
    left -= tokens;
    if (hit?.at !== 0) kept.push(whole);
    if (hit === undefined) continue;
    const { sequence } = hit;
    return { blocks: kept, stop: { reason: "stop_sequence", sequence } };
  }
  const isCalling = kept.some(({ name }) => name !== undefined);
  return {
    blocks: kept,
    stop: { reason: isCalling ? "tool_calls" : "end" },
  };
}

function firstHit(
  text: string,
  sequences: readonly string[],
): { readonly at: number; readonly sequence: string } | undefined {
  return sequences
    .map((sequence) => ({ at: text.indexOf(sequence), sequence }))
    .filter(({ at, sequence }) => sequence !== "" && at >= 0)
    .sort((one, other) => one.at - other.at)[0];
}

/** The number of UTF-16 units that the demo counts as one token. The tokens of a text are rounded up. */
const UNITS_PER_TOKEN = 4;

/** The tokens of an image or a file of any size. */
const TOKENS_PER_ATTACHMENT = 256;

/** The tokens of a turn, or of a tool's result, in addition to its text. */
const TOKENS_PER_TURN = 3;

/** Returns the tokens of `text`; 0 for the empty string. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / UNITS_PER_TOKEN);
}

/**
 * Counts the tokens of one exchange from the lengths of its texts. The tools and the turns before the last assistant
 * turn were part of an earlier request, so they count as read from the provider's cache.
 */
function measure(ask: Ask, blocks: readonly ScriptBlock[]): Usage {
  const turns = turnsOf(ask);
  const tools = sum(
    callableTools(ask.tools).map(({ name, description = "", schema }) =>
      estimateTokens(name + description + JSON.stringify(schema))
    ),
  );
  const last = turns.findLastIndex(({ role }) => role === "assistant");
  const reasoning = blocks.filter(({ kind }) => kind === "reasoning");
  return {
    inputTokens: sum(turns.map(turnTokens)) + tools,
    cachedInputTokens: last === -1
      ? 0
      : tools + sum(turns.slice(0, last).map(turnTokens)),
    outputTokens: sum(blocks.map(scriptTokens)),
    reasoningTokens: sum(reasoning.map(scriptTokens)),
  };
}

/** Returns the tokens of one block of an answer. */
function scriptTokens({ name = "", text }: ScriptBlock): number {
  return estimateTokens(name + text);
}

function turnTokens({ role, blocks }: Ask["turns"][number]): number {
  return (role === "tool" ? 0 : TOKENS_PER_TURN) + sum(blocks.map(blockTokens));
}

function blockTokens(block: Block): number {
  switch (block.kind) {
    case "text":
      return estimateTokens(block.text);
    case "function_call":
    case "custom_call":
      return estimateTokens(block.name);
    case "tool_result":
      return TOKENS_PER_TURN + sum(block.content.map(blockTokens));
    case "image":
    case "file":
    case "audio":
      return TOKENS_PER_ATTACHMENT;
    default:
      return 0;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
