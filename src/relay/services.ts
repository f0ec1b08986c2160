import type { Clock } from "../core/time/timers.ts";
import type { Deadlines } from "../core/time/deadlines.ts";
import type { Ids } from "../core/ids.ts";
import type { CodexQuota } from "../quotas/codex_quota.ts";
import type { QuotaService } from "../quotas/service.ts";
import type { Harvest } from "../quotas/harvest.ts";
import type { UsageService } from "../usage/service.ts";
import type { UpstreamClient } from "../upstream/call.ts";
import type { Admission } from "./request/admission.ts";
import type { BodyMemory } from "./request/body_memory.ts";
import type { Health } from "./routing/health.ts";
import type { QuotaRouting } from "./routing/quota_routing.ts";
import type { RetryBudget } from "./routing/retry_budget.ts";
import type { ReasoningStore } from "./translated/reasoning_store.ts";
import type { Translation } from "./translated/translation.ts";

/** What the relay works with; one set for the whole program. */
export interface RelayServices {
  readonly admission: Admission;
  /** What bodies take of memory. */
  readonly memory: BodyMemory;
  /** Knows which connections fail. */
  readonly health: Health;
  /** Orders pools by what is left of their quotas. */
  readonly routing: QuotaRouting;
  /** Bounds how often a connection is asked again. */
  readonly budget: RetryBudget;
  /** Sends requests to providers. */
  readonly client: UpstreamClient;
  /** Learns quotas from relayed answers. */
  readonly harvest: Harvest;
  /** What is known of quotas. */
  readonly quotas: Pick<QuotaService, "known">;
  /** The same as Codex reads it in headers. */
  readonly codexQuota: CodexQuota;
  /** Counts what tokens use, and holds them to their limits. */
  readonly usage: Pick<UsageService, "open" | "refused" | "near">;
  readonly deadlines: Deadlines;
  /** How long a request runs before its caller is followed, in milliseconds; 0 means at once. */
  readonly followAfterMs: number;
  readonly translation: Translation;
  /** Sealed reasoning that waits for its tool results. */
  readonly reasoningStore: ReasoningStore;
  readonly clock: Clock;
  readonly ids: Ids;
  /** A number from 0 up to 1. */
  readonly random: () => number;
}
