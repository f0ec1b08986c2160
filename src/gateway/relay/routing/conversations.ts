import { isNonEmpty, TtlCache } from "@gateway/base/collections";
import type { Deadlines } from "@gateway/base/time/deadlines";
import type { Clock } from "@gateway/base/time/timers";
import type { MoveWord } from "../../observe/facts.ts";
import { isBound } from "../../usage/bounds.ts";
import type { Soon } from "../../usage/sums.ts";
import type { Exchange } from "../exchange.ts";
import {
  type ConversationSource,
  isNamed,
  namedConversation,
  ownerOf,
  unnamedConversation,
} from "../request/conversation.ts";
import type { Candidate, Candidates } from "./candidate.ts";
import type { Health } from "./health.ts";
import type { QuotaRouting } from "./quota_routing.ts";
import { hasKeys, spreadKeys } from "./spread_keys.ts";

/** Candidates in the order of their attempts. */
export interface RoutedCandidates extends Candidates {
  /** Called with the candidate that serves the request, before the response is sent. A promise delays the response. */
  readonly onServed?: (candidate: Candidate) => Promise<void> | void;
}

/** A conversation with the connection that serves it now, as threads and replicas send it to each other. */
export interface PlacedConversation {
  /** The id of the conversation. */
  readonly conversation: string;
  /** The id of the model. */
  readonly model: string;
  readonly connectionId: string;
  /** The time for which the conversation stays on the connection, from now, in milliseconds. */
  readonly ms: number;
}

type RoutedExchange = Pick<Exchange, "caller" | "config" | "record" | "holds">;

interface ConversationsOptions {
  readonly clock: Clock;
  readonly deadlines: Pick<Deadlines, "start">;
  readonly health: Pick<Health, "restMs">;
  readonly quotaRouting: QuotaRouting;
  /** Sends a conversation to the other threads and replicas; default: there are no others. */
  readonly publish?: ((placed: PlacedConversation) => void) | undefined;
}

/** The time for which a conversation stays on its connection. No prompt cache lasts longer. */
const CONVERSATION_MS = 3_600_000;

/**
 * The least time of a long answer, in milliseconds. After a long answer, `CONVERSATION_MS` counts from the answer's
 * end.
 */
const LONG_ANSWER_MS = 60_000;

const MAX_CONVERSATIONS = 10_000;

/** The interval at which other threads and replicas learn that a conversation goes on, in milliseconds. */
const RENEWAL_MS = 600_000;

/** The time for which other threads and replicas keep a conversation, in milliseconds. */
const NOTICE_LASTS_MS = CONVERSATION_MS + RENEWAL_MS;

/**
 * The delay before a conversation is sent to other threads and replicas, in milliseconds. Because of this delay, no
 * response waits for the sending.
 */
const NOTICE_MS = 20;

/** The connections of a conversation. */
interface Stay {
  /** The connections by model, because a connection may fail for one model and serve another model. */
  readonly byModel: Map<string, Place>;
  /** The id of the last connection. A model that is new in the session begins there. */
  latest: string;
  /** The time at which the conversation was last sent or received, in milliseconds on a monotonic clock. */
  heardMs: number;
}

/** The place of a conversation. */
interface Place {
  /** The id of the connection. */
  readonly id: string;
  /** The time since which the conversation is on the connection, in milliseconds on a monotonic clock. */
  readonly sinceMs: number;
}

/** A request for a model with several connections. */
interface PoolRequest {
  /** The candidates in the file's order. */
  readonly candidates: Candidates;
  readonly exchange: RoutedExchange;
  /** True with `quota_routing`. */
  readonly isByQuota: boolean;
}

/** Keeps each conversation on the connection that served it last (docs/failover.md#conversations). */
export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #stays: TtlCache<string, Stay>;
  /** The time until which an unnamed conversation may be on another connection than the first, by model. */
  readonly #unnamedUntilMs = new Map<string, number>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
    this.#stays = new TtlCache(options.clock);
  }

  /**
   * Orders the connections of a model. First comes the connection with the conversation, then the others in the file's
   * order, or by quota with `quota_routing`. The keys of a connection are in the order of {@linkcode spreadKeys}.
   */
  route(
    candidates: Candidates,
    exchange: RoutedExchange,
    source: ConversationSource,
  ): Soon<RoutedCandidates> {
    const { own, fallbacks } = candidates;
    return own.length === 1 && !hasKeys(fallbacks)
      ? candidates
      : this.#order(candidates, exchange, source);
  }

  async #order(
    listed: Candidates,
    exchange: RoutedExchange,
    source: ConversationSource,
  ): Promise<RoutedCandidates> {
    const candidates = await spread(listed, exchange, source);
    const { own } = candidates;
    if (own.length === 1) return candidates;
    const isByQuota = own.some(({ deployment }) =>
      deployment.model.quotaRouting
    );
    const request = { candidates, exchange, isByQuota };
    const named = namedConversation(exchange);
    if (named !== undefined) return this.#routed(request, named);
    const search = async () => {
      const found = await unnamedConversation(exchange, source);
      const wasAtFirst = found?.isContinued === true && !isByQuota;
      const assumed = wasAtFirst ? idOf(own[0]) : undefined;
      return this.#routed(request, found?.id, assumed);
    };
    const model = own[0].deployment.model.id;
    const untilMs = this.#unnamedUntilMs.get(model) ?? 0;
    if (isByQuota || this.#options.clock.elapsedMs() < untilMs) {
      return await search();
    }
    // All unnamed conversations are on the first connection until one of them moves, so no search is needed before.
    return {
      ...candidates,
      onServed: (candidate) =>
        candidate === own[0] ? undefined : search()
          .then(({ onServed }) => onServed?.(candidate)),
    };
  }

  /** Remembers the conversation of another thread or replica. */
  follow(placed: PlacedConversation): void {
    const { conversation, model, ms } = placed;
    const nowMs = this.#options.clock.elapsedMs();
    const sentMs = nowMs - (NOTICE_LASTS_MS - ms);
    const known = this.#stays.get(conversation);
    // A store that was unreachable may deliver notices from before a move.
    if (sentMs < (known?.byModel.get(model)?.sinceMs ?? -Infinity)) return;
    this.#keep(placed, known, sentMs).heardMs = nowMs;
  }

  /** @param assumed The id of the earlier connection, if the conversation is not remembered. */
  #routed(
    request: PoolRequest,
    id: string | undefined,
    assumed?: string,
  ): RoutedCandidates {
    const { candidates, exchange, isByQuota } = request;
    const { own } = candidates;
    const stay = id === undefined ? undefined : this.#stays.get(id);
    const before = stay?.byModel.get(own[0].deployment.model.id)?.id ??
      assumed;
    const home = before ?? stay?.latest;
    const ordered = isByQuota
      ? this.#options.quotaRouting.rank(own, home)
      : homeFirst(own, home);
    if (id === undefined) return { ...candidates, own: ordered };
    return {
      ...candidates,
      own: ordered,
      home: own.find((one) => idOf(one) === before),
      onServed: (candidate) => {
        const { config, record, holds } = exchange;
        holds.conversation = () => {
          if (record.elapsedMs() < LONG_ANSWER_MS) return;
          this.#settle(id, candidate, { request, before });
        };
        if (!this.#settle(id, candidate, { request, before })) return;
        record.facts.moved = {
          from: config.connections.find((one) => one.id === before)?.name,
          why: whyLeft({ before, ordered, exchange }, this.#options.health),
        };
      },
    };
  }

  /**
   * Remembers the connection that serves a conversation. If several requests run at the same time, the first request
   * that moves the conversation decides.
   *
   * @param before The connection when the request was routed.
   * @returns True when the conversation moved.
   */
  #settle(
    id: string,
    candidate: Candidate,
    { request: { candidates: { own }, isByQuota }, before }: {
      readonly request: PoolRequest;
      readonly before: string | undefined;
    },
  ): boolean {
    // A fallback serves only as long as no connection of the model can.
    if (!own.includes(candidate)) return false;
    const known = this.#stays.get(id);
    const isAtFirst = known === undefined && candidate === own[0];
    if (isAtFirst && !isByQuota && !isNamed(id)) return false;
    const model = candidate.deployment.model.id;
    const now = known?.byModel.get(model)?.id;
    const decides = now === undefined || now === before;
    const connectionId = decides ? idOf(candidate) : now;
    const ms = CONVERSATION_MS;
    const stay = this.#keep(
      { conversation: id, model, connectionId, ms },
      known,
    );
    const { clock, deadlines, publish } = this.#options;
    const nowMs = clock.elapsedMs();
    if (now !== connectionId || nowMs - stay.heardMs > RENEWAL_MS) {
      stay.heardMs = nowMs;
      const heard = {
        conversation: id,
        model,
        connectionId,
        ms: NOTICE_LASTS_MS,
      };
      if (publish) deadlines.start(NOTICE_MS, () => publish(heard));
    }
    return decides && before !== undefined && before !== connectionId;
  }

  #keep(
    { conversation, model, connectionId, ms }: PlacedConversation,
    known = this.#stays.get(conversation),
    sinceMs = this.#options.clock.elapsedMs(),
  ): Stay {
    const stay = known ??
      { byModel: new Map(), latest: connectionId, heardMs: -Infinity };
    if (stay.byModel.get(model)?.id !== connectionId) {
      stay.byModel.set(model, { id: connectionId, sinceMs });
    }
    stay.latest = connectionId;
    const owner = ownerOf(conversation);
    const bounds = { ttlMs: ms, maxSize: MAX_CONVERSATIONS, owner };
    this.#stays.set(conversation, stay, bounds);
    if (!isNamed(conversation)) {
      this.#unnamedUntilMs.set(model, this.#options.clock.elapsedMs() + ms);
    }
    return stay;
  }
}

/** Gives each conversation its own order of the keys of a connection. */
async function spread(
  candidates: Candidates,
  exchange: RoutedExchange,
  source: ConversationSource,
): Promise<Candidates> {
  const { own, fallbacks } = candidates;
  if (!hasKeys([...own, ...fallbacks])) return candidates;
  const id = namedConversation(exchange) ??
    (await unnamedConversation(exchange, source))?.id ?? exchange.caller.sha256;
  const ordered = spreadKeys(own, id);
  return {
    own: isNonEmpty(ordered) ? ordered : own,
    fallbacks: spreadKeys(fallbacks, id),
  };
}

/** Returns the reason why a conversation left the connection that it had before. */
function whyLeft(
  { before, ordered, exchange: { caller, record } }: {
    readonly before: string | undefined;
    readonly ordered: Candidates["own"];
    readonly exchange: RoutedExchange;
  },
  health: ConversationsOptions["health"],
): MoveWord {
  const left = ordered.find((one) => idOf(one) === before);
  if (left === undefined) return "removed";
  if (left !== ordered[0]) return "exhausted";
  const { name, maxConcurrent, queue } = left.deployment.connection;
  const failed = record.facts.attempts
    .find(({ connection }) => connection === name)?.failed;
  if (failed !== undefined) return failed.why;
  // A short cool-down may be over by now.
  const mayBeFull = maxConcurrent !== undefined || queue !== undefined ||
    isBound(caller);
  return mayBeFull && health.restMs(left.deployment, caller) === 0
    ? "full"
    : "cooling_down";
}

/** Moves the connection of a conversation to the front. */
function homeFirst(
  own: Candidates["own"],
  home: string | undefined,
): Candidates["own"] {
  if (home === undefined || idOf(own[0]) === home) return own;
  const first = own.find((one) => idOf(one) === home);
  return first === undefined
    ? own
    : [first, ...own.filter((one) => one !== first)];
}

function idOf({ deployment }: Candidate): string {
  return deployment.connection.id;
}
