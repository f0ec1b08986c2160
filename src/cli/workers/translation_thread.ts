import type {
  ThreadOrder,
  ThreadReport,
  TranslationThread,
} from "../../relay/translated/translation_thread.ts";

/**
 * Starts `translation_worker.ts` as a thread without permissions: it reads bodies from callers and upstreams, and needs
 * nothing else.
 *
 * @param module Another module that handles the same orders.
 */
export function startTranslationThread(
  onReport: (report: ThreadReport) => void,
  module: URL = new URL("./translation_worker.ts", import.meta.url),
): TranslationThread {
  const worker = new Worker(module, {
    type: "module",
    deno: { permissions: "none" },
  });
  const { port1: port, port2: remote } = new MessageChannel();
  port.onmessage = ({ data }) => onReport(data);
  worker.onerror = (event) => {
    // The default would end the whole program.
    event.preventDefault();
    onReport({ kind: "died" });
  };
  worker.postMessage(undefined, [remote]);
  return {
    send: (order) => port.postMessage(order, transfersOf(order)),
    end() {
      port.close();
      worker.terminate();
    },
  };
}

/** Returns the buffers to transfer: a request's bytes are a copy, and an answer's have no other user. */
function transfersOf(order: ThreadOrder): Transferable[] {
  if (order.kind === "request") return [order.job.body.buffer];
  return order.kind === "answer" && order.job.answer instanceof Uint8Array
    ? [order.job.answer.buffer]
    : [];
}
