import type { Protocol } from "../core/protocol.ts";
import type { Usage } from "../protocols/canonical/answer/usage.ts";
import type { ChunkGaps } from "./chunk_gaps.ts";

/**
 * How a request ended: the caller has the whole answer; the caller left; the upstream's answer broke off; or
 * the caller got an error of the gateway.
 */
export type Ending = "complete" | "client_abort" | "upstream_broken" | "error";

/** What one attempt has learnt of its answer. */
export interface AnswerFacts {
  /** When the response headers came, in milliseconds since the request came. */
  firstByteMs?: number;
  /** When the first output came, on the same clock. */
  firstOutputMs?: number;
  usage?: Usage;
  /** Whether the usage was counted when some of the output was there, and not only at the answer's start. */
  isUsageFinal?: boolean;
  /** Whether the usage is the gateway's estimate, of a part at least. */
  isUsageEstimated?: boolean;
  /** What it cost, in nano-dollars, where the model has a price. */
  costNanos?: number;
  /** About how long the text is that the model wrote, where the usage may be missing. */
  outputCharacters?: number;
  /** Why the model stopped, in the canonical word; only of translated answers. */
  stopReason?: string;
  /** Request fields that a translation left out, in the caller's spelling. */
  dropped?: readonly string[];
  /** Parts of the answer that the caller's protocol cannot show. */
  droppedParts?: readonly string[];
  /** The upstream's own id of the request. */
  upstreamRequestId?: string;
  /** What the upstream answered, where the caller got something else. */
  upstreamStatus?: number;
}

/** One call of one connection. */
export interface AttemptFacts {
  /** The connection's name. */
  readonly connection: string;
  /** The model as callers know it. */
  readonly model: string;
  /** When it began, in milliseconds since the request came. */
  readonly startedMs: number;
  /** How it failed; absent when it gave the answer. */
  failed?: {
    /** In one word. */
    readonly why: string;
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

/** What is learned about a request on its way; written as one log line when it ends. */
export interface RequestFacts {
  /** The token's name. */
  caller?: string;
  /** Only of known callers, and only where their client says something. */
  client?: ClientIds | undefined;
  method: string;
  /** The route's pattern, never the path as it came. */
  route?: string;
  /** The protocol of the path. */
  protocol?: Protocol;
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
  /** Of the caller's body, decompressed. */
  bytesIn: number;
  /** Of the answer's body. */
  bytesOut: number;
  /** Of the last attempt; each begins with nothing learnt. */
  answer: AnswerFacts;
  /** Between the chunks of a streamed answer; only where metrics are wanted. */
  chunkGaps?: ChunkGaps;
  /** The kind or code of the error that the caller got. */
  error?: string;
  /** What was wrong with an answer that ended with an error, in the word for it that the log has. */
  failure?: string;
  /** Why, in words for the administrator. */
  reason?: string;
}
