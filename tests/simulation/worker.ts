import { parentPort, workerData } from "node:worker_threads";
import { run, type RunPlan } from "./run.ts";
import { VirtualTime } from "./world/time.ts";

VirtualTime.moments = workerData;

// One run after another: each replaces the clock and the randomness of its thread.
parentPort?.on("message", async (plan: RunPlan) => {
  parentPort?.postMessage(await run(plan));
});
