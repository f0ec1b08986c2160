import "../../../src/cli/workers/worker.ts";

const given = globalThis.fetch;

/** A thread of the gateway that dies of an error nobody catches when an upstream named `die` is asked. */
globalThis.fetch = (input, init) => {
  if (!String(input).includes("/die/")) return given(input, init);
  queueMicrotask(() => {
    throw new TypeError("canary: what a request said");
  });
  // A thread takes a moment to die; no answer must come before.
  return new Promise(() => {});
};
