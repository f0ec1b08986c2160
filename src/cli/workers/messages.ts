import type { Config, ServerConfig } from "../../config/config.ts";
import type { LogFormat } from "../../observe/log.ts";
import type { Snapshot } from "../../observe/metrics.ts";
import type { StoreCondition } from "../../core/store_condition.ts";
import type { Columns, ThreadShare } from "../../shared/thread_counts.ts";
import type { Notice } from "../../shared/notice.ts";
import type { RemoteReading } from "../../shared/remote_poller.ts";
import type { LedgerCall, LedgerReply } from "../../shared/ledger.ts";

/** What a thread serves. */
export interface StartOrder {
  readonly kind: "start";
  readonly config: Config;
  readonly server: ServerConfig;
  readonly format: LogFormat;
  /** What it counts together with the other threads. */
  readonly share: ThreadShare;
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
    readonly remote: RemoteReading;
  }
  /** The reply to a call of the thread. */
  | {
    readonly kind: "ledger";
    readonly id: string;
    readonly reply: LedgerReply;
  }
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
  /** It calls the ledger of the process. */
  | {
    readonly kind: "ledger";
    readonly id: string;
    readonly call: LedgerCall;
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
