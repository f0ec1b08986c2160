import type {
  ThreadOrder,
  ThreadReport,
  TranslationThread,
} from "../../relay/translated/translation_thread.ts";

/**
 * Starts `translation_worker.ts` as a thread, without any permission: it reads what callers and upstreams send, and
 * needs nothing else.
 *
 * @param module Another module that obeys in the same way.
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
    // Otherwise it would end the whole program.
    event.preventDefault();
    onReport({ kind: "died" });
  };
  worker.postMessage(undefined, [remote]);
  return {
    send: (order) => port.postMessage(order, handedOver(order)),
    end() {
      port.close();
      worker.terminate();
    },
  };
}

/** What is sent is nobody else's: a request's bytes are a copy, and an answer's are needed nowhere else. */
function handedOver(order: ThreadOrder): Transferable[] {
  if (order.kind === "request") return [order.job.body.buffer];
  return order.kind === "answer" && order.job.answer instanceof Uint8Array
    ? [order.job.answer.buffer]
    : [];
}
