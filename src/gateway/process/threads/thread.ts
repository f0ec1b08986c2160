import type { ServerConfig } from "../../config/config.ts";
import type { Log } from "../../observe/log.ts";
import type {
  ThreadOrder,
  ThreadReport,
  TranslationThread,
} from "../../relay/translated/translation_thread.ts";
import type { Report, Thread } from "./messages.ts";

/**
 * Starts `worker.ts` as a thread, with its own message port.
 *
 * @param module Another module that handles the same orders.
 */
export function startThread(
  onReport: (report: Report) => void,
  module: URL = new URL("./worker.ts", import.meta.url),
): Thread {
  const worker = new Worker(module, { type: "module" });
  return handleOf(worker, { kind: "died", error: "Error" }, onReport);
}

/**
 * Starts `translation_worker.ts` as a thread without permissions. The thread reads bodies from callers and upstreams,
 * and needs no permission for this.
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
  return handleOf(worker, { kind: "died" }, onReport, transfersOf);
}

/** Returns the buffers to transfer. No other code uses these buffers: a request's bytes are a copy. */
function transfersOf(order: ThreadOrder): Transferable[] {
  if (order.kind === "request") return [order.job.body.buffer];
  return order.kind === "answer" && order.job.answer instanceof Uint8Array
    ? [order.job.answer.buffer]
    : [];
}

/**
 * Opens a message port to a worker.
 *
 * @param died The report of an error that the worker does not catch.
 */
function handleOf<Order, Report>(
  worker: Worker,
  died: Report,
  onReport: (report: Report) => void,
  transfersOf: (order: Order) => Transferable[] = () => [],
): { send(order: Order): void; end(): void } {
  const { port1: port, port2: remote } = new MessageChannel();
  port.onmessage = ({ data }) => onReport(data);
  worker.onerror = (event) => {
    // Without this, the error would end the whole program.
    event.preventDefault();
    onReport(died);
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

/**
 * Returns the number of serving threads. Only Linux lets threads share a port. Elsewhere the number is one, and a log
 * line reports a higher configured number.
 */
export function workerCount(
  workers: ServerConfig["workers"],
  log: Log,
): number {
  const wanted = workers === "auto" ? navigator.hardwareConcurrency : workers;
  if (wanted === 1 || Deno.build.os === "linux") return wanted;
  log.write("workers_not_supported", { wanted, workers: 1 });
  return 1;
}
