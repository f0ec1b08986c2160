import { createHash } from "node:crypto";
import { isToolCall } from "../content/block.ts";
import type { Turn } from "../request/request.ts";

/** The ids of tool calls that a protocol or upstream accepts. */
interface IdRule {
  /** The longest id in characters; at least 16. */
  readonly maxLength: number;
  /** True when it may contain any character; if false, only `A-Z a-z 0-9 _ -`. */
  readonly anyCharacter?: boolean | undefined;
  /** True when it must begin with a letter, and may not contain `-`. */
  readonly isPlain?: boolean | undefined;
}

const LEGAL_REGEXP = /^[A-Za-z0-9_-]+$/;
const PLAIN_REGEXP = /^[A-Za-z]\w*$/;
const HASH_LENGTH = 8;

/**
 * Returns an id that fits `rule`: `id` itself when it is legal, else its legal characters and a hash of the whole id.
 * The hash keeps different ids different. The same input gives the same output, for calls and for their results.
 */
export function fitId(id: string, rule: IdRule): string {
  const isLegal = rule.anyCharacter === true ||
    (rule.isPlain ? PLAIN_REGEXP : LEGAL_REGEXP).test(id);
  if (id.length <= rule.maxLength && isLegal) return id;
  const hash = createHash("sha256").update(id).digest("hex").slice(
    0,
    HASH_LENGTH,
  );
  const legal = id.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const cleaned = rule.isPlain
    ? legal.replaceAll("-", "_").replace(/^[^A-Za-z]/, "t$&")
    : legal;
  return `${cleaned.slice(0, rule.maxLength - HASH_LENGTH - 1)}_${hash}`;
}

/** The rule for ids that callers of a protocol with few characters get. */
const CALLER_RULE = { maxLength: 128 };

/** The number of a call, a second number if the first was repeated, and the hash of {@linkcode fitId}. */
const FITTED_REGEXP = /_(\d+)(?:_(\d+))?_[0-9a-f]{8}$/;

/**
 * The prefixes of ids by models that count their calls: `functions.name:0`
 * (https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md).
 */
const PREFIXES = ["functions.", ""];

/**
 * Restores the model's own ids of calls and results when the caller's protocol required others. A model that counts
 * its calls stops calling tools when its history has foreign ids.
 *
 * @param turns A history in which each result directly follows its call.
 */
export function restoreNativeIds(turns: readonly Turn[]): readonly Turn[] {
  const ids = new Map<string, string>();
  return turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.map((block) => {
      if (isToolCall(block)) {
        const id = nativeId(block.id, block.name);
        ids.set(block.id, id);
        return { ...block, id };
      }
      return block.kind === "tool_result"
        ? { ...block, callId: ids.get(block.callId) ?? block.callId }
        : block;
    }),
  }));
}

/** Returns the model's own id. The hash in the fitted id confirms a guess; without a match the id stays the same. */
function nativeId(id: string, name: string): string {
  const [, first, second] = FITTED_REGEXP.exec(id) ?? [];
  if (first === undefined) return id;
  for (const prefix of PREFIXES) {
    const counted = `${prefix}${name}:${second ?? first}`;
    if (fitId(counted, CALLER_RULE) === id) return counted;
    const repeated = `${prefix}${name}:${first}`;
    if (fitId(`${repeated}#${second}`, CALLER_RULE) === id) return repeated;
  }
  return id;
}
