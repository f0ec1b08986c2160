import type { Protocol } from "@gateway/base/protocol";
import type { FailureKind, Usage } from "@gateway/codecs";
import type { ChunkGaps } from "./chunk_gaps.ts";

/**
 * The ending of a request. `complete`: the caller has the whole response. `client_abort`: the caller disconnected.
 * `upstream_broken`: the upstream's response broke off. `error`: the caller got an error of the gateway.
 */
export type Ending = "complete" | "client_abort" | "upstream_broken" | "error";

/** The words for failures, with their meanings. Administrators search for these words. */
export const FAILURES = {
  unreachable: "no connection was possible, or it ended before a response",
  broken: "the response is malformed or incomplete",
  silent: "the response, or its next chunk, did not come in time",
  misconfigured:
    "the gateway's credential or the URL is wrong, or a setting is missing",
  forbidden:
    "the gateway's credential lacks permission, or a 403 gives no reason",
  trouble: "an error inside the provider or the store, such as a 500",
  rate_limited: "too many requests in a short time",
  exhausted: "a quota, a plan or memory is used up",
  oversized: "the response is longer than the gateway can hold",
  too_long: "the prompt does not fit into the model",
  refused: "the provider rejects the request",
  untranslatable:
    "the gateway cannot translate the request and did not send it",
  gateway_shortage:
    "the gateway's machine is short of descriptors, ports or memory",
} as const;

/** One of {@linkcode FAILURES}. */
export type FailureWord = keyof typeof FAILURES;

/** The reasons, other than {@linkcode FAILURES}, for moving a conversation to another connection. */
export const MOVES = {
  cooling_down: "the connection was cooling down",
  full:
    "the connection's `max_concurrent` or a limit of the token left no room",
  removed: "the connection no longer serves such requests for the model",
} as const;

/** One of {@linkcode FAILURES} or {@linkcode MOVES}. */
export type MoveWord = FailureWord | keyof typeof MOVES;

/** The reasons why a turn read far less from the prompt cache than its conversation had stored there. */
export const CACHE_MISSES = {
  moved: "another connection or model served it",
  idle: "the pause was longer than the cache keeps a prompt",
  edited: "the client changed something before the new messages",
  model: "the request asked for another model",
  provider: "none of these: the provider had dropped the prompt",
} as const;

/** One of {@linkcode CACHE_MISSES}. */
export type CacheMissWord = keyof typeof CACHE_MISSES;

/** The things that a request may wait for. */
export const WAITS = {
  concurrency: "a slot of a connection: all `max_concurrent` were taken",
  rate_limit: "the end of a wait that the provider asked for",
  limit: "room in a limit of the token or its group",
} as const;

/** One of {@linkcode WAITS}. */
export type WaitWord = keyof typeof WAITS;

/** The word for each kind of failure. Kinds that administrators handle in the same way share a word. */
export const FAILURE_WORD_BY_KIND = {
  unreachable: "unreachable",
  untrusted: "unreachable",
  broken: "broken",
  silent: "silent",
  misconfigured: "misconfigured",
  authentication: "misconfigured",
  unauthenticated: "refused",
  permission: "forbidden",
  forbidden: "forbidden",
  overloaded: "trouble",
  timeout: "trouble",
  server: "trouble",
  rate_limited: "rate_limited",
  quota: "exhausted",
  oversized: "oversized",
  context_too_long: "too_long",
  invalid_request: "refused",
  too_large: "refused",
  filtered: "refused",
  not_found: "refused",
  untranslatable: "untranslatable",
  gateway_shortage: "gateway_shortage",
} as const satisfies Record<
  FailureKind | "untranslatable" | "gateway_shortage",
  FailureWord
>;

/** Returns true for a failure before the attempt was sent. Such an attempt does not count as use of the provider. */
export function isUnsent(failure: unknown): boolean {
  return failure === "untranslatable" || failure === "gateway_shortage";
}

/** The facts of the response to one attempt. */
export interface AnswerFacts {
  /** The time from the request's arrival to the response headers, in milliseconds. */
  firstByteMs?: number;
  /** The time from the request's arrival to the first output, in milliseconds. */
  firstOutputMs?: number;
  /** The model's name in the provider's response. */
  model?: string | undefined;
  /** The model's name in the provider's response, if it is not the requested model. */
  substitute?: string | undefined;
  /** The model that answered, if the connection has this model and a different model was called. */
  served?: {
    /** The id that callers use. */
    readonly id: string;
    readonly upstream: string;
  };
  usage?: Usage | undefined;
  /** True when the usage was counted after some output, not only at the start of the answer. */
  isUsageFinal?: boolean;
  /** True when the gateway estimated the usage or a part of it. */
  isUsageEstimated?: boolean;
  /** The cost in nano-dollars, where the model has a price. */
  costNanos?: number;
  /** The usage of each model, if there were several; `usage` and `costNanos` are the sums over these models. */
  byModel?: readonly ModelUse[];
  /** Why the turn read far less from the prompt cache than its conversation had stored there. */
  cacheMiss?: {
    readonly why: CacheMissWord;
    /** The part of the request that changed: a field, or one entry of a field. */
    readonly at?: string;
    /** The input tokens that the cache could have held. */
    readonly tokens: number;
    /** The extra cost of these tokens, in nano-dollars, where the model has a price. */
    readonly costNanos?: number;
  } | undefined;
  /**
   * The approximate length of the model's text. If the provider reports no usage, the output tokens are estimated from
   * it.
   */
  outputCharacters?: number;
  /** The canonical stop reason; only for translated answers. */
  stopReason?: string;
  /** Request fields that a translation left out, in the caller's spelling. */
  dropped?: readonly string[];
  /** The lessons of refusals that were applied to the request, in words. */
  lessons?: readonly string[];
  /** Why earlier reasoning was left out of the request: the provider's own reasons, `prefix_changed` or `refused`. */
  reasoningDropped?: readonly string[];
  /** Parts of the answer that the caller's protocol cannot show. */
  droppedParts?: readonly string[];
  /** The id that the upstream gave the request. */
  upstreamRequestId?: string;
  /** The status of the upstream's response, if the caller got a different response. */
  upstreamStatus?: number;
}

/** The usage of one model in an answer. */
interface ModelUse {
  /** The id that callers use. */
  readonly model: string;
  readonly usage: Usage;
  /** `undefined` when the model has no price. */
  readonly costNanos: number | undefined;
}

/** One attempt on one connection. */
interface AttemptFacts {
  /** The connection's name. */
  readonly connection: string;
  /** The id that callers use. */
  readonly model: string;
  /** The start, in milliseconds since the request's arrival. */
  readonly startedMs: number;
  /** The failure; absent when the attempt gave the response. */
  failed?: {
    readonly why: FailureWord;
    /** The upstream's status; `undefined` when the upstream did not respond. */
    readonly status: number | undefined;
    /** In milliseconds since the request's arrival. */
    readonly atMs: number;
  };
}

/**
 * The ids that the caller's client gives its own work, shortened and without control characters. The number of such ids
 * is unlimited, so the ids belong in logs and traces, never in metrics.
 */
export interface ClientIds {
  /** The conversation or task that the request belongs to. */
  readonly session?: string;
  /** The agent within the session; absent for the session's first agent. */
  readonly agent?: string;
  /** The client's own id of the request. */
  readonly requestId?: string;
}

/**
 * Returns the id of the model that served a request. If no model served it, returns the id of the model that was tried
 * last. Returns `undefined` if no provider was called.
 */
export function servedModel(
  { answer, attempts }: Pick<RequestFacts, "answer" | "attempts">,
): string | undefined {
  return answer.served?.id ?? attempts.at(-1)?.model;
}

/** The facts of a request, collected while it is served and written as one log line when it ends. */
export interface RequestFacts {
  /** The token's name. */
  caller?: string;
  /** The names of the caller's groups, with commas between them. */
  callerGroup?: string | undefined;
  /**
   * The values of the headers that `server.attribution` names. The values are the caller's text, so they are never
   * labels of a metric.
   */
  attribution?: Readonly<Record<string, string>> | undefined;
  /** The ids that the client sends. Present only when the caller is known and the client sends such ids. */
  client?: ClientIds | undefined;
  method: string;
  /** The route's pattern, never the requested path. */
  route?: string;
  /** The protocol of the path; absent for the gateway's own routes. */
  protocol?: Protocol | undefined;
  /** The protocol of the body, if it certainly differs from the protocol of the path. */
  bodyProtocol?: Protocol | undefined;
  /** The model's id if the caller may use the model, else the requested name. */
  model?: string;
  /** The requested name, if it differs from the id. */
  alias?: string;
  /** True when the request asks for a stream. */
  isStream?: boolean;
  /** The reasoning effort that the request asks for, as the request spells it. */
  effort?: string | undefined;
  upstreamModel?: string | undefined;
  /** The connection's name. */
  connection?: string | undefined;
  /** The region of the connection, if it has one. */
  region?: string | undefined;
  mode?: "native" | "translated" | undefined;
  /** Every attempt, in order. The other fields of the request describe the last attempt. */
  readonly attempts: AttemptFacts[];
  /**
   * The number of times that the request was changed and sent again after a refused field; absent if the request was
   * never changed.
   */
  taught?: number;
  status?: number;
  /** The bytes of the caller's body that were read, decompressed. */
  bytesIn: number;
  /** The bytes of the response's body, whether the provider or the gateway made it. */
  bytesOut: number;
  /** The move of the conversation to another connection; absent when the conversation stayed or is new. */
  moved?: {
    /**
     * The name of the connection that the conversation left; `undefined` when that connection is no longer configured.
     */
    readonly from: string | undefined;
    readonly why: MoveWord;
  };
  /** The time that the request waited for its turn, in milliseconds; absent when it did not wait. */
  waitedMs?: number;
  /** What the request first waited for. */
  waitedFor?: WaitWord;
  /** The facts of the last attempt's response; empty when an attempt begins. */
  answer: AnswerFacts;
  /** The gaps between the chunks of a streamed response; only where metrics are enabled. */
  chunkGaps?: ChunkGaps;
  /** The kind or code of the error that the caller received. */
  error?: string;
  /** The failure that reached the caller. */
  failure?: FailureWord;
  /** The reason of the error or early end, in words for the administrator. */
  reason?: string;
  /** The limit that rejected the request, in words. */
  limit?: string | undefined;
  /** The group of tokens that the limit belongs to. */
  group?: string | undefined;
}
