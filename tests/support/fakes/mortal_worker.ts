import "../../../src/cli/workers/worker.ts";

const originalFetch = globalThis.fetch;

/** Makes a thread of the gateway die of an uncaught error when it sends a request to an upstream named `die`. */
globalThis.fetch = (input, init) => {
  if (!String(input).includes("/die/")) return originalFetch(input, init);
  queueMicrotask(() => {
    throw new TypeError("canary: what a request said");
  });
  // The thread dies a moment later; no response may come before.
  return new Promise(() => {});
};
