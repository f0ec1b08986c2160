import type { Config, ServerConfig } from "../../config/config.ts";
import type { LogFormat } from "../../observe/log.ts";
import type { Snapshot } from "../../observe/metrics.ts";
import type { StoreCondition } from "../../core/store_condition.ts";
import type { Columns } from "../../shared/columns.ts";
import type { Notice } from "../../shared/notice.ts";
import type { RemoteReading } from "../../shared/remote_poller.ts";
import type {
  LedgerAnswer,
  LedgerQuestion,
} from "../../shared/sums/ledger_question.ts";
import type { ThreadShare } from "../../shared/thread_counts.ts";

/** What a thread serves. */
export interface StartOrder {
  readonly kind: "start";
  readonly config: Config;
  readonly server: ServerConfig;
  readonly format: LogFormat;
  /** What it counts together with the other threads. */
  readonly share: ThreadShare;
  /** From when on usage is counted, in milliseconds since 1970. */
  readonly completeSinceMs: number;
  /** Absent where replicas share no store. */
  readonly sharedStore: StoreCondition | undefined;
}

/** What the pool tells a thread; the first is `start`. */
export type Order =
  | StartOrder
  /** Another configuration for the requests to come. */
  | {
    readonly kind: "config";
    readonly config: Config;
    readonly columns: Columns;
  }
  /** What another gateway learned. */
  | { readonly kind: "notice"; readonly notice: Notice }
  /** The quota of a connection that the thread asked for. */
  | {
    readonly kind: "quota";
    readonly connectionId: string;
    readonly told: RemoteReading;
  }
  /** The answer to what the thread asked under `id`. */
  | {
    readonly kind: "ledger";
    readonly id: string;
    readonly answer: LedgerAnswer;
  }
  /** Usage is counted from this moment on, in milliseconds since 1970. */
  | { readonly kind: "complete_since"; readonly sinceMs: number }
  /** The metrics are wanted. */
  | { readonly kind: "collect"; readonly id: number }
  | { readonly kind: "stop" }
  /** Stop without waiting for what runs. */
  | { readonly kind: "hurry" };

/** What a thread tells the pool. */
export type Report =
  | { readonly kind: "listening"; readonly url: string }
  /** It cannot listen, and why. */
  | { readonly kind: "refused"; readonly message: string }
  /** What the thread learned and the others should know. */
  | { readonly kind: "notice"; readonly notice: Notice }
  /** It wants to know the quota of a connection. */
  | { readonly kind: "quota"; readonly connectionId: string }
  /** It asks of the sums of the process, under `id`. */
  | {
    readonly kind: "ledger";
    readonly id: string;
    readonly question: LedgerQuestion;
  }
  /** Whole lines of the log. */
  | { readonly kind: "log"; readonly text: string }
  | {
    readonly kind: "collected";
    readonly id: number;
    readonly snapshots: readonly Snapshot[];
  }
  /** An error that nobody caught ends it; only the error's class is told, its message may quote a request. */
  | { readonly kind: "died"; readonly error: string }
  | { readonly kind: "stopped" };

/** A thread, seen from the pool. */
export interface Thread {
  send(order: Order): void;
  /** Ends it at once. */
  end(): void;
}

/** Starts a thread that waits for its first order. */
export type StartThread = (onReport: (report: Report) => void) => Thread;
