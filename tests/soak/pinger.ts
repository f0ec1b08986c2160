import { pause } from "./ask.ts";

/** Sleeps repeatedly in a separate thread, and reports its longest delay at the end. */
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
