import type { Connection } from "../../config/config.ts";
import type { Clock } from "../../core/time/timers.ts";
import type { Operation } from "../../core/protocol.ts";
import { Recent } from "../../core/collections.ts";
import type { QuotaService } from "../../quotas/service.ts";
import { limitsModels, type QuotaWindow } from "../../quotas/window.ts";
import {
  conversationOf,
  type ConversationSource,
} from "../request/conversation.ts";
import type { Exchange } from "../exchange.ts";
import type { HeldBody } from "../request/held_body.ts";
import type { Candidate, Candidates } from "./candidate.ts";

/** Candidates in the order of their attempts. */
export interface RoutedCandidates extends Candidates {
  /** Called with the candidate that served the request. */
  readonly onServed?: (candidate: Candidate) => void;
}

/** Distributes the requests of a pool by the quotas that are left. */
export interface QuotaRouting {
  /**
   * Orders the connections of a model with `quota_routing`. First comes the one with the conversation in its prompt
   * cache, then the one with the most left in its tightest window, then the others by that. It calls no provider.
   *
   * @returns The candidates themselves, without a promise, when there is nothing to order.
   */
  route(
    candidates: Candidates,
    exchange: Pick<Exchange, "caller" | "headers">,
    body: HeldBody,
    operation: Operation,
  ): RoutedCandidates | Promise<RoutedCandidates>;
}

/** The options of {@linkcode createQuotaRouting}. */
interface QuotaRoutingOptions {
  readonly clock: Clock;
  /** The quotas that were read last. */
  readonly quotas: Pick<QuotaService, "known">;
}

/** The lead in quota that another connection needs to take over, as a share of the whole. */
const LEAD = 0.1;

/** The share that is assumed to be left when the quota is unknown. */
const UNKNOWN_LEFT = 0.5;

/** The time for which a conversation stays on its connection. No prompt cache lasts longer. */
const CONVERSATION_MS = 3_600_000;

const MAX_CONVERSATIONS = 10_000;

/** Creates a routing without conversations. */
export function createQuotaRouting(
  { clock, quotas }: QuotaRoutingOptions,
): QuotaRouting {
  const bounds = { clock, ttlMs: CONVERSATION_MS, maxSize: MAX_CONVERSATIONS };
  /** Connection ids by conversation. */
  const conversations = new Recent<string>(bounds);
  /** The id of the leading connection, by pool. */
  const leaders = new Recent<string>(bounds);

  /** Keeps the leader in front until another has clearly more left. */
  function lead(ranked: readonly Ranked[]): readonly Ranked[] {
    const [best] = ranked;
    const pool = ranked.map(({ id }) => id).sort().join();
    const led = leaders.get(pool);
    const leader =
      ranked.find(({ id, left }) =>
        id === led && left > 0 && left + LEAD > (best?.left ?? 0)
      ) ?? best;
    if (leader === undefined) return [];
    leaders.set(pool, leader.id);
    return [leader];
  }

  async function order(
    candidates: Candidates,
    request: ConversationRequest,
  ): Promise<RoutedCandidates> {
    const ranked = rank(candidates.own, quotas);
    const conversation = await conversationIn(candidates, request);
    const home = conversation && conversations.get(conversation);
    const ordered = new Set([
      ...ranked.filter(({ id, left }) => id === home && left > 0),
      ...lead(ranked),
      ...ranked,
    ]);
    const [first = candidates.own[0], ...others] = [...ordered]
      .map(({ candidate }) => candidate);
    return {
      ...candidates,
      own: [first, ...others],
      onServed({ deployment: { connection } }) {
        if (conversation === undefined) return;
        conversations.set(conversation, connection.id);
      },
    };
  }

  return {
    route(candidates, exchange, body, operation) {
      const isRouted = candidates.own.length > 1 &&
        candidates.own.some(({ deployment }) => deployment.model.quotaRouting);
      return isRouted
        ? order(candidates, { exchange, source: { body, operation } })
        : candidates;
    },
  };
}

/** A request, and the place of its conversation. */
interface ConversationRequest {
  readonly exchange: Pick<Exchange, "caller" | "headers">;
  readonly source: ConversationSource;
}

/** The model is part of the id, because a prompt cache belongs to one model. */
async function conversationIn(
  { own: [{ deployment }] }: Candidates,
  { exchange, source }: ConversationRequest,
): Promise<string | undefined> {
  const conversation = await conversationOf(exchange, source);
  return conversation && `${conversation} ${deployment.model.id}`;
}

/** A candidate and the rest of its connection's quota. */
interface Ranked {
  readonly candidate: Candidate;
  /** The connection's id. */
  readonly id: string;
  /** The share that is left, from 0 to 1. */
  readonly left: number;
}

/** Sorts by the share that is left; equals keep the file's order. */
function rank(
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

/** Returns nothing for a window of unknown use, and for one that does not count models. */
function shareOf(window: QuotaWindow): readonly number[] {
  const { used_percent } = window;
  if (used_percent === null || !limitsModels(window)) return [];
  return [Math.min(1, Math.max(0, 1 - used_percent / 100))];
}
