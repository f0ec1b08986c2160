import { pause } from "./ask.ts";

/** Sleeps again and again in a thread of its own, and tells at the end by how much it woke too late. */
globalThis.addEventListener("message", async (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  if (port === undefined) return;
  let isOver = false;
  port.onmessage = () => isOver = true;
  let lateMs = 0;
  while (!isOver) {
    const began = performance.now();
    await pause(event.data);
    lateMs = Math.max(lateMs, performance.now() - began - event.data);
  }
  port.postMessage(lateMs);
});
