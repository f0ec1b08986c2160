import type { Fetch } from "./upstream/call.ts";
import type { HttpClient } from "@gateway/http1";
import { createModelCatalog } from "./catalog/model_catalog.ts";
import type { LiveConfig } from "./config/live_config.ts";
import {
  type Clock,
  systemClock,
  type Timers,
} from "@gateway/base/time/timers";
import { createDeadlines } from "@gateway/base/time/deadlines";
import { randomIds } from "@gateway/base/ids";
import {
  createRespond,
  type Handler,
  type Respond,
  toHandler,
} from "./http/gateway.ts";
import { createCodexQuota } from "./quotas/codex_quota.ts";
import { createHarvest } from "./quotas/harvest.ts";
import { isGood, toPlain } from "./quotas/reading.ts";
import { createPoller } from "./quotas/poller.ts";
import { createQuotaService } from "./quotas/service.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import type { Log } from "./observe/log.ts";
import type {
  GatewayState,
  Metrics,
  QuotaState,
  UsageState,
} from "./observe/metrics.ts";
import type { Tracing } from "./observe/tracing.ts";
import { createIdentity } from "./relay/identity/identity.ts";
import { createKeySets } from "./relay/identity/key_sets.ts";
import { createQueue } from "./relay/queue/queue.ts";
import { type Admission, createAdmission } from "./relay/request/admission.ts";
import { createBodyMemory } from "./relay/request/body_memory.ts";
import { createCacheMisses } from "./relay/cache_misses.ts";
import { Conversations } from "./relay/routing/conversations.ts";
import { Health } from "./relay/routing/health.ts";
import { createQuotaRouting } from "./relay/routing/quota_routing.ts";
import { createKeyRenewal } from "./relay/routing/key_renewal.ts";
import { createRetryBudget } from "./relay/routing/retry_budget.ts";
import { createLessonBook } from "./relay/translated/lesson_book.ts";
import { createReasoningMemory } from "./relay/translated/reasoning_memory.ts";
import { createTranslation } from "./relay/translated/translation.ts";
import type { TranslationPool } from "./relay/translated/translation_pool.ts";
import { followNotice } from "./shared/notice.ts";
import type { SharedState } from "./shared/shared_state.ts";
import { createMemorySums } from "./usage/memory_sums.ts";
import { createUsageService } from "./usage/service.ts";
import { createFetchClient } from "./upstream/fetch_client.ts";

/** The dependencies of a gateway on its platform. */
interface GatewaySurroundings {
  readonly liveConfig: LiveConfig;
  /** Sends requests to the upstreams: the network's `fetch`, or the demo provider. */
  readonly fetch: Fetch;
  /** Sends callers' requests to providers; default: through `fetch`. */
  readonly client?: HttpClient | undefined;
  readonly log: Log;
  /** Threads for long translations; without them, a translation runs at once and blocks other requests. */
  readonly translationPool?: TranslationPool | undefined;
  /** Absent when metrics are disabled. */
  readonly metrics?: Metrics | undefined;
  /** Absent when traces are disabled. */
  readonly tracing?: Tracing | undefined;
  /** The state shared with other gateways; default: none. */
  readonly shared?: SharedState | undefined;
  /** Default: this machine's clock. */
  readonly clock?: Clock;
  /** The timers of deadlines and retries; default: this machine's. */
  readonly timers?: Timers;
  /**
   * The time before the gateway listens for a request's abort, in milliseconds. Default: 0, because not every server
   * reports an abort to a late listener.
   */
  readonly followAfterMs?: number;
  /** Returns a number from 0 up to 1; default: unpredictable. */
  readonly random?: () => number;
}

/** A gateway for any web-standard server. */
interface Gateway {
  /** The web-standard handler. */
  readonly handler: Handler;
  /** The handler for the gateway's own server. This server takes every kind of response. */
  readonly respond: Respond;
  /** Counts the requests in progress and can stop accepting more. */
  readonly admission: Admission;
  /** Returns the state for the metrics, without a request to a provider. */
  state(): GatewayState;
  /** Returns true when an attempt of the last minute failed because the gateway's machine had a shortage. */
  hasShortage(): boolean;
  /** Sends the waiting alerts before the process ends. */
  drainAlerts(): Promise<void>;
  /** Returns the use of limits for the metrics, without a request to a provider. */
  usage(): Promise<UsageState>;
}

/** The delay before other gateways get the quotas that headers reported, in milliseconds. */
const HARVEST_NOTICE_MS = 1000;

/** Composes the gateway. This function does not listen, read files or depend on a platform. */
export function createGateway(surroundings: GatewaySurroundings): Gateway {
  const { log, clock = systemClock, shared = {} } = surroundings;
  const deadlines = createDeadlines(surroundings.timers);
  const { notices } = shared;
  const admission = createAdmission(shared.running);
  const queue = createQueue({
    ...{ admission, clock, deadlines, ids: randomIds },
    isShared: shared.running !== undefined,
    publish: notices && ((news) => notices.publish({ kind: "line", ...news })),
  });
  const memory = createBodyMemory(shared.memory, deadlines);
  const harvest = createHarvest({
    clock,
    onNews: notices && (() => deadlines.start(HARVEST_NOTICE_MS, sendHarvest)),
  });
  const health = new Health({
    clock,
    log,
    metrics: surroundings.metrics,
    publish: notices &&
      ((coolDown) => notices.publish({ kind: "cool_down", ...coolDown })),
    onShortage: notices && (() => notices.publish({ kind: "shortage" })),
  });
  const poller = createPoller({
    ...surroundings,
    ...shared,
    clock,
    onRead(connection, { reading }) {
      if (!isGood(reading)) return;
      health.noteReading(connection, () => reading);
      health.noteUsedUp(connection, reading);
    },
  });
  const quotas = createQuotaService({ clock, poller, harvest });
  const identity = createIdentity({
    liveConfig: surroundings.liveConfig,
    clock,
    keySets: shared.keySets ??
      createKeySets({ ...surroundings, clock, deadlines }),
  });
  const usage = createUsageService({
    ...surroundings,
    ...{ deadlines, client: createFetchClient(surroundings.fetch) },
    currentIdentity: identity.current,
    sums: shared.sums ?? createMemorySums(clock),
    quotas,
    clock,
    publish: notices &&
      ((news) => notices.publish({ kind: "session", ...news })),
  });
  const lessonBook = createLessonBook({
    clock,
    log,
    publish: notices &&
      ((taught) => notices.publish({ kind: "lesson", ...taught })),
  });
  endRemovedTokens(surroundings.liveConfig, admission);
  const conversations = new Conversations({
    clock,
    deadlines,
    health,
    quotaRouting: createQuotaRouting({ clock, quotas }),
    publish: notices &&
      ((placed) => notices.publish({ kind: "placed", ...placed })),
  });
  const targets = { health, poller, harvest, lessonBook, usage };
  notices?.onNotice((notice) =>
    followNotice(
      notice,
      { ...targets, conversations, queue },
      surroundings.liveConfig.current(),
    )
  );

  function sendHarvest(): void {
    for (const { connection, reading } of harvest.takeNews()) {
      notices?.publish({
        kind: "harvested",
        connectionId: connection.id,
        reading: toPlain(reading),
      });
    }
  }

  const respond = createRespond({
    ...surroundings,
    ...{ identity, admission, queue, memory, harvest, health },
    sharedStore: shared.store,
    conversations,
    cacheMisses: createCacheMisses(clock),
    codexQuota: createCodexQuota({ clock, quotas }),
    budget: createRetryBudget(clock),
    renewedConnection: createKeyRenewal({
      liveConfig: surroundings.liveConfig,
      deadlines,
      ask: shared.onKeyRefused,
    }),
    deadlines,
    followAfterMs: surroundings.followAfterMs ?? 0,
    client: surroundings.client ?? createFetchClient(surroundings.fetch),
    lessonBook,
    reasoningMemory: createReasoningMemory({ clock }),
    translation: createTranslation(surroundings.translationPool, randomIds),
    quotas,
    catalog: createModelCatalog({ ...surroundings, clock, deadlines }),
    usage,
    clock,
    ids: randomIds,
    random: surroundings.random ?? Math.random,
  });
  return {
    respond,
    handler: toHandler(respond),
    admission,
    hasShortage: () => health.hasShortage(),
    drainAlerts: usage.drainAlerts,
    state: () => ({
      inFlight: admission.active,
      waiting: queue.waiting,
      bodyMemoryBytes: memory.usedBytes,
      quotas: surroundings.liveConfig.current().connections.flatMap((
        connection,
      ) =>
        quotas.known(connection).map((one) => quotaState(connection.name, one))
      ),
    }),
    usage: () => usage.current(surroundings.liveConfig.current()),
  };
}

/** Ends the running requests of tokens that a reload removes, if `server.removed_tokens` is `end`. */
function endRemovedTokens(liveConfig: LiveConfig, admission: Admission): void {
  let known = liveConfig.current().callers;
  liveConfig.onSwap(({ callers, server }) => {
    const removed = [...known.keys()].filter((one) => !callers.has(one));
    known = callers;
    if (server.removedTokens === "finish" || removed.length === 0) return;
    admission.endTokens(new Set(removed));
  });
}

function quotaState(connection: string, one: QuotaWindow): QuotaState {
  const { type, window, unit, limit, remaining, used_percent } = one;
  return {
    connection,
    type,
    window,
    unit,
    limit,
    remaining,
    usedPercent: used_percent,
    resetsAtMs: one.resets_at === null ? null : Date.parse(one.resets_at),
  };
}
