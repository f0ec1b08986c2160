import type { JsonObject } from "@gateway/base/json";
import { ENDPOINT_NAMES } from "@gateway/base/protocol";
import { type Ask, freshResults, promptOf, type Turn } from "./ask.ts";
import { callInput, exampleOf, toolsToCall } from "./schema_example.ts";
import type { Usage } from "@gateway/codecs";
import type { Script, ScriptBlock } from "./script.ts";

/** The longest quote of a prompt or of a tool result in an answer, in characters. */
const MAX_QUOTE_LENGTH = 400;

/** The longest answer to "write N words", in words. */
const MAX_WORDS = 20_000;

/**
 * Composes the answer to a request; equal requests get equal answers. The answer to a prompt quotes it, and names the
 * model, the family and the protocol. The answer to "write 500 words" has 500 words. A tool that the prompt names is
 * called, and its result is quoted. A request for JSON gets JSON of its schema.
 */
export function compose(ask: Ask): Script {
  if (ask.isCompaction) return composeCompaction(ask);
  const answer = answerBlocks(ask);
  const isWithReasoning = ask.reasoning !== "none";
  const blocks: ScriptBlock[] = isWithReasoning
    ? [reasoningBlock(ask, answer), ...answer]
    : answer;
  const kept = cut(blocks, ask);
  return { ...kept, usage: measure(ask, kept.blocks) };
}

/** Compacts the conversation into one block. */
export function composeCompaction(ask: Ask): Script {
  const users = ask.turns.filter((turn) => turn.role === "user");
  const text =
    `The conversation so far: ${ask.turns.length} turns, ${users.length} of the user. Last asked: "${
      quote(promptOf(ask))
    }".`;
  const blocks: ScriptBlock[] = [{ kind: "compaction", text }];
  return { blocks, stop: { reason: "end" }, usage: measure(ask, blocks) };
}

function answerBlocks(ask: Ask): ScriptBlock[] {
  const prompt = promptOf(ask);
  const calls: ScriptBlock[] = toolsToCall(ask).map((tool) => ({
    kind: "call",
    tool,
    input: callInput(tool, prompt),
  }));
  return calls.length > 0 ? calls : [{ kind: "text", text: answerText(ask) }];
}

/** Matches the question of Claude Code's auto mode (2.1.330) whether an action is to be blocked. */
const ACTION_CHECK_REGEXP = /<\/transcript>[^]*<block>/;

const ALLOWED = "<block>no</block>";

function answerText(ask: Ask): string {
  if (ask.format !== undefined) return jsonText(ask, ask.format.schema);
  const results = freshResults(ask);
  if (results.length > 0) return resultsText(ask, results);
  if (ACTION_CHECK_REGEXP.test(promptOf(ask))) return ALLOWED;
  const wanted = wordsWanted(promptOf(ask));
  return wanted === undefined ? echoText(ask) : longText(wanted);
}

function echoText(ask: Ask): string {
  const prompt = promptOf(ask);
  const opening = prompt === ""
    ? "You said nothing."
    : `You said: "${quote(prompt)}".`;
  return `${opening} ${signature(ask)}`;
}

function resultsText(
  ask: Ask,
  results: readonly { readonly name: string; readonly text: string }[],
): string {
  const sentences = results.map(({ name, text }) =>
    `The tool ${name} returned: ${text === "" ? "nothing" : quote(text)}.`
  );
  return `${sentences.join(" ")} ${signature(ask)}`;
}

function signature(ask: Ask): string {
  return `This is ${ask.model} of the simulated family ${ask.family}, answering over ${
    ENDPOINT_NAMES[ask.protocol]
  }; no real model was asked.`;
}

function jsonText(ask: Ask, schema: JsonObject | undefined): string {
  if (schema !== undefined) return JSON.stringify(exampleOf(schema));
  return JSON.stringify({ answer: echoText(ask) });
}

function wordsWanted(prompt: string): number | undefined {
  const digits = prompt.match(/\b(\d{1,6}) words\b/i)?.[1];
  return digits === undefined ? undefined : Math.min(Number(digits), MAX_WORDS);
}

const WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight"];

function longText(count: number): string {
  const words = Array.from(
    { length: count },
    (_, index) => WORDS[index % WORDS.length],
  );
  return words.join(" ");
}

function reasoningBlock(ask: Ask, answer: readonly ScriptBlock[]): ScriptBlock {
  const call = answer.find((block) => block.kind === "call");
  const plan = call === undefined
    ? "I answer with what I know."
    : `I call the tool ${call.tool.name}.`;
  return {
    kind: "reasoning",
    text: `The user said: "${quote(promptOf(ask))}". ${plan}`,
    isShown: ask.reasoning === "shown",
  };
}

function quote(text: string): string {
  const characters = Array.from(text);
  return characters.length <= MAX_QUOTE_LENGTH
    ? text
    : `${characters.slice(0, MAX_QUOTE_LENGTH).join("")}…`;
}

type Cut = Pick<Script, "blocks" | "stop">;

/**
 * Cuts an answer at the first stop sequence of its text, which is left out, or earlier at the token limit. A tool call
 * that does not fit is left out as a whole.
 */
function cut(
  blocks: readonly ScriptBlock[],
  limits: Pick<Ask, "maxOutputTokens" | "stopSequences">,
): Cut {
  const atSequence = cutAtSequence(blocks, limits.stopSequences);
  const { maxOutputTokens } = limits;
  return maxOutputTokens === undefined
    ? atSequence
    : cutAtLength(atSequence, maxOutputTokens);
}

function cutAtSequence(
  blocks: readonly ScriptBlock[],
  sequences: readonly string[],
): Cut {
  const kept: ScriptBlock[] = [];
  for (const block of blocks) {
    const hit = block.kind === "text"
      ? firstHit(block.text, sequences)
      : undefined;
    if (hit === undefined) {
      kept.push(block);
      continue;
    }
    if (hit.before !== "") kept.push({ kind: "text", text: hit.before });
    const { sequence } = hit;
    return { blocks: kept, stop: { reason: "stop_sequence", sequence } };
  }
  const isCalling = kept.some((block) => block.kind === "call");
  return {
    blocks: kept,
    stop: { reason: isCalling ? "tool_calls" : "end" },
  };
}

function firstHit(
  text: string,
  sequences: readonly string[],
): { before: string; sequence: string } | undefined {
  const hits = sequences
    .map((sequence) => ({ index: text.indexOf(sequence), sequence }))
    .filter((hit) => hit.sequence !== "" && hit.index >= 0)
    .sort((one, other) => one.index - other.index);
  const [first] = hits;
  return first === undefined
    ? undefined
    : { before: text.slice(0, first.index), sequence: first.sequence };
}

function cutAtLength(whole: Cut, maxTokens: number): Cut {
  const kept: ScriptBlock[] = [];
  let left = maxTokens;
  for (const block of whole.blocks) {
    const tokens = blockTokens(block);
    if (tokens > left) {
      return {
        blocks: [...kept, ...headOf(block, left)],
        stop: { reason: "max_tokens" },
      };
    }
    kept.push(block);
    left -= tokens;
  }
  return whole;
}

/** Returns the part of `block` that fits in `tokens`; nothing of a call, whose input must stay whole. */
function headOf(block: ScriptBlock, tokens: number): ScriptBlock[] {
  if (block.kind === "call" || tokens === 0) return [];
  const text = block.text.slice(0, tokens * UNITS_PER_TOKEN)
    .replace(/[\uD800-\uDBFF]$/, "");
  return [{ ...block, text }];
}

/** The size of a token in the demo, in UTF-16 units; counts are rounded up. */
const UNITS_PER_TOKEN = 4;

/** The tokens of an image or a file of any size. */
const TOKENS_PER_ATTACHMENT = 256;

/** The tokens of a turn in addition to its text. */
const TOKENS_PER_TURN = 3;

/** Returns the tokens of `text`; 0 for the empty string. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / UNITS_PER_TOKEN);
}

/** Returns the input tokens of a request: turns, attachments and tools. */
export function inputTokens(ask: Ask): number {
  return sum(ask.turns.map(turnTokens)) + toolTokens(ask);
}

function toolTokens({ tools }: Ask): number {
  return sum(tools.map((tool) =>
    estimateTokens(
      tool.name + tool.description + JSON.stringify(tool.schema),
    )
  ));
}

/**
 * Counts the tokens of one exchange from its real lengths. The tools and the turns before the last assistant turn were
 * sent before, so they count as read from the provider's cache.
 */
function measure(ask: Ask, blocks: readonly ScriptBlock[]): Usage {
  const last = ask.turns.findLastIndex((turn) => turn.role === "assistant");
  const reasoning = blocks.filter((block) => block.kind === "reasoning");
  return {
    inputTokens: inputTokens(ask),
    cachedInputTokens: last === -1
      ? 0
      : toolTokens(ask) + sum(ask.turns.slice(0, last).map(turnTokens)),
    outputTokens: sum(blocks.map(blockTokens)),
    reasoningTokens: sum(reasoning.map(blockTokens)),
  };
}

/** Returns the tokens of one block of an answer. */
function blockTokens(block: ScriptBlock): number {
  return block.kind === "call"
    ? estimateTokens(block.tool.name + block.input)
    : estimateTokens(block.text);
}

function turnTokens(turn: Turn): number {
  const names = turn.calls.map((call) => estimateTokens(call.name));
  return TOKENS_PER_TURN + sum(turn.texts.map(estimateTokens)) + sum(names) +
    turn.attachmentCount * TOKENS_PER_ATTACHMENT;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
