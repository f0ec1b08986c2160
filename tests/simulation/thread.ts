import { Worker } from "node:worker_threads";
import { failedRun, type RunPlan, type RunResult } from "./run.ts";

/** The memory of a thread, in MiB. A run that needs more fails; the other threads continue. */
const MOST_MIB = 3000;

/**
 * The real time without a virtual moment after which a thread counts as stuck, even on a busy machine, in milliseconds.
 */
const STUCK_MS = 120_000;

/**
 * Watches a thread's count of moments and calls `onStuck` when it stands still. Returns a function that ends the watch.
 */
type Watch = (moments: Int32Array, onStuck: () => void) => () => void;

/**
 * A thread that executes one run at a time. If it dies or is stuck, that run fails, and a new thread executes the next
 * one.
 */
export class Thread {
  readonly #program: URL;
  readonly #watch: Watch;
  /** The number of moments that its clocks have passed. */
  readonly #moments = new Int32Array(new SharedArrayBuffer(4));
  #worker: Worker | undefined;

  /** @param program Receives a run as a message, and posts its result. */
  constructor(
    program = new URL("worker.ts", import.meta.url),
    watch: Watch = watchByTime,
  ) {
    this.#program = program;
    this.#watch = watch;
  }

  /** Executes a run; resolves with a failed result if the thread dies. */
  run(plan: RunPlan): Promise<RunResult> {
    const worker = this.#worker ??= new Worker(this.#program, {
      workerData: this.#moments,
      resourceLimits: { maxOldGenerationSizeMb: MOST_MIB },
    });
    return new Promise((resolve) => {
      const settle = (result: RunResult) => {
        stopWatch();
        worker.removeAllListeners();
        resolve(result);
      };
      const fail = (cause: unknown) => {
        settle(failedRun(plan, cause));
        this.#end();
      };
      const stopWatch = this.#watch(
        this.#moments,
        () => fail("The run is stuck: no virtual moment passes"),
      );
      worker.on("message", settle);
      worker.on("error", fail);
      worker.on("exit", (code) => fail(`The thread ended with ${code}`));
      worker.postMessage(plan);
    });
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  #end(): void {
    // Errors of a thread that is being ended do not matter.
    this.#worker?.on("error", () => {});
    void this.#worker?.terminate();
    this.#worker = undefined;
  }
}

function watchByTime(moments: Int32Array, onStuck: () => void): () => void {
  let [before] = moments;
  const timer = setInterval(() => {
    if (before === moments[0]) onStuck();
    [before] = moments;
  }, STUCK_MS);
  return () => clearInterval(timer);
}
