import type { HttpClient } from "@gateway/http1";
import type { Clock } from "@gateway/base/time/timers";
import type { Deadlines } from "@gateway/base/time/deadlines";
import type { Ids } from "@gateway/base/ids";
import type { CodexQuota } from "../quotas/codex_quota.ts";
import type { QuotaService } from "../quotas/service.ts";
import type { Harvest } from "../quotas/harvest.ts";
import type { UsageService } from "../usage/service.ts";
import type { CacheMisses } from "./cache_misses.ts";
import type { Queue } from "./queue/queue.ts";
import type { Admission } from "./request/admission.ts";
import type { BodyMemory } from "./request/body_memory.ts";
import type { Health } from "./routing/health.ts";
import type { Conversations } from "./routing/conversations.ts";
import type { KeyRenewal } from "./routing/key_renewal.ts";
import type { RetryBudget } from "./routing/retry_budget.ts";
import type { LessonBook } from "./translated/lesson_book.ts";
import type { ReasoningMemory } from "./translated/reasoning_memory.ts";
import type { Translation } from "./translated/translation.ts";

/** The dependencies of the relay; one set for the whole program. */
export interface RelayServices {
  readonly admission: Admission;
  /** Assigns the slots of connections. */
  readonly queue: Queue;
  /** Limits the memory of request bodies. */
  readonly memory: BodyMemory;
  /** Tracks the connections that fail. */
  readonly health: Health;
  /** Orders pools, and keeps each conversation on its connection. */
  readonly conversations: Conversations;
  /** Finds why a turn missed the prompt cache. */
  readonly cacheMisses: CacheMisses;
  /** Limits the retries of a connection. */
  readonly budget: RetryBudget;
  /**
   * Returns the connection with a newer key after its exchanged key was refused; `undefined` when there is no newer
   * key.
   */
  readonly renewedConnection: KeyRenewal;
  /** Sends requests to the providers. */
  readonly client: HttpClient;
  /** Reads quotas from relayed responses. */
  readonly harvest: Harvest;
  /** The quotas that were read last. */
  readonly quotas: Pick<QuotaService, "known">;
  /** The quotas that were read last, as headers that Codex reads. */
  readonly codexQuota: CodexQuota;
  /** Counts what each access token uses, and applies its limits. */
  readonly usage: Pick<UsageService, "open" | "refused" | "near" | "watch">;
  readonly deadlines: Deadlines;
  readonly translation: Translation;
  /** What the gateway has learned from refusals, for each model of a connection. */
  readonly lessonBook: LessonBook;
  /** Sealed reasoning that waits for its tool results. */
  readonly reasoningMemory: ReasoningMemory;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
}

/** The services that a function may use, itself or through the functions that it calls. */
export type Uses<Name extends keyof RelayServices> = Pick<RelayServices, Name>;
