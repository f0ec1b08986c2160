import { Worker } from "node:worker_threads";
import { failedLife, type Life, type Lived } from "./life.ts";

/** The memory of a thread, in MiB: a life that needs more fails, and the other threads go on. */
const MOST_MIB = 3000;

/** The real time in which moments pass in a thread that is not stuck, even on a busy machine, in milliseconds. */
const STUCK_MS = 120_000;

/** Watches the moments of a thread, and calls `onStuck` when none passes any more; returns a function that ends it. */
type Watch = (moments: Int32Array, onStuck: () => void) => () => void;

/** A thread that lives one life at a time. When it dies or is stuck, that life has failed, and a new one lives the next. */
export class Thread {
  readonly #program: URL;
  readonly #watch: Watch;
  /** Counts the moments of its clocks. */
  readonly #moments = new Int32Array(new SharedArrayBuffer(4));
  #worker: Worker | undefined;

  /** @param program Gets a life as a message, and answers with what it came to. */
  constructor(
    program = new URL("worker.ts", import.meta.url),
    watch: Watch = watchByTime,
  ) {
    this.#program = program;
    this.#watch = watch;
  }

  /** Lives a life, or describes how the thread died of it. */
  live(life: Life): Promise<Lived> {
    const worker = this.#worker ??= new Worker(this.#program, {
      workerData: this.#moments,
      resourceLimits: { maxOldGenerationSizeMb: MOST_MIB },
    });
    return new Promise((resolve) => {
      const settle = (lived: Lived) => {
        stopWatch();
        worker.removeAllListeners();
        resolve(lived);
      };
      const fail = (cause: unknown) => {
        settle(failedLife(life, cause));
        this.#end();
      };
      const stopWatch = this.#watch(
        this.#moments,
        () => fail("Nothing happens any more, and it has no end"),
      );
      worker.on("message", settle);
      worker.on("error", fail);
      worker.on("exit", (code) => fail(`Its thread ended with ${code}`));
      worker.postMessage(life);
    });
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  #end(): void {
    // What it still has to say matters to nobody.
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
