import { LinkedList } from "@gateway/base/collections";
import {
  type Cancel,
  type Deadlines,
  settled,
} from "@gateway/base/time/deadlines";
import { overloadedGateway } from "../request/admission.ts";
import type { Recall } from "@gateway/codecs";
import {
  brokenThread,
  type StartTranslationThread,
  type ThreadOrder,
  type ThreadReport,
  type TranslationThread,
} from "./translation_thread.ts";

/** The threads that translate long bodies. On the main thread, such bodies would block the event loop. */
export interface TranslationPool {
  /**
   * Waits for a thread and reserves it. {@linkcode ReservedThread.leave} returns it.
   *
   * @throws {GatewayError} `overloaded`, when too many jobs wait already.
   * @throws The reason of `signal`, when the signal aborts meanwhile.
   */
  enter(signal: AbortSignal): Promise<ReservedThread>;
  /** Ends all threads and their jobs. */
  close(): void;
}

/** A reserved thread. */
export interface ReservedThread {
  /**
   * Runs one job on the thread.
   *
   * @throws {GatewayError} `internal`, when the thread dies or takes too long. Another thread replaces it.
   * @throws The reason of the signal. The thread is then ended, because a job cannot be stopped.
   */
  run(
    order: Exclude<ThreadOrder, { kind: "recalled" }>,
    recall?: Recall,
  ): Promise<ThreadReport>;
  /** Returns the thread to the pool. */
  leave(): void;
}

interface TranslationPoolOptions {
  readonly startThread: StartTranslationThread;
  /** The maximum number of threads. Each thread starts when it is needed. */
  readonly maxThreads: number;
  readonly deadlines: Deadlines;
}

/** The maximum number of jobs that wait for a thread. */
const MAX_WAITING = 256;

/** The time after which an unused thread ends, in milliseconds. */
const IDLE_MS = 60_000;

/** The longest time for a job, in milliseconds. A longer job means that something is wrong. */
const JOB_MS = 120_000;

/** A thread and the current receiver of its reports. */
interface Member {
  readonly thread: TranslationThread;
  onReport: (report: ThreadReport) => void;
  stopIdle: Cancel;
}

/** Creates a pool without threads. */
export function createTranslationPool(
  { startThread, maxThreads, deadlines }: TranslationPoolOptions,
): TranslationPool {
  const members = new Set<Member>();
  const idle: Member[] = [];
  const waiting = new LinkedList<PromiseWithResolvers<Member>>();
  let isClosed = false;
  const noop = () => {};

  function start(): Member {
    const member: Member = {
      thread: startThread((report) => {
        if (report.kind === "died") remove(member);
        member.onReport(report);
      }),
      onReport: noop,
      stopIdle: noop,
    };
    members.add(member);
    return member;
  }

  /** Removes a thread. A new thread starts when a job needs it. */
  function remove(member: Member): void {
    if (!members.delete(member)) return;
    member.stopIdle();
    member.thread.end();
    const index = idle.indexOf(member);
    if (index >= 0) idle.splice(index, 1);
  }

  function free(member: Member): void {
    member.onReport = noop;
    if (members.has(member)) {
      idle.push(member);
      member.stopIdle = deadlines.start(IDLE_MS, () => remove(member));
    }
    const next = waiting.first === undefined ? undefined : takeMember();
    if (next !== undefined) waiting.shift()?.resolve(next);
  }

  function takeMember(): Member | undefined {
    const member = idle.pop() ??
      (members.size < maxThreads ? start() : undefined);
    member?.stopIdle();
    return member;
  }

  async function memberFor(signal: AbortSignal): Promise<Member> {
    signal.throwIfAborted();
    if (isClosed) throw closed();
    const member = waiting.size === 0 ? takeMember() : undefined;
    if (member !== undefined) return member;
    if (waiting.size >= MAX_WAITING) {
      throw overloadedGateway("too many long bodies wait to be translated");
    }
    const given = Promise.withResolvers<Member>();
    return await settled(given, signal, waiting.add(given));
  }

  /** Runs a job. If the job is aborted, ends the thread, because the thread would stay busy with the job. */
  async function run(
    member: Member,
    order: ThreadOrder,
    { recall, signal }: {
      readonly recall?: Recall;
      readonly signal: AbortSignal;
    },
  ): Promise<ThreadReport> {
    const over = Promise.withResolvers<ThreadReport>();
    const giveUp = (reason: unknown) => {
      remove(member);
      over.reject(reason);
    };
    const cancel = deadlines.start(
      JOB_MS,
      () => giveUp(brokenThread("it took too long")),
    );
    member.onReport = (report) => {
      if (report.kind === "died") return giveUp(brokenThread("it died"));
      if (report.kind !== "recall") return over.resolve(report);
      answerRecall(member.thread, report.callIds, recall).catch(giveUp);
    };
    try {
      signal.throwIfAborted();
      member.thread.send(order);
      return await settled(over, signal, () => remove(member));
    } finally {
      cancel();
      member.onReport = noop;
    }
  }

  return {
    async enter(signal) {
      const member = await memberFor(signal);
      let hasLeft = false;
      return {
        run: (order, recall) =>
          run(member, order, { signal, ...(recall && { recall }) }),
        leave() {
          if (!hasLeft) free(member);
          hasLeft = true;
        },
      };
    },
    close() {
      isClosed = true;
      for (const given of waiting) given.reject(closed());
      while (waiting.size > 0) waiting.shift();
      for (const member of [...members]) {
        remove(member);
        member.onReport({ kind: "died" });
      }
    },
  };
}

function closed(): Error {
  return brokenThread("the gateway is stopping");
}

async function answerRecall(
  thread: TranslationThread,
  callIds: readonly string[],
  recall: Recall = () => new Map(),
): Promise<void> {
  thread.send({ kind: "recalled", reasoning: await recall(callIds) });
}
