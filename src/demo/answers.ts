import type { JsonObject } from "../core/json.ts";
import { ENDPOINT_NAMES } from "../core/protocol.ts";
import { type Ask, freshResults, promptOf, type Turn } from "./ask/ask.ts";
import { callInput, exampleOf, toolsToCall } from "./schema_example.ts";
import type { Block, Script, Usage } from "./script.ts";

/** How much of a prompt or of a tool's result an answer quotes, in characters. */
const MAX_QUOTE_LENGTH = 400;

/** The longest text that "write N words" brings. */
const MAX_WORDS = 20_000;

/**
 * What the demo says to a request; the same for the same request. A question gets a text that quotes it
 * and names the model, family and protocol that answered; "write 500 words" gets 500 words; a tool that
 * is asked for is called; the result of a tool is quoted; where JSON is demanded, JSON of the schema.
 */
export function compose(ask: Ask): Script {
  if (ask.isCompaction) return composeCompaction(ask);
  const answer = answerBlocks(ask);
  const isWithReasoning = ask.reasoning !== "none";
  const blocks: Block[] = isWithReasoning
    ? [reasoningBlock(ask, answer), ...answer]
    : answer;
  const kept = cut(blocks, ask);
  return {
    blocks: kept.blocks,
    stop: kept.stop,
    stopSequence: kept.stopSequence,
    usage: measure(ask, kept.blocks),
  };
}

/** The conversation folded into one block that stands for it. */
export function composeCompaction(ask: Ask): Script {
  const users = ask.turns.filter((turn) => turn.role === "user");
  const text =
    `The conversation so far: ${ask.turns.length} turns, ${users.length} of the user. Last asked: "${
      quote(promptOf(ask))
    }".`;
  const blocks: Block[] = [{ kind: "compaction", text }];
  return {
    blocks,
    stop: "end",
    stopSequence: undefined,
    usage: measure(ask, blocks),
  };
}

function answerBlocks(ask: Ask): Block[] {
  const prompt = promptOf(ask);
  const calls: Block[] = toolsToCall(ask).map((tool) => ({
    kind: "call",
    tool,
    input: callInput(tool, prompt),
  }));
  return calls.length > 0 ? calls : [{ kind: "text", text: answerText(ask) }];
}

function answerText(ask: Ask): string {
  if (ask.format !== undefined) return jsonText(ask, ask.format.schema);
  const results = freshResults(ask);
  if (results.length > 0) return resultsText(ask, results);
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

function reasoningBlock(ask: Ask, answer: readonly Block[]): Block {
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

type Cut = Pick<Script, "blocks" | "stop" | "stopSequence">;

/**
 * Ends an answer where the request says: at the first stop sequence of its text, which is left out, and
 * at its token limit, whichever comes first. A tool call that does not fit is left out as a whole.
 */
function cut(
  blocks: readonly Block[],
  limits: Pick<Ask, "maxOutputTokens" | "stopSequences">,
): Cut {
  const atSequence = cutAtSequence(blocks, limits.stopSequences);
  const { maxOutputTokens } = limits;
  return maxOutputTokens === undefined
    ? atSequence
    : cutAtLength(atSequence, maxOutputTokens);
}

function cutAtSequence(
  blocks: readonly Block[],
  sequences: readonly string[],
): Cut {
  const kept: Block[] = [];
  for (const block of blocks) {
    const hit = block.kind === "text"
      ? firstHit(block.text, sequences)
      : undefined;
    if (hit === undefined) {
      kept.push(block);
      continue;
    }
    if (hit.before !== "") kept.push({ kind: "text", text: hit.before });
    return { blocks: kept, stop: "sequence", stopSequence: hit.sequence };
  }
  const isCalling = kept.some((block) => block.kind === "call");
  return {
    blocks: kept,
    stop: isCalling ? "call" : "end",
    stopSequence: undefined,
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
  const kept: Block[] = [];
  let left = maxTokens;
  for (const block of whole.blocks) {
    const tokens = blockTokens(block);
    if (tokens > left) {
      return {
        blocks: [...kept, ...headOf(block, left)],
        stop: "length",
        stopSequence: undefined,
      };
    }
    kept.push(block);
    left -= tokens;
  }
  return whole;
}

/** The part of `block` that fits in `tokens`; nothing of a call, whose input must stay whole. */
function headOf(block: Block, tokens: number): Block[] {
  if (block.kind === "call" || tokens === 0) return [];
  const text = block.text.slice(0, tokens * UNITS_PER_TOKEN)
    .replace(/[\uD800-\uDBFF]$/, "");
  return [{ ...block, text }];
}

/** The demo's stand-in for a tokeniser: every four UTF-16 units, rounded up, are one token. */
export const UNITS_PER_TOKEN = 4;

/** What an image or a file counts, whatever its size. */
const TOKENS_PER_ATTACHMENT = 256;

/** What the frame of a turn counts, beside its text. */
const TOKENS_PER_TURN = 3;

/** The tokens of `text`; 0 for the empty string. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / UNITS_PER_TOKEN);
}

/** The tokens that a request costs to read: turns, attachments and declared tools. */
export function inputTokens(ask: Ask): number {
  const tools = ask.tools.map((tool) =>
    estimateTokens(
      tool.name + tool.description + JSON.stringify(tool.schema),
    )
  );
  return sum(ask.turns.map(turnTokens)) + sum(tools);
}

/**
 * The tokens of one exchange, from the real lengths. What stands before the last assistant turn was sent
 * before, so it counts as read from the provider's cache.
 */
export function measure(ask: Ask, blocks: readonly Block[]): Usage {
  const last = ask.turns.findLastIndex((turn) => turn.role === "assistant");
  const reasoning = blocks.filter((block) => block.kind === "reasoning");
  return {
    inputTokens: inputTokens(ask),
    cachedTokens: sum(ask.turns.slice(0, Math.max(last, 0)).map(turnTokens)),
    outputTokens: sum(blocks.map(blockTokens)),
    reasoningTokens: sum(reasoning.map(blockTokens)),
  };
}

/** The tokens of one piece of an answer. */
export function blockTokens(block: Block): number {
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
