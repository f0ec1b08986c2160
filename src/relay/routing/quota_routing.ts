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

/** Candidates in the order in which a request should try them. */
export interface RoutedCandidates extends Candidates {
  /** Told of the way that gave the answer. */
  readonly onServed?: (candidate: Candidate) => void;
}

/** Spreads the load of a pool by what is left of its connections' quotas. */
export interface QuotaRouting {
  /**
   * Puts the connections of a model with `quota_routing` into order: first the one that has the conversation
   * in its prompt cache, then the one with the most left in its tightest window, then the others by that.
   * Asks no provider.
   *
   * @returns At once where there is nothing to put into order.
   */
  route(
    candidates: Candidates,
    exchange: Pick<Exchange, "caller" | "headers">,
    body: HeldBody,
    operation: Operation,
  ): RoutedCandidates | Promise<RoutedCandidates>;
}

/** What {@linkcode createQuotaRouting} goes by. */
export interface QuotaRoutingOptions {
  readonly clock: Clock;
  /** What is known of quotas. */
  readonly quotas: Pick<QuotaService, "known">;
}

/** Another connection takes over when it has so much more left, as a share of the whole. */
const LEAD = 0.1;

/** What is assumed to be left where nothing is known. */
const UNKNOWN_LEFT = 0.5;

/** How long a conversation stays where it was; no prompt cache lasts longer. */
const CONVERSATION_MS = 3_600_000;

const MAX_CONVERSATIONS = 10_000;

/** Nothing is known yet. */
export function createQuotaRouting(
  { clock, quotas }: QuotaRoutingOptions,
): QuotaRouting {
  const bounds = { clock, ttlMs: CONVERSATION_MS, maxSize: MAX_CONVERSATIONS };
  /** Connection ids by conversation. */
  const conversations = new Recent<string>(bounds);
  /** The id of the connection that has the lead, by pool. */
  const leaders = new Recent<string>(bounds);

  /** The one that leads stays in front until another has clearly more left. */
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
    asked: AskedInConversation,
  ): Promise<RoutedCandidates> {
    const ranked = rank(candidates.own, quotas);
    const conversation = await conversationIn(candidates, asked);
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

/** What is asked, and where its conversation is found. */
interface AskedInConversation {
  readonly exchange: Pick<Exchange, "caller" | "headers">;
  readonly source: ConversationSource;
}

/** A prompt cache is one model's. */
async function conversationIn(
  { own: [{ deployment }] }: Candidates,
  { exchange, source }: AskedInConversation,
): Promise<string | undefined> {
  const conversation = await conversationOf(exchange, source);
  return conversation && `${conversation} ${deployment.model.id}`;
}

/** A way with what is left of its connection's quota. */
interface Ranked {
  readonly candidate: Candidate;
  /** The connection's. */
  readonly id: string;
  /** From 0, nothing, to 1, the whole. */
  readonly left: number;
}

/** The most left first; the file's order among equals. */
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

/** What is left in the tightest window. */
function leftOf(
  connection: Connection,
  quotas: Pick<QuotaService, "known">,
): number {
  const shares = quotas.known(connection).flatMap(shareOf);
  return shares.length === 0 ? UNKNOWN_LEFT : Math.min(...shares);
}

/** None for a window whose use is not known, and for one that counts something else than models. */
function shareOf(window: QuotaWindow): readonly number[] {
  const { used_percent } = window;
  if (used_percent === null || !limitsModels(window)) return [];
  return [Math.min(1, Math.max(0, 1 - used_percent / 100))];
}
