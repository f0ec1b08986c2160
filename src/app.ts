import { createModelCatalog } from "./catalog/model_catalog.ts";
import type { ConfigStore } from "./config/store.ts";
import { type Clock, systemClock, type Timers } from "./core/time/timers.ts";
import { createDeadlines } from "./core/time/deadlines.ts";
import { randomIds } from "./core/ids.ts";
import { createHandler, type Handler } from "./http/gateway.ts";
import { createCodexQuota } from "./quotas/codex_quota.ts";
import { createHarvest } from "./quotas/harvest.ts";
import { toPlain } from "./quotas/reading.ts";
import { createPoller } from "./quotas/poller.ts";
import { createQuotaService } from "./quotas/service.ts";
import type { QuotaWindow } from "./quotas/window.ts";
import type { Log } from "./observe/log.ts";
import type { GatewayState, Metrics, QuotaState } from "./observe/metrics.ts";
import type { Tracing } from "./observe/tracing.ts";
import { type Admission, createAdmission } from "./relay/request/admission.ts";
import { createBodyMemory } from "./relay/request/body_memory.ts";
import { createHealth } from "./relay/routing/health.ts";
import { createQuotaRouting } from "./relay/routing/quota_routing.ts";
import { createRetryBudget } from "./relay/routing/retry_budget.ts";
import { createReasoningStore } from "./relay/translated/reasoning_store.ts";
import { createTranslation } from "./relay/translated/translation.ts";
import type { TranslationPool } from "./relay/translated/translation_pool.ts";
import { followNotice } from "./shared/notice.ts";
import type { SharedState } from "./shared/shared_state.ts";
import { createMemorySums } from "./usage/memory_sums.ts";
import { createUsageService } from "./usage/service.ts";
import type { Fetch, UpstreamClient } from "./upstream/call.ts";
import { createFetchClient } from "./upstream/fetch_client.ts";

/** What a running gateway takes from its surroundings. */
export interface GatewaySurroundings {
  readonly store: ConfigStore;
  /** Reaches the upstreams: the network's `fetch`, or the demo provider. */
  readonly fetch: Fetch;
  /** Sends callers' requests to providers; default: `fetch` does. */
  readonly client?: UpstreamClient | undefined;
  readonly log: Log;
  /** Threads for what takes long to translate; absent: it is translated at once and holds the others up. */
  readonly translationPool?: TranslationPool | undefined;
  /** Absent where nobody asked for metrics. */
  readonly metrics?: Metrics | undefined;
  /** Absent where nobody collects traces. */
  readonly tracing?: Tracing | undefined;
  /** What it has in common with other gateways; default: nothing, it is the only one. */
  readonly shared?: SharedState | undefined;
  /** Default: this machine's. */
  readonly clock?: Clock;
  /** Rings when something is overdue or to be tried again; default: this machine's. */
  readonly timers?: Timers;
  /**
   * How long a request runs before its caller is followed, in milliseconds; default: followed at once, since not every
   * server tells a late listener that the caller has left.
   */
  readonly followAfterMs?: number;
  /** A number from 0 up to 1; default: unpredictable. */
  readonly random?: () => number;
}

/** A gateway, ready to be put behind any web-standard server. */
export interface Gateway {
  readonly handler: Handler;
  /** What is being served, and how to stop it. */
  readonly admission: Admission;
  /** For the metrics; asks no provider. */
  state(): GatewayState;
}

/** What headers tell of quotas reaches other gateways so much later, in milliseconds. */
const NEWS_MS = 1000;

/** Puts the program together; nothing here listens, reads a file or knows the platform. */
export function createGateway(surroundings: GatewaySurroundings): Gateway {
  const { log, clock = systemClock, shared = {} } = surroundings;
  const deadlines = createDeadlines(surroundings.timers);
  const admission = createAdmission(shared.running);
  const memory = createBodyMemory(shared.memory, deadlines);
  const { notices } = shared;
  const harvest = createHarvest({
    clock,
    onNews: notices && (() => deadlines.start(NEWS_MS, tellHarvest)),
  });
  const poller = shared.poller ??
    createPoller({ ...surroundings, ...shared, clock });
  const quotas = createQuotaService({ clock, poller, harvest });
  const usage = createUsageService({
    ...surroundings,
    sums: shared.sums ?? createMemorySums(clock),
    quotas,
    clock,
  });
  const health = createHealth({
    clock,
    log,
    metrics: surroundings.metrics,
    tell: notices &&
      ((coolDown) => notices.tell({ kind: "cool_down", coolDown })),
  });
  notices?.onHear((notice) => {
    const learners = { health, poller, harvest };
    followNotice(notice, learners, surroundings.store.current());
  });

  function tellHarvest(): void {
    for (const { connection: { id }, reading } of harvest.takeNews()) {
      const connectionId = id;
      notices?.tell({
        kind: "harvested",
        connectionId,
        reading: toPlain(reading),
      });
    }
  }

  const handler = createHandler({
    ...surroundings,
    admission,
    memory,
    harvest,
    health,
    sharedStore: shared.store,
    routing: createQuotaRouting({ clock, quotas }),
    codexQuota: createCodexQuota({ clock, quotas }),
    budget: createRetryBudget(clock),
    deadlines,
    followAfterMs: surroundings.followAfterMs ?? 0,
    client: surroundings.client ?? createFetchClient(surroundings.fetch),
    reasoningStore: createReasoningStore({ clock }),
    translation: createTranslation(surroundings.translationPool, randomIds),
    quotas,
    catalog: createModelCatalog({ ...surroundings, clock, deadlines }),
    usage,
    clock,
    ids: randomIds,
    random: surroundings.random ?? Math.random,
  });
  return {
    handler,
    admission,
    state: () => ({
      inFlight: admission.active,
      bodyMemoryBytes: memory.usedBytes,
      quotas: surroundings.store.current().connections.flatMap((connection) =>
        quotas.known(connection).map((one) => quotaState(connection.name, one))
      ),
    }),
  };
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
