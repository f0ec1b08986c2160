import { lookup } from "../../core/collections.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pickFields,
} from "../../core/json.ts";
import type { CacheMark } from "../canonical/content/block.ts";
import type { ProviderMetadata } from "../canonical/content/extras.ts";

/** The fields of `item` that none of `known` names; `undefined` when nothing is left. */
export function otherFields(
  item: JsonObject,
  known: readonly string[],
): JsonObject | undefined {
  const rest = pickFields(
    item,
    (name, value) => !known.includes(name) && value !== undefined,
  );
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** The value when it is text, maybe empty. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Wire objects that the decoder notes for the encoder of the same protocol. */
interface NotedObjects {
  /** Of a turn, or of the first block of a message: fields of the message item without a canonical place. */
  readonly message?: JsonObject;
  /** Of reasoning, a call or a result: fields of its item without a canonical place. */
  readonly item?: JsonObject;
  /** Of text: fields of its content part without a canonical place. */
  readonly part?: JsonObject;
  /** Of a tool: fields of its declaration without a canonical place. */
  readonly tool?: JsonObject;
  /** Of a function whose arguments OpenAI's models shall encrypt: its schema as it came. */
  readonly parameters?: JsonObject;
  /** Of a tool of a type of its own, its call or its result: the whole of it, which is written as it came. */
  readonly typed?: JsonObject;
}

/** What is either so or not. */
interface NotedFlags {
  /** Of an opaque block: it is a content part and no item of its own. */
  readonly isPart?: true;
  /** Of a turn: it came as `instructions`. */
  readonly isInstructions?: true;
  /** Of a tool: it came with an item of the input and not in the list of tools. */
  readonly isLoaded?: true;
}

/** Everything that this codec's decoder may note for its encoder; no other protocol looks at it. */
type OwnMarks = NotedObjects & NotedFlags & {
  /** Of reasoning in an answer: the id of its item. */
  readonly id?: string;
};

/** Anything canonical that can hold marks. */
interface Marked {
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** Notes facts for this codec's own encoder; `undefined` when there are none. */
export function markOwn(
  facts: OwnMarks | undefined,
): ProviderMetadata | undefined {
  return facts === undefined ? undefined : { responses: { ...facts } };
}

/** The marks of `holder` with `facts` among them. */
export function withMarks(holder: Marked, facts: OwnMarks): ProviderMetadata {
  return { responses: { ...holder.providerMetadata?.responses, ...facts } };
}

/** A wire object that was noted; `undefined` when none was. */
export function notedObject(
  { providerMetadata }: Marked,
  name: keyof NotedObjects,
): JsonObject | undefined {
  const noted = providerMetadata?.responses?.[name];
  return isJsonObject(noted) ? noted : undefined;
}

/** Whether a flag was noted. */
export function isNoted(
  { providerMetadata }: Marked,
  flag: keyof NotedFlags,
): boolean {
  return providerMetadata?.responses?.[flag] === true;
}

/** The id that was noted, if one was. */
export function notedId({ providerMetadata }: Marked): string | undefined {
  const id = providerMetadata?.responses?.id;
  return typeof id === "string" ? id : undefined;
}

const SECONDS_BY_WORD: Readonly<Record<string, number>> = {
  "30m": 1800,
  "12h": 43_200,
};

/** Reads the `prompt_cache_breakpoint` of a content part. */
export function decodeCache(part: JsonObject): CacheMark | undefined {
  const mark = part.prompt_cache_breakpoint;
  if (!isJsonObject(mark)) return undefined;
  const ttl = typeof mark.ttl === "string"
    ? lookup(SECONDS_BY_WORD, mark.ttl)
    : undefined;
  return { ttlSeconds: ttl };
}

/** Writes a cache mark as a field to add to a part. */
export function encodeCache(cache: CacheMark | undefined): JsonObject {
  if (cache === undefined) return {};
  const { ttlSeconds } = cache;
  const ttl = ttlSeconds === undefined
    ? {}
    : { ttl: ttlSeconds > 1800 ? "12h" : "30m" };
  return { prompt_cache_breakpoint: { mode: "explicit", ...ttl } };
}
