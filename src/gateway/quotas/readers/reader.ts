import type { Connection, QuotaConfig } from "../../config/config.ts";
import type { HeaderFields } from "@gateway/base/header_fields";
import type { QuotaWindow } from "@gateway/page/answers";

/**
 * The reader of the quota of one kind of service. It has no side effects: it builds requests and parses responses.
 * `../read.ts` sends the requests, and `../harvest.ts` keeps the headers.
 *
 * @example
 * ```ts
 * import { TOTAL } from "../period.ts";
 * import { QUOTA_TYPES, quotaWindow } from "../window.ts";
 * import { checkPayload, hostRequest, quantity } from "./payload.ts";
 * import { z } from "zod";
 *
 * const payload = z.object({ left: quantity });
 *
 * // A prepaid balance in dollars.
 * const example: QuotaReader = {
 *   poll: {
 *     requests: hostRequest("/balance"),
 *     parse: ([body]) => [quotaWindow({
 *       type: QUOTA_TYPES.balance,
 *       unit: "USD",
 *       period: TOTAL,
 *       remaining: checkPayload(payload, body).left,
 *     })],
 *   },
 * };
 * ```
 */
export interface QuotaReader {
  /** Set for services with a quota endpoint. */
  readonly poll?: QuotaPoll;
  /** Set for services that report the quota in response headers. */
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
   * The shortest time between two reads that the provider accepts, in milliseconds. Set only when this time exceeds the
   * lifetime of a cached result.
   */
  readonly paceMs?: number;
  /** The status with which this service reports a valid key without a plan. */
  readonly noPlanStatus?: number;
  /** Returns true when this connection has a quota to read. Absent when every connection has a quota to read. */
  appliesTo?(source: QuotaSource): boolean;
  /**
   * Returns the requests to send in parallel.
   *
   * @throws QuotaFailure `misconfigured` when a setting is missing.
   */
  requests(source: QuotaSource): readonly QuotaRequest[];
  /** Returns the further requests that the first responses make necessary. */
  followUps?(
    bodies: readonly unknown[],
    source: QuotaSource,
  ): readonly QuotaRequest[];
  /**
   * Parses the bodies, in the order of the requests and the follow-ups, into windows. The body of a failed optional
   * request is undefined.
   *
   * @throws QuotaFailure when a body is an error or has an unknown form.
   */
  parse(bodies: readonly unknown[], context: QuotaContext): QuotaWindow[];
}

/** One GET. */
export interface QuotaRequest {
  readonly url: string;
  /** Includes the connection's credential. */
  readonly headers: Readonly<Record<string, string>>;
  /** True when the read succeeds without this request. */
  readonly optional?: boolean;
}

/** The input of a parser besides the bodies. */
interface QuotaContext {
  readonly source: QuotaSource;
  /** The arrival of the bodies, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** Quota in response headers. */
export interface HeaderQuota {
  /** A response without any of these headers has no quota. */
  readonly probes: readonly string[];
  /**
   * Parses the headers of one response into windows. A header that cannot be parsed counts as absent.
   *
   * @param seenAtMs The time of the response, in milliseconds since 1970.
   */
  parse(headers: HeaderFields, seenAtMs: number): QuotaWindow[];
}
