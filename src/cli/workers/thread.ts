import type { ServerConfig } from "../../config/config.ts";
import type { Log } from "../../observe/log.ts";
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
  const { port1: port, port2: remote } = new MessageChannel();
  port.onmessage = ({ data }) => onReport(data);
  worker.onerror = (event) => {
    // The default would end the whole program.
    event.preventDefault();
    onReport({ kind: "died", error: "Error" });
  };
  worker.postMessage(undefined, [remote]);
  return {
    send: (order) => port.postMessage(order),
    end() {
      port.close();
      worker.terminate();
    },
  };
}

/**
 * Returns the number of serving threads. Only Linux lets threads share a port. Elsewhere it is one, and a log line
 * reports a higher configured number.
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
