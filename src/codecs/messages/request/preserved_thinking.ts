import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
  pickFields,
} from "@gateway/base/json";
import type {
  SettledReasoning,
  SettleReasoningOptions,
} from "../../canonical/codec.ts";
import {
  longerPrefix,
  prefixBehind,
  type ReturningReasoning,
  unbrokenRun,
} from "../../canonical/answer/bound.ts";
import { sealDigest } from "../../canonical/content/sealed.ts";
import { dialectOf } from "../dialect.ts";

/**
 * The name of the beta feature `block_binding`. With this feature, answers also report the dropped parts of a request.
 */
export const BINDING_BETA = "thinking-binding-controls-2026-08-01";

/** The setting that makes the provider drop a mismatched thinking block instead of rejecting the request. */
export const DROP_MISMATCHES: JsonObject = {
  block_binding: { prefix_mismatch_behavior: "drop_block" },
};

/** A thinking block of a body. */
interface ReturningThinking extends ReturningReasoning {
  readonly block: JsonObject;
}

/**
 * Removes the thinking blocks that a model with preserved thinking would reject. The check of such a model compares the
 * system text, the set of tools and the earlier conversation, without cache marks and without the thinking
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks).
 */
export function settleReasoning(
  body: JsonObject,
  { target, boundOf }: SettleReasoningOptions,
): SettledReasoning | undefined {
  const { thinkingBinding } = dialectOf(target);
  if (thinkingBinding === "none") return undefined;
  const returning: ReturningThinking[] = [];
  let prefix = startOf(body);
  for (const message of objectsOf(body.messages)) {
    let here = prefix;
    for (const block of objectsOf(message.content)) {
      const value = sealedIn(block);
      if (value === undefined) here = afterBlock(here, block);
      else {
        returning.push({
          block,
          digest: sealDigest({ value }),
          bound: boundOf(value),
          prefix: here,
        });
      }
    }
    prefix = longerPrefix(prefix, comparable([withoutThinking(message)]));
  }
  const kept = thinkingBinding === "checked"
    ? unbrokenRun(returning)
    : returning;
  const reasoning = kept.map(({ digest }) => digest);
  const removed = new Set(returning.map(({ block }) => block));
  for (const { block } of kept) removed.delete(block);
  const messages = objectsOf(body.messages).map((message) =>
    without(message, (block) => removed.has(block))
  );
  return {
    body: removed.size === 0 ? body : { ...body, messages },
    bound: { prefix, after: reasoning.at(-1) },
    reasoning,
    isCut: removed.size > 0,
  };
}

/** Returns the prefix that the system text and the tools form. The order of the tools does not change this prefix. */
function startOf({ system, tools }: JsonObject): string {
  const set = objectsOf(tools).map((tool) => comparable([tool])).sort();
  return longerPrefix(
    longerPrefix("", comparable(system ?? null)),
    set.join("\n"),
  );
}

/** Returns the sealed data of a thinking block, or `undefined` for another block. */
function sealedIn({ type, signature, data }: JsonObject): string | undefined {
  const value = type === "redacted_thinking" ? data : signature;
  return isThinking(type) && typeof value === "string" && value !== ""
    ? value
    : undefined;
}

function isThinking(type: JsonValue | undefined): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function afterBlock(prefix: string, { type, text, id }: JsonObject): string {
  if (type === "text" && typeof text === "string") {
    return prefixBehind(prefix, { kind: "text", length: text.length });
  }
  return type === "tool_use" && typeof id === "string"
    ? prefixBehind(prefix, { kind: "call", id })
    : prefix;
}

function withoutThinking(message: JsonObject): JsonObject {
  return without(message, ({ type }) => isThinking(type));
}

function without(
  message: JsonObject,
  isRemoved: (block: JsonObject) => boolean,
): JsonObject {
  const blocks = objectsOf(message.content);
  return blocks.some(isRemoved)
    ? { ...message, content: blocks.filter((block) => !isRemoved(block)) }
    : message;
}

/** Returns a value as JSON text without cache marks. The keys keep the caller's order. */
function comparable(value: JsonValue): string {
  return JSON.stringify(Array.isArray(value) ? value.map(unmarked) : value);
}

/** Returns a block without its cache mark and without the marks of its inner blocks. */
function unmarked(value: JsonValue): JsonValue {
  if (!isMarked(value) || !isJsonObject(value)) return value;
  const { content } = value;
  return {
    ...pickFields(value, (name) => name !== "cache_control"),
    ...(Array.isArray(content) ? { content: content.map(unmarked) } : {}),
  };
}

function isMarked(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  const { cache_control: mark, content } = value;
  return mark !== undefined || Array.isArray(content) && content.some(isMarked);
}
