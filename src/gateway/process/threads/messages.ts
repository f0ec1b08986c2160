import type { Config, ServerConfig } from "../../config/config.ts";
import type { LogOutputFormat } from "../log/open_log.ts";
import type { Snapshot } from "../../observe/metrics.ts";
import type { StoreCondition } from "@gateway/base/store_condition";
import type { ThreadShare } from "../../shared/thread_counts.ts";
import type { Notice } from "../../shared/notice.ts";
import type { Call, CallReply } from "../../shared/main_thread.ts";

/** The order that starts a thread. */
export interface StartOrder {
  readonly kind: "start";
  readonly config: Config;
  readonly server: ServerConfig;
  readonly format: LogOutputFormat;
  /** The counts that the threads share. */
  readonly share: ThreadShare;
  /** The condition of the store; undefined when replicas share no store. */
  readonly sharedStore: StoreCondition | undefined;
}

/** An order from the pool to a thread; the first one is `start`. */
export type Order =
  | StartOrder
  /** A new configuration for later requests. */
  | { readonly kind: "config"; readonly config: Config }
  /** A notice from another gateway. */
  | { readonly kind: "notice"; readonly notice: Notice }
  /** The reply to a call of the thread. */
  | { readonly kind: "reply"; readonly reply: CallReply }
  /** A request for the metrics. */
  | { readonly kind: "collect"; readonly id: number }
  | { readonly kind: "stop" }
  /** An order to stop without waiting for running requests. */
  | { readonly kind: "hurry" };

/** A report from a thread to the pool. */
export type Report =
  | { readonly kind: "listening"; readonly url: string }
  /** The reason why the thread cannot listen. */
  | { readonly kind: "refused"; readonly message: string }
  /** A notice for the other threads. */
  | { readonly kind: "notice"; readonly notice: Notice }
  /** A call to the main thread. */
  | { readonly kind: "call"; readonly call: Call }
  /** A provider refused the exchanged key of a connection. */
  | { readonly kind: "key_refused"; readonly connectionId: string }
  /** Whole lines of the log. */
  | { readonly kind: "log"; readonly text: string }
  | {
    readonly kind: "collected";
    readonly id: number;
    readonly snapshots: readonly Snapshot[];
  }
  /** The thread died of an uncaught error. Only the error's class is sent: the message may quote a request. */
  | { readonly kind: "died"; readonly error: string }
  | { readonly kind: "stopped" };

/** The pool's handle of a thread. */
export interface Thread {
  send(order: Order): void;
  /** Ends the thread at once. */
  end(): void;
}

/** Starts a thread that waits for its first order. */
export type StartThread = (onReport: (report: Report) => void) => Thread;
