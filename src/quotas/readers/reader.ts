import type { Connection, QuotaConfig } from "../../config/config.ts";
import type { HeaderFields } from "../../core/header_fields.ts";
import type { QuotaWindow } from "../window.ts";

/**
 * How the quota of one kind of service is learned. Pure: what to ask and what an answer means; asking is
 * `../read.ts`, and remembering headers is `../harvest.ts`.
 *
 * @example
 * ```ts
 * import { amounts } from "../amounts.ts";
 * import { TOTAL } from "../period.ts";
 * import { QUOTA_TYPES, quotaWindow } from "../window.ts";
 * import { bearerHeaders, hostUrl } from "./payload.ts";
 * import { checkPayload, quantity } from "./payload.ts";
 * import { z } from "zod";
 *
 * const payload = z.object({ left: quantity });
 *
 * // A prepaid balance in dollars.
 * const example: QuotaReader = {
 *   poll: {
 *     requests: (source) => [{
 *       url: hostUrl(source, "/balance"),
 *       headers: bearerHeaders(source),
 *     }],
 *     parse: ([body]) => [quotaWindow({
 *       type: QUOTA_TYPES.balance,
 *       unit: "USD",
 *       period: TOTAL,
 *       amounts: amounts({ remaining: checkPayload(payload, body).left }),
 *       resetsAt: null,
 *     })],
 *   },
 * };
 * ```
 */
export interface QuotaReader {
  /** For services that have a quota endpoint. */
  readonly poll?: QuotaPoll;
  /** For services that tell their quota in the headers of every answer. */
  readonly headers?: HeaderQuota;
}

/** A connection with the settings of its quota. */
export interface QuotaSource {
  readonly connection: Connection;
  readonly quota: QuotaConfig;
}

/** A quota endpoint. */
export interface QuotaPoll {
  /**
   * The shortest time between two reads that the provider bears, in milliseconds, where that is longer
   * than the cache keeps a result.
   */
  readonly paceMs?: number;
  /** The status by which this service says that a good key has no plan. */
  readonly noPlanStatus?: number;
  /** Whether this connection has a quota to ask for; without it, every one has. */
  appliesTo?(source: QuotaSource): boolean;
  /**
   * The calls to make, side by side.
   *
   * @throws QuotaFailure `misconfigured` when a setting is missing.
   */
  requests(source: QuotaSource): readonly QuotaRequest[];
  /** Further calls, for which the answers to the first ones are needed. */
  followUps?(
    bodies: readonly unknown[],
    source: QuotaSource,
  ): readonly QuotaRequest[];
  /**
   * Turns the bodies, in the order of the requests and the follow-ups, into windows. A body is undefined
   * when an optional request failed.
   *
   * @throws QuotaFailure when a body is an error or not what the service sends.
   */
  parse(bodies: readonly unknown[], context: QuotaContext): QuotaWindow[];
}

/** One GET. */
export interface QuotaRequest {
  readonly url: string;
  /** With the connection's credential. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the others suffice when this one fails. */
  readonly optional?: boolean;
}

/** What a reader may look at beside the bodies. */
export interface QuotaContext {
  readonly source: QuotaSource;
  /** When the bodies arrived, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** Quota in response headers. */
export interface HeaderQuota {
  /** An answer that has none of these headers tells nothing. */
  readonly probes: readonly string[];
  /**
   * Turns the headers of one answer into windows; a header that cannot be understood counts as absent.
   *
   * @param seenAtMs When the answer arrived, in milliseconds since 1970.
   */
  parse(headers: HeaderFields, seenAtMs: number): QuotaWindow[];
}
