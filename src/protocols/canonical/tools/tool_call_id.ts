import { createHash } from "node:crypto";
import { isToolCall } from "../content/block.ts";
import type { Turn } from "../request/request.ts";

/** What a protocol or upstream allows as the id of a tool call. */
export interface IdRule {
  /** Longest id in characters; at least 16. */
  readonly maxLength: number;
  /** Whether any character may stand in it; else only `A-Z a-z 0-9 _ -`. */
  readonly anyCharacter?: boolean | undefined;
}

const LEGAL_REGEXP = /^[A-Za-z0-9_-]+$/;
const HASH_LENGTH = 8;

/**
 * `id` as it may stand on the wire: unchanged when it is legal, else its legal characters and a hash of the
 * whole, so that two ids never become one. The same input gives the same output: use it for calls and for
 * their results.
 */
export function fitId(id: string, rule: IdRule): string {
  const isLegal = rule.anyCharacter === true || LEGAL_REGEXP.test(id);
  if (id.length <= rule.maxLength && isLegal) return id;
  const hash = createHash("sha256").update(id).digest("hex").slice(
    0,
    HASH_LENGTH,
  );
  const cleaned = id.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return `${cleaned.slice(0, rule.maxLength - HASH_LENGTH - 1)}_${hash}`;
}

/** The rule by which an id was fitted for a caller whose protocol takes few characters. */
const CALLERS_RULE = { maxLength: 128 };

/** The number of a call, one more where the same number came up again, and the hash of {@linkcode fitId}. */
const FITTED_REGEXP = /_(\d+)(?:_(\d+))?_[0-9a-f]{8}$/;

/**
 * How models count their calls: `functions.name:0`
 * (https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md).
 */
const PREFIXES = ["functions.", ""];

/**
 * Gives calls and their results the ids back that the model made, where a caller could only be given others: a model
 * that counts its calls takes foreign ids in its history for somebody else's, and stops calling.
 *
 * @param turns With every result right behind its call.
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

/** The hash in a fitted id tells whether a guess is right; an id that no guess explains stays as it is. */
function nativeId(id: string, name: string): string {
  const [, first, second] = FITTED_REGEXP.exec(id) ?? [];
  if (first === undefined) return id;
  for (const prefix of PREFIXES) {
    const counted = `${prefix}${name}:${second ?? first}`;
    if (fitId(counted, CALLERS_RULE) === id) return counted;
    const repeated = `${prefix}${name}:${first}`;
    if (fitId(`${repeated}#${second}`, CALLERS_RULE) === id) return repeated;
  }
  return id;
}
