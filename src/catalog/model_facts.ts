import type { ConnectionModel } from "../config/config.ts";
import { INPUT_KINDS, type InputKind } from "../config/quota_kinds.ts";
import type { JsonObject } from "../core/json.ts";

/** What is known of a model. What is absent is not known: nothing is guessed from a name. */
export interface ModelFacts {
  /** What people read in place of its id. */
  readonly displayName?: string | undefined;
  /** When it came out, in milliseconds since 1970. */
  readonly createdMs?: number | undefined;
  /** In tokens. */
  readonly contextWindow?: number | undefined;
  /** In tokens. */
  readonly maxOutputTokens?: number | undefined;
  /** What it takes and what it does not, as far as that is said. */
  readonly input?: InputFacts | undefined;
  /** Whether it calls tools. */
  readonly callsTools?: boolean | undefined;
  /** Whether it reasons. */
  readonly reasons?: boolean | undefined;
  /** The efforts that it can be asked to reason with. */
  readonly efforts?: readonly string[] | undefined;
  /** As Anthropic's list has them (https://platform.claude.com/docs/en/api/models/list). */
  readonly capabilities?: Capabilities | undefined;
  /** Its entry in Codex's catalog. */
  readonly codexEntry?: JsonObject | undefined;
}

/** Whether a model takes each kind; a kind of which nothing is said is absent. */
export type InputFacts = Readonly<Partial<Record<InputKind, boolean>>>;

/** Names of capabilities, each with whether there is such a thing, or with further ones. */
export interface Capabilities {
  readonly [name: string]: boolean | null | Capabilities;
}

/** What the configuration says of a model. */
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

/** A list of all that a model takes. */
export function inputFacts(kinds: readonly InputKind[]): InputFacts {
  return Object.fromEntries(
    INPUT_KINDS.map((kind) => [kind, kinds.includes(kind)]),
  );
}

/** What is known from two sources; where both speak, the first is believed. */
export function preferFirst(first: ModelFacts, other: ModelFacts): ModelFacts {
  return { ...other, ...withoutGaps(first) };
}

/**
 * What holds for a model whichever of two connections serves it: the smaller size, and what both can do, as far as
 * they say. A name, a date and an entry of Codex's catalog are the first one's.
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
