import type { ServerConfig } from "../../config/config.ts";
import type { Log } from "../../observe/log.ts";
import type { Report, Thread } from "./messages.ts";

/**
 * Starts `worker.ts` as a thread; it talks over a port of its own.
 *
 * @param module Another module that obeys in the same way.
 */
export function startThread(
  onReport: (report: Report) => void,
  module: URL = new URL("./worker.ts", import.meta.url),
): Thread {
  const worker = new Worker(module, { type: "module" });
  const { port1: port, port2: remote } = new MessageChannel();
  port.onmessage = ({ data }) => onReport(data);
  worker.onerror = (event) => {
    // Otherwise it would end the whole program.
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
 * How many threads serve. Only Linux shares a port among them; elsewhere one serves, and the log says so when
 * the configuration wants more.
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
