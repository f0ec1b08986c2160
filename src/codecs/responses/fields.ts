import { lookup } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pickFields,
} from "@gateway/base/json";
import type { CacheMark } from "../canonical/content/block.ts";
import type { ProviderMetadata } from "../canonical/content/extras.ts";

/** Returns the fields of `item` that are not in `known`, or `undefined` when there are none. */
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

/** Returns the value if it is a text, which may be empty. Returns `undefined` for any other value. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** JSON objects that the decoder keeps for the encoder of the same protocol. */
interface MetadataObjects {
  /**
   * The fields of a message item that the canonical form lacks. They are kept on a turn or on the first block of a
   * message.
   */
  readonly message?: JsonObject;
  /** The fields of an item of reasoning, a call or a result that the canonical form lacks. */
  readonly item?: JsonObject;
  /** The fields of a text part that the canonical form lacks. */
  readonly part?: JsonObject;
  /** The fields of a tool's declaration that the canonical form lacks. */
  readonly tool?: JsonObject;
  /** The original schema of a function whose arguments OpenAI's models must encrypt. */
  readonly parameters?: JsonObject;
  /** The wire form of a typed tool, of its call or of its result. It is written again unchanged. */
  readonly typed?: JsonObject;
}

/** Flags that the decoder keeps for the encoder. */
interface MetadataFlags {
  /** Set on an opaque block that is a content part instead of an item. */
  readonly isPart?: true;
  /** Set on a turn that was sent as `instructions`. */
  readonly isInstructions?: true;
  /** Set on a tool that was sent in an item of the input instead of the list of tools. */
  readonly isLoaded?: true;
}

/** The metadata that the decoder of this codec keeps for the encoder. No other protocol reads it. */
type OwnMetadata = MetadataObjects & MetadataFlags & {
  /** The id of a reasoning item in an answer. */
  readonly id?: string;
};

/** A canonical value that can hold metadata. */
interface MetadataHolder {
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** Returns metadata for the encoder of this codec, or `undefined` when there are no facts. */
export function ownMetadata(
  facts: OwnMetadata | undefined,
): ProviderMetadata | undefined {
  return facts === undefined ? undefined : { responses: { ...facts } };
}

/** Returns the metadata of `holder`, extended by `facts`. */
export function withMetadata(
  holder: MetadataHolder,
  facts: OwnMetadata,
): ProviderMetadata {
  return { responses: { ...holder.providerMetadata?.responses, ...facts } };
}

/** Returns an object from the metadata, or `undefined` when it is missing. */
export function metadataObject(
  { providerMetadata }: MetadataHolder,
  name: keyof MetadataObjects,
): JsonObject | undefined {
  const object = providerMetadata?.responses?.[name];
  return isJsonObject(object) ? object : undefined;
}

/** Returns true when the metadata has the flag. */
export function hasFlag(
  { providerMetadata }: MetadataHolder,
  flag: keyof MetadataFlags,
): boolean {
  return providerMetadata?.responses?.[flag] === true;
}

/** Returns the id from the metadata, if there is one. */
export function metadataId(
  { providerMetadata }: MetadataHolder,
): string | undefined {
  const id = providerMetadata?.responses?.id;
  return typeof id === "string" ? id : undefined;
}

const SECONDS_BY_WORD: Readonly<Record<string, number>> = {
  "30m": 1800,
  "12h": 43_200,
};

/** Parses the `prompt_cache_breakpoint` of a content part. */
export function decodeCache(part: JsonObject): CacheMark | undefined {
  const mark = part.prompt_cache_breakpoint;
  if (!isJsonObject(mark)) return undefined;
  const ttl = typeof mark.ttl === "string"
    ? lookup(SECONDS_BY_WORD, mark.ttl)
    : undefined;
  return { ttlSeconds: ttl };
}

/** Returns the field for a cache mark, to add to a part. */
export function encodeCache(cache: CacheMark | undefined): JsonObject {
  if (cache === undefined) return {};
  const { ttlSeconds } = cache;
  const ttl = ttlSeconds === undefined
    ? {}
    : { ttl: ttlSeconds > 1800 ? "12h" : "30m" };
  return { prompt_cache_breakpoint: { mode: "explicit", ...ttl } };
}
