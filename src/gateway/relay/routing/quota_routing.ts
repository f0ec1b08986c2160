import type { Connection } from "../../config/config.ts";
import type { Clock } from "@gateway/base/time/timers";
import { TtlCache } from "@gateway/base/collections";
import type { QuotaService } from "../../quotas/service.ts";
import { limitsModels } from "../../quotas/window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import type { Candidate, Candidates } from "./candidate.ts";

/** Ranks the connections of a pool by the quotas that are left. */
export interface QuotaRouting {
  /**
   * Orders the connections of a model with `quota_routing`. The connection with the conversation comes first if it has
   * any quota left. Then come the leader and the other connections, ordered by the quota that is left in the tightest
   * window of each. No provider is called.
   *
   * @param home The id of the connection with the conversation, if there is one.
   */
  rank(own: Candidates["own"], home: string | undefined): Candidates["own"];
}

/** The options of {@linkcode createQuotaRouting}. */
interface QuotaRoutingOptions {
  readonly clock: Clock;
  /** The quotas that were read last. */
  readonly quotas: Pick<QuotaService, "known">;
}

/** The time for which a leader is remembered, and the most leaders. */
const LEADERS = { ttlMs: 3_600_000, maxSize: 10_000 };

/** The lead in quota that another connection needs to take over, as a share of the whole. */
const LEAD = 0.1;

/** The share that is assumed to be left when the quota is unknown. */
const UNKNOWN_LEFT = 0.5;

/** Creates a routing without leaders. */
export function createQuotaRouting(
  { clock, quotas }: QuotaRoutingOptions,
): QuotaRouting {
  /** The id of the leading connection, by pool. */
  const leaders = new TtlCache<string, string>(clock);

  /** Keeps the leader in front until another connection has clearly more quota left. */
  function lead(ranked: readonly Ranked[]): readonly Ranked[] {
    const [best] = ranked;
    const pool = ranked.map(({ id }) => id).sort().join();
    const led = leaders.get(pool);
    const leader =
      ranked.find(({ id, left }) =>
        id === led && left > 0 && left + LEAD > (best?.left ?? 0)
      ) ?? best;
    if (leader === undefined) return [];
    leaders.set(pool, leader.id, LEADERS);
    return [leader];
  }

  return {
    rank(own, home) {
      const ranked = byRest(own, quotas);
      const ordered = new Set([
        ...ranked.filter(({ id, left }) => id === home && left > 0),
        ...lead(ranked),
        ...ranked,
      ]);
      const [first = own[0], ...others] = [...ordered]
        .map(({ candidate }) => candidate);
      return [first, ...others];
    },
  };
}

/** A candidate and the rest of its connection's quota. */
interface Ranked {
  readonly candidate: Candidate;
  /** The connection's id. */
  readonly id: string;
  /** The share that is left, from 0 to 1. */
  readonly left: number;
}

/** Sorts by the share that is left. Connections with equal shares keep the file's order. */
function byRest(
  candidates: readonly Candidate[],
  quotas: Pick<QuotaService, "known">,
): readonly Ranked[] {
  return candidates
    .map((candidate) => {
      const { connection } = candidate.deployment;
      const left = leftOf(connection, quotas);
      return { candidate, id: connection.id, left };
    })
    .sort((one, other) => other.left - one.left);
}

/** Returns the share that is left in the tightest window. */
function leftOf(
  connection: Connection,
  quotas: Pick<QuotaService, "known">,
): number {
  const shares = quotas.known(connection).flatMap(shareOf);
  return shares.length === 0 ? UNKNOWN_LEFT : Math.min(...shares);
}

/** Returns nothing for a window of unknown use, and for a window that does not count models. */
function shareOf(window: QuotaWindow): readonly number[] {
  const { used_percent } = window;
  if (used_percent === null || !limitsModels(window)) return [];
  return [Math.min(1, Math.max(0, 1 - used_percent / 100))];
}
