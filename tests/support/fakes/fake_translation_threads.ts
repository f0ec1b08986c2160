import type {
  StartTranslationThread,
  ThreadOrder,
  ThreadReport,
} from "../../../src/relay/translated/translation_thread.ts";

/** A thread that does nothing by itself. */
export interface FakeThread {
  /** What it was told, as plain data. */
  readonly orders: ThreadOrder[];
  report(report: ThreadReport): void;
  readonly isEnded: boolean;
}

/** Threads that say what the test says. */
export interface FakeThreads {
  readonly start: StartTranslationThread;
  /** In the order in which they were started. */
  readonly threads: readonly FakeThread[];
}

/** None is started yet. */
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
