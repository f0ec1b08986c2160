import type { Protocol } from "../core/protocol.ts";
import type { Usage } from "../protocols/canonical/answer/answer.ts";
import type { FailureKind } from "../protocols/canonical/failure/failure.ts";
import type { ChunkGaps } from "./chunk_gaps.ts";

/**
 * How a request ended: the caller has the whole answer; the caller left; the upstream's answer broke off; or
 * the caller got an error of the gateway.
 */
export type Ending = "complete" | "client_abort" | "upstream_broken" | "error";

/** What was wrong, in one word, with what it means. Administrators search for these words. */
export const FAILURES = {
  unreachable: "there was no connection, or it ended before an answer",
  broken: "the answer is malformed, or ended before it was whole",
  silent: "no answer, or no more of it, came in time",
  misconfigured:
    "the gateway's credential or the address is wrong, or a setting is missing",
  forbidden:
    "the gateway's credential has no right to this, or a 403 does not say why",
  trouble: "an error of the other side's own, such as a 500",
  rate_limited: "too many requests in too short a time",
  exhausted: "nothing is left: of a quota, of a plan or of memory",
  oversized: "the answer is longer than the gateway can hold",
  too_long: "the prompt does not fit into the model",
  refused: "the provider does not accept what the request asks for",
  untranslatable:
    "the gateway cannot translate the request, and did not send it",
} as const;

/** One of {@linkcode FAILURES}. */
export type FailureWord = keyof typeof FAILURES;

/** The word for each kind of failure; kinds that administrators treat alike have one word. */
export const FAILURE_WORD_BY_KIND = {
  unreachable: "unreachable",
  untrusted: "unreachable",
  broken: "broken",
  silent: "silent",
  misconfigured: "misconfigured",
  authentication: "misconfigured",
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
} as const satisfies Record<FailureKind | "untranslatable", FailureWord>;

/** What one attempt has learnt of its answer. */
export interface AnswerFacts {
  /** When the response headers came, in milliseconds since the request came. */
  firstByteMs?: number;
  /** When the first output came, on the same clock. */
  firstOutputMs?: number;
  /** The model, as the provider names it. */
  model?: string | undefined;
  /** The model of the connection that this name stands for, where it is not the one that was called. */
  served?: {
    /** As callers know it. */
    readonly id: string;
    readonly upstream: string;
  };
  usage?: Usage;
  /** Whether the usage was counted when some of the output was there, and not only at the answer's start. */
  isUsageFinal?: boolean;
  /** Whether the usage is the gateway's estimate, of a part at least. */
  isUsageEstimated?: boolean;
  /** What it cost, in nano-dollars, where the model has a price. */
  costNanos?: number;
  /** What each model used, if there were several; `usage` and `costNanos` are their sums. */
  byModel?: readonly ModelUse[];
  /** About how long the text is that the model wrote, where the usage may be missing. */
  outputCharacters?: number;
  /** Why the model stopped, in the canonical word; only of translated answers. */
  stopReason?: string;
  /** Request fields that a translation left out, in the caller's spelling. */
  dropped?: readonly string[];
  /** Why earlier reasoning was left out of the request: the provider's words, `prefix_changed` or `refused`. */
  reasoningDropped?: readonly string[];
  /** Parts of the answer that the caller's protocol cannot show. */
  droppedParts?: readonly string[];
  /** The upstream's own id of the request. */
  upstreamRequestId?: string;
  /** What the upstream answered, where the caller got something else. */
  upstreamStatus?: number;
}

/** What one model used of an answer. */
interface ModelUse {
  /** As callers know it. */
  readonly model: string;
  readonly usage: Usage;
  /** `undefined` if the model has no price. */
  readonly costNanos: number | undefined;
}

/** One call of one connection. */
interface AttemptFacts {
  /** The connection's name. */
  readonly connection: string;
  /** The model as callers know it. */
  readonly model: string;
  /** When it began, in milliseconds since the request came. */
  readonly startedMs: number;
  /** How it failed; absent when it gave the answer. */
  failed?: {
    readonly why: FailureWord;
    /** The upstream's status, where it answered. */
    readonly status: number | undefined;
    /** In milliseconds since the request came. */
    readonly atMs: number;
  };
}

/**
 * What the caller's client calls its own work. It is the caller's text, bounded and without control characters, and
 * has as many values as callers like: it belongs into logs and traces, never into metrics.
 */
export interface ClientIds {
  /** The conversation or task that the request belongs to. */
  readonly session?: string;
  /** Who asks within the session, where that is not its first agent. */
  readonly agent?: string;
  /** The client's own id of the request. */
  readonly requestId?: string;
}

/** Returns the id of the model that served a request, or would have; `undefined` if no provider was called. */
export function servedModel(
  { answer, attempts }: Pick<RequestFacts, "answer" | "attempts">,
): string | undefined {
  return answer.served?.id ?? attempts.at(-1)?.model;
}

/** What is learned about a request on its way; written as one log line when it ends. */
export interface RequestFacts {
  /** The token's name. */
  caller?: string;
  /** Only of known callers, and only where their client says something. */
  client?: ClientIds | undefined;
  method: string;
  /** The route's pattern, never the path as it came. */
  route?: string;
  /** The protocol of the path; absent for what is the gateway's own. */
  protocol?: Protocol | undefined;
  /** The protocol of the body, where that is certainly another. */
  bodyProtocol?: Protocol | undefined;
  /** Its id, where it is one that the caller may use, else what the caller asked for. */
  model?: string;
  /** What the caller asked for, where that is not the id. */
  alias?: string;
  upstreamModel?: string;
  /** The connection's name. */
  connection?: string;
  mode?: "native" | "translated";
  /** Every call of a connection, in order; the fields around tell more of the last. */
  readonly attempts: AttemptFacts[];
  status?: number;
  /** What was read of the caller's body, decompressed. */
  bytesIn: number;
  /** Of the response's body, whoever made it. */
  bytesOut: number;
  /** Of the last attempt; each begins with nothing learnt. */
  answer: AnswerFacts;
  /** Between the chunks of a streamed answer; only where metrics are wanted. */
  chunkGaps?: ChunkGaps;
  /** The kind or code of the error that the caller got. */
  error?: string;
  /** What was wrong, where a failure of an attempt or of a provider reached the caller. */
  failure?: FailureWord;
  /** Why, in words for the administrator. */
  reason?: string;
  /** The limit that refused the request, in words. */
  limit?: string | undefined;
  /** The group of tokens that the limit belongs to. */
  group?: string | undefined;
}
