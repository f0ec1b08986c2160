import { oncePer } from "@gateway/base/memo";
import type { Protocol } from "@gateway/base/protocol";
import type { SchemaSubset } from "../schema/schema_subset.ts";
import type { EffortWord } from "./effort.ts";
import type {
  ReasoningSettings,
  RequestField,
  ServiceTier,
} from "./request.ts";

/** The parts of a request that a target takes, in the words of the canonical request. */
export interface Ability {
  readonly protocol: Protocol;
  readonly reasoning: ReasoningAbility;
  readonly tools: ToolAbility;
  readonly schemas: SchemaAbility;
  readonly sampling: SamplingAbility;
  readonly limits: LimitAbility;
  readonly turns: TurnAbility;
  /** True for each setting that the target has. */
  readonly settings: Readonly<Record<OptionalSetting, boolean>>;
  /** The service tiers that the target knows. */
  readonly tiers: readonly ServiceTier["tier"][];
  /** The parts of a request that take cache marks. */
  readonly cacheMarks: "none" | "content" | "content_and_tools";
  /** True when the model continues an assistant message at the end of a request. */
  readonly continues: boolean;
  /** True when messages may name their participants. */
  readonly names: boolean;
  /** True when the model cites the documents of a request. */
  readonly citations: boolean;
}

/** The fields of an {@linkcode Ability} that differ for a service, model or connection. */
export type AbilityRow = {
  readonly [Part in Exclude<keyof Ability, "protocol">]?:
    | (Ability[Part] extends readonly unknown[] | string | boolean
      ? Ability[Part]
      : Partial<Ability[Part]>)
    | undefined;
};

/** Returns the ability after each field of a row has replaced the ability's own field. Later rows win. */
export function withRows(
  ability: Ability,
  ...rows: readonly (AbilityRow | undefined)[]
): Ability {
  return rows.reduce<Ability>((before, row = {}) => ({
    ...before,
    tiers: row.tiers ?? before.tiers,
    cacheMarks: row.cacheMarks ?? before.cacheMarks,
    continues: row.continues ?? before.continues,
    names: row.names ?? before.names,
    citations: row.citations ?? before.citations,
    reasoning: { ...before.reasoning, ...row.reasoning },
    tools: { ...before.tools, ...row.tools },
    schemas: { ...before.schemas, ...row.schemas },
    sampling: { ...before.sampling, ...row.sampling },
    limits: { ...before.limits, ...row.limits },
    turns: { ...before.turns, ...row.turns },
    settings: { ...before.settings, ...row.settings },
  }), ability);
}

/**
 * Returns a function that returns the dialect of a target, and makes it only once for each target object. The target's
 * own rows replace parts of the dialect's ability.
 *
 * @param make Returns the dialect without the target's rows.
 * @param unspoken Returns the parts of an ability for which the protocol has no field, with the protocol's values. A
 * row cannot change these parts.
 */
export function createDialects<
  Key extends {
    readonly ability?: readonly (AbilityRow | undefined)[] | undefined;
  },
  Dialect extends { readonly ability: Ability },
>(
  make: (target: Key) => Dialect,
  unspoken: (ability: Ability) => AbilityRow = () => ({}),
): (target: Key) => Dialect {
  return oncePer((target) => {
    const dialect = make(target);
    const { ability: rows = [] } = target;
    if (rows.every((row) => row === undefined)) return dialect;
    const granted = withRows(dialect.ability, ...rows);
    return { ...dialect, ability: withRows(granted, unspoken(granted)) };
  });
}

/** A mode of reasoning. */
export type ReasoningMode = NonNullable<ReasoningSettings["mode"]>;

/** The reasoning settings that a model takes. */
export interface ReasoningAbility {
  /** True when the model reasons unless a request prevents that; `undefined` when unknown. */
  readonly byDefault: boolean | undefined;
  /**
   * The modes that a request may set beside an effort. If the requested mode is missing here, the first mode that
   * reasons replaces it.
   */
  readonly modes: readonly ReasoningMode[];
  /**
   * The efforts that the model accepts, from low to high. `none` is among them if it stops the model's reasoning.
   * `undefined` when the model accepts all efforts.
   */
  readonly efforts: readonly EffortWord[] | undefined;
  /** The effort to send when a request wants no reasoning but no setting stops it; `undefined` to send no effort. */
  readonly least?: EffortWord | undefined;
  /**
   * The model's effort when a request sets no effort; `undefined` when unknown, or when the model does not reason by
   * default.
   */
  readonly usual?: EffortWord | undefined;
  /** True when an effort also applies to answers without reasoning; absent: false. */
  readonly effortWhenOff?: boolean | undefined;
  /**
   * The requests in which the model cannot reason: with a forced tool call, with tools, or with the results of calls
   * but without the reasoning before the calls.
   */
  readonly bars?: readonly ("forced_call" | "tools" | "lost_reasoning")[];
}

/** The tools and choices that a target takes. */
interface ToolAbility {
  /**
   * True when the target takes custom tools and lists of allowed tools. If false, custom tools become functions, and
   * the request offers only the allowed tools.
   */
  readonly full: boolean;
  /** The calls that a request may force: a call of a named tool, a call of any tool, or no call. */
  readonly force: "named" | "any" | "never";
  /** True when a choice may forbid all calls; if false, the request omits the tools instead. */
  readonly forbid: boolean;
  /** True when the target's own web search may replace a web search of another protocol. */
  readonly webSearch: boolean;
  /** True when `strict` may differ between the tools of a request. */
  readonly mixedStrict: boolean;
  /** True when a request may allow or forbid several calls at once. */
  readonly parallel: boolean;
}

/** The schemas that a target takes, and the schemas that it enforces. */
export interface SchemaAbility {
  readonly subset: SchemaSubset;
  /**
   * The strict schemas that the target takes. `openai`: schemas that meet OpenAI's conditions. `any`: all schemas; the
   * target itself checks them. `closed`: schemas from {@linkcode enforceableSchema}, up to a limit. `none`: no schema.
   */
  readonly enforces: "openai" | "any" | "closed" | "none";
  /** The way to ask for JSON without a schema: a format for that, a schema that any object matches, or no way. */
  readonly json: "object" | "schema" | "none";
  /** True when a format may have a schema. */
  readonly formatSchemas: boolean;
  /** True when a format may stand beside tools. */
  readonly formatsWithTools: boolean;
}

/** The conditions of a model for its sampling settings. */
export interface SamplingAbility {
  /** The requests that may set sampling: all requests, only requests without reasoning, or no request. */
  readonly free: "always" | "without_reasoning" | "never";
  /** The settings that a request may not set if `free` does not cover the request. */
  readonly fixed: readonly OptionalSetting[];
  /**
   * The lowest `top_p` that a request may set if `free` does not cover the request. Such a request may also set a
   * temperature of 1. Absent when such a request may set none of the `fixed` settings.
   */
  readonly leastTopP?: number | undefined;
  /** True when a request may set `temperature` and `top_p` together. */
  readonly both: boolean;
  readonly mostTemperature: number;
}

/** The numbers that bound a request to a target. */
export interface LimitAbility {
  /** The lowest output limit that a request may set, in tokens. */
  readonly leastOutputTokens: number;
  /** The highest output limit that a request may set, in tokens; `Infinity` when it is unknown. */
  readonly mostOutputTokens: number;
  /**
   * The output limit, in tokens, for a request without a limit, if the protocol demands a limit. This number applies
   * only when the highest limit is unknown; else the highest limit applies. `undefined` for other protocols.
   */
  readonly usualOutputTokens: number | undefined;
  /**
   * The highest output limit, in tokens, of a request for a JSON answer; -1 when the provider only streams. If the
   * request has a higher limit, the gateway requests a stream and gathers it into a JSON answer.
   */
  readonly mostWholeTokens: number;
  /**
   * The most stop strings; `Infinity` when no limit is known. The gateway cuts the answer at any further stop strings.
   */
  readonly mostStops: number;
  /** True when a stop string may be blank. */
  readonly blankStops: boolean;
  /** The most cache marks; `Infinity` when no limit is known. */
  readonly mostCacheMarks: number;
  /** The most tools; `Infinity` when no limit is known. */
  readonly mostTools: number;
  /** The longest name of a tool, in characters. */
  readonly mostNameCharacters: number;
}

/** The conversations that a target takes. */
interface TurnAbility {
  /** True when system messages keep their roles at any position where the protocol allows one. */
  readonly systemAnywhere: boolean;
  /** True when the model accepts earlier reasoning without a signature. */
  readonly unsignedReasoning: boolean;
  /** True when assistant messages with tool calls must hold their reasoning while the model reasons. */
  readonly reasoningOfCalls: boolean;
  /** True when every assistant message needs the field for reasoning as soon as one message has the field. */
  readonly reasoningOnAll: boolean;
  /**
   * True when pictures and files of a tool's result may follow the result in a user message; if false, a text names
   * each picture and file.
   */
  readonly mediaOfResults: boolean;
  /** True when an assistant message may name the audio that the model generated, by its id. */
  readonly ownAudio: boolean;
  /** True when the provider rejects a request without a user message. */
  readonly demandsUser: boolean;
  /** True when a user message may follow the result of a tool. */
  readonly userAfterTool: boolean;
  /** True when the result of a tool must name the tool. */
  readonly namesResults: boolean;
  /** True when ids of tool calls must be nine letters and digits. */
  readonly shortCallIds: boolean;
}

/** The settings that only some targets take. */
export const OPTIONAL_SETTINGS = [
  "temperature",
  "topP",
  "topK",
  "seed",
  "frequencyPenalty",
  "presencePenalty",
  "maxOutputTokens",
  "verbosity",
  "user",
  "cacheKey",
  "metadata",
  "logprobs",
  "webSearch",
  "cacheOptions",
  "cacheRetention",
  "safetyIdentifier",
] as const satisfies readonly RequestField[];

/** One of the settings that only some targets take. */
export type OptionalSetting = typeof OPTIONAL_SETTINGS[number];

/** The sampling settings. Many models that reason do not accept these settings. */
export const SAMPLING_SETTINGS = [
  "temperature",
  "topP",
  "topK",
  "frequencyPenalty",
  "presencePenalty",
] as const satisfies readonly OptionalSetting[];

/** The settings of a target that takes every setting. */
export const ALL_SETTINGS: Readonly<Record<OptionalSetting, boolean>> = {
  temperature: true,
  topP: true,
  topK: true,
  seed: true,
  frequencyPenalty: true,
  presencePenalty: true,
  maxOutputTokens: true,
  verbosity: true,
  user: true,
  cacheKey: true,
  metadata: true,
  logprobs: true,
  webSearch: true,
  cacheOptions: true,
  cacheRetention: true,
  safetyIdentifier: true,
};
