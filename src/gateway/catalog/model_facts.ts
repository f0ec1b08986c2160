import type { ConnectionModel } from "../config/config.ts";
import { INPUT_KINDS, type InputKind } from "../config/quota_kinds.ts";
import type { JsonObject } from "@gateway/base/json";

/** The known facts about a model. An absent fact is unknown. No fact is guessed from the model's name. */
export interface ModelFacts {
  /** The model's name for people. */
  readonly displayName?: string | undefined;
  /** The release date, in milliseconds since 1970. */
  readonly createdMs?: number | undefined;
  /** In tokens. */
  readonly contextWindow?: number | undefined;
  /** In tokens. */
  readonly maxOutputTokens?: number | undefined;
  /** The kinds of input that the model accepts or rejects, where known. */
  readonly input?: InputFacts | undefined;
  /** True when the model calls tools. */
  readonly callsTools?: boolean | undefined;
  /** True when the model reasons. */
  readonly reasons?: boolean | undefined;
  /** The reasoning efforts that a request may ask for. */
  readonly efforts?: readonly string[] | undefined;
  /** The capabilities in the form of Anthropic's list (https://platform.claude.com/docs/en/api/models/list). */
  readonly capabilities?: Capabilities | undefined;
  /** The model's entry in Codex's catalog. */
  readonly codexEntry?: JsonObject | undefined;
}

/** True for each kind of input that a model accepts, false for one that it rejects; absent when unknown. */
export type InputFacts = Readonly<Partial<Record<InputKind, boolean>>>;

/** The capabilities by name: supported or not, or a group of further capabilities. */
export interface Capabilities {
  readonly [name: string]: boolean | null | Capabilities;
}

/** Returns the facts that the configuration has about a model. */
export function configuredFacts(model: ConnectionModel): ModelFacts {
  const { displayName, contextWindow, maxOutputTokens, input, efforts } = model;
  return {
    displayName,
    contextWindow,
    maxOutputTokens,
    input: input && inputFacts(input),
    reasons: efforts && efforts.length > 0,
    efforts,
  };
}

/** Returns the input facts of a model that accepts exactly these kinds. */
export function inputFacts(kinds: readonly InputKind[]): InputFacts {
  return Object.fromEntries(
    INPUT_KINDS.map((kind) => [kind, kinds.includes(kind)]),
  );
}

/** Merges the facts of two sources. Where both have a fact, the first source wins. */
export function preferFirst(first: ModelFacts, other: ModelFacts): ModelFacts {
  return { ...other, ...withoutGaps(first) };
}

/**
 * Merges the facts of two connections that may serve a model: keeps the smaller sizes and the common abilities. A fact
 * that one connection lacks comes from the other one. The name, the date and the Codex entry are the first
 * connection's.
 */
export function holdsForBoth(one: ModelFacts, other: ModelFacts): ModelFacts {
  return {
    ...preferFirst(one, other),
    contextWindow: smaller(one.contextWindow, other.contextWindow),
    maxOutputTokens: smaller(one.maxOutputTokens, other.maxOutputTokens),
    input: bothInputs(one.input, other.input),
    callsTools: both(one.callsTools, other.callsTools),
    reasons: both(one.reasons, other.reasons),
    efforts: one.efforts && other.efforts
      ? one.efforts.filter((effort) => other.efforts?.includes(effort))
      : one.efforts ?? other.efforts,
  };
}

function withoutGaps(facts: ModelFacts): ModelFacts {
  return Object.fromEntries(
    Object.entries(facts).filter(([, value]) => value !== undefined),
  );
}

function smaller(
  one: number | undefined,
  other: number | undefined,
): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

function both(
  one: boolean | undefined,
  other: boolean | undefined,
): boolean | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one && other;
}

function bothInputs(
  one: InputFacts | undefined,
  other: InputFacts | undefined,
): InputFacts | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const kinds = INPUT_KINDS.map((kind) =>
    [kind, both(one[kind], other[kind])] as const
  );
  return Object.fromEntries(kinds.filter(([, takes]) => takes !== undefined));
}
