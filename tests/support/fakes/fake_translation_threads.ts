import type {
  StartTranslationThread,
  ThreadOrder,
  ThreadReport,
} from "../../../src/gateway/relay/translated/translation_thread.ts";

/** A thread that a test controls. */
export interface FakeThread {
  /** The orders that it received, as plain data. */
  readonly orders: ThreadOrder[];
  report(report: ThreadReport): void;
  readonly isEnded: boolean;
}

/** Threads whose reports a test sends. */
export interface FakeThreads {
  readonly start: StartTranslationThread;
  /** The threads in the order of their start. */
  readonly threads: readonly FakeThread[];
}

/** Creates {@linkcode FakeThreads}, none of them started. */
export function createFakeThreads(): FakeThreads {
  const threads: FakeThread[] = [];
  return {
    threads,
    start(onReport) {
      const orders: ThreadOrder[] = [];
      let isEnded = false;
      threads.push({
        orders,
        report: onReport,
        get isEnded() {
          return isEnded;
        },
      });
      return {
        send(order) {
          orders.push(structuredClone(order));
        },
        end() {
          isEnded = true;
        },
      };
    },
  };
}
