import { parentPort, workerData } from "node:worker_threads";
import { type Life, live } from "./life.ts";
import { VirtualTime } from "./world/time.ts";

VirtualTime.moments = workerData;

// One life after another: each owns the clock and the randomness of its thread.
parentPort?.on("message", async (life: Life) => {
  parentPort?.postMessage(await live(life));
});
