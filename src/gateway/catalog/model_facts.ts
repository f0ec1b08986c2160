import type { ConnectionModel } from "../config/config.ts";
import { INPUT_KINDS, type InputKind } from "../config/input_kinds.ts";
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

/** For each kind of input: true if a model accepts the kind, false if the model rejects it, absent if unknown. */
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
 * Merges the facts of two connections that may serve a model: keeps the smaller sizes and the common abilities. If only
 * one connection has a fact, the result has this fact. The name, the date and the Codex entry come from the first
 * connection that has them.
 */
export function holdsForBoth(one: ModelFacts, other: ModelFacts): ModelFacts {
  return {
    ...preferFirst(one, other),
    contextWindow: joined(one.contextWindow, other.contextWindow, Math.min),
    maxOutputTokens: joined(
      one.maxOutputTokens,
      other.maxOutputTokens,
      Math.min,
    ),
    input: joined(one.input, other.input, bothInputs),
    callsTools: joined(one.callsTools, other.callsTools, both),
    reasons: joined(one.reasons, other.reasons, both),
    efforts: joined(
      one.efforts,
      other.efforts,
      (some, more) => some.filter((effort) => more.includes(effort)),
    ),
  };
}

function withoutGaps(facts: ModelFacts): ModelFacts {
  return Object.fromEntries(
    Object.entries(facts).filter(([, value]) => value !== undefined),
  );
}

/** Joins two values. If one value is missing, returns the other value. */
function joined<Value>(
  one: Value | undefined,
  other: Value | undefined,
  join: (one: Value, other: Value) => Value,
): Value | undefined {
  return one === undefined || other === undefined
    ? one ?? other
    : join(one, other);
}

function both(one: boolean, other: boolean): boolean {
  return one && other;
}

function bothInputs(one: InputFacts, other: InputFacts): InputFacts {
  const kinds = INPUT_KINDS.map((kind) =>
    [kind, joined(one[kind], other[kind], both)] as const
  );
  return Object.fromEntries(kinds.filter(([, takes]) => takes !== undefined));
}
