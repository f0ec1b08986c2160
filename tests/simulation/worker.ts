/// <reference lib="deno.worker" />
import { type Life, live } from "./life.ts";

// One life after another: each owns the clock and the randomness of its thread.
addEventListener("message", async ({ data }: MessageEvent<Life>) => {
  postMessage(await live(data));
});
