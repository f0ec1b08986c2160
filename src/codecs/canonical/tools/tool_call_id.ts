import { createHash } from "node:crypto";
import type { Ids } from "@gateway/base/ids";
import { type FunctionCallBlock, isToolCall } from "../content/block.ts";
import type { CanonicalRequest, Turn } from "../request/request.ts";

/** The ids of tool calls that a protocol or upstream accepts. */
interface IdRule {
  /** The longest id in characters; at least 16. */
  readonly maxLength: number;
  /** True when an id may contain any character; if false, only `A-Z a-z 0-9 _ -`. */
  readonly anyCharacter?: boolean | undefined;
  /** True when an id must begin with a letter, and may not contain `-`. */
  readonly isPlain?: boolean | undefined;
  /** True when an id must begin with a letter; absent: false. */
  readonly letterFirst?: boolean | undefined;
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
  const lacksLetter = rule.letterFirst === true && !/^[A-Za-z]/.test(id);
  if (id.length <= rule.maxLength && isLegal && !lacksLetter) return id;
  const legal = id.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const plain = rule.isPlain ? legal.replaceAll("-", "_") : legal;
  const cleaned = rule.isPlain || rule.letterFirst
    ? plain.replace(/^[^A-Za-z]/, "t$&")
    : plain;
  const kept = cleaned.slice(0, rule.maxLength - HASH_LENGTH - 1);
  return `${kept}_${shortHash(id)}`;
}

/**
 * Ids that only count the calls of an answer, such as Bedrock's `call_0`
 * (https://github.com/BerriAI/litellm/pull/30426).
 */
const COUNTING_REGEXP = /^[A-Za-z_-]{0,24}\d{1,3}$/;

const MAX_KEPT_LENGTH = 28;

/** An id of {@linkcode sessionId}: the provider's id, eight random digits, and the hash of both. */
const SESSION_REGEXP = /^(([\w-]{1,28})_[0-9a-f]{8})([0-9a-f]{8})$/;

/**
 * Returns an id that is unique in the caller's session. An id that only counts calls gets random digits, so that
 * clients do not confuse the call with a call of an earlier answer. An id that the model repeats gets random digits,
 * too. {@linkcode providerId} removes the digits.
 */
export function sessionId(id: string, ids: Ids, isRepeated = false): string {
  const own = providerId(id);
  if (!isRepeated && own === id && !COUNTING_REGEXP.test(id)) return id;
  const kept = fitId(own, { maxLength: MAX_KEPT_LENGTH });
  const head = `${kept}_${shortHash(ids.next("call"))}`;
  return head + shortHash(head);
}

/** Returns the provider's id of a call. The hash in an id shows that the gateway made the id, so no state is needed. */
export function providerId(id: string): string {
  const [, head, own = id, hash] = SESSION_REGEXP.exec(id) ?? [];
  return head !== undefined && shortHash(head) === hash ? own : id;
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_LENGTH);
}

/**
 * Returns a function that replaces an id with the first of `forms` that is not in use, or else with a new form. The
 * same ids in the same order give the same results.
 *
 * @param taken The ids that are in use at the start.
 */
export function createUniqueIds(
  taken: readonly string[] = [],
): (id: string, forms?: readonly string[]) => string {
  const used = new Set(taken);
  /** The number of attempts for each id so far. With it, repeated ids take no longer than distinct ids. */
  const tries = new Map<string, number>();
  return (id, forms = [fitId(id, CALLER_RULE)]) => {
    let assigned = forms.find((form) => !used.has(form));
    let count = tries.get(id) ?? 1;
    while (assigned === undefined || used.has(assigned)) {
      assigned = fitId(`${id}#${++count}`, CALLER_RULE);
    }
    tries.set(id, count);
    used.add(assigned);
    return assigned;
  };
}

/** The rule for ids to callers whose protocol allows few characters. */
export const CALLER_RULE = { maxLength: 128 };

/** Returns the calls of a history without their arguments. {@linkcode createAnswerIds} reads only the ids. */
export function historyForAnswer(turns: readonly Turn[]): readonly Turn[] {
  const calls = turns.flatMap(({ blocks }) => blocks).filter(isToolCall);
  if (calls.length === 0) return [];
  const blocks = calls.map(({ id, name }): FunctionCallBlock => ({
    kind: "function_call",
    id,
    name,
    arguments: "",
  }));
  return [{ role: "assistant", blocks }];
}

/**
 * Returns a function that assigns legal ids to the calls of an answer. These ids differ from all ids in the history.
 * Otherwise clients that pair results with calls by id would repeat the same steps endlessly.
 */
export function createAnswerIds(
  { turns }: CanonicalRequest,
): (id: string) => string {
  return createUniqueIds(
    turns.flatMap(({ blocks }) => blocks).filter(isToolCall)
      .map(({ id }) => id),
  );
}

/** The number of a call, a second number if the first was repeated, and the hash of {@linkcode fitId}. */
const FITTED_REGEXP = /_(\d+)(?:_(\d+))?_[0-9a-f]{8}$/;

/**
 * The prefixes of ids by models that count their calls: `functions.name:0`
 * (https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md).
 */
const PREFIXES = ["functions.", ""];

/**
 * Restores the model's own ids of calls and results when the caller's protocol required other ids. A model that
 * counts its calls stops calling tools when its history has foreign ids.
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

/** Returns the model's own id. The hash in the id confirms a guess; without a match the id stays the same. */
function nativeId(id: string, name: string): string {
  const own = providerId(id);
  if (own !== id) return own;
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
