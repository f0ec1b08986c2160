import type { Life, Lived } from "./life.ts";

/** A thread that lives one life at a time. */
export class Thread {
  readonly #worker = new Worker(new URL("worker.ts", import.meta.url), {
    type: "module",
  });

  live(life: Life): Promise<Lived> {
    return new Promise((resolve, reject) => {
      this.#worker.onmessage = ({ data }: MessageEvent<Lived>) => resolve(data);
      this.#worker.onerror = ({ message }) =>
        reject(new Error(`seed ${life.seed}: ${message}`));
      this.#worker.postMessage(life);
    });
  }

  [Symbol.dispose](): void {
    this.#worker.terminate();
  }
}
