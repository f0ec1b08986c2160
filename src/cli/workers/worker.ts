import { createConfigStore } from "../../config/store.ts";
import { dieSilently } from "../server/die_silently.ts";
import { ListenError } from "../server/listen.ts";
import { openNetworkClient } from "../server/network_client.ts";
import { networkReach } from "../server/network_reach.ts";
import { openLog } from "../log/open_log.ts";
import { type Serving, startServing } from "../server/serving.ts";
import type { Order, Report, StartOrder } from "./messages.ts";
import { createSharedThread, type SharedThread } from "./shared_thread.ts";

/** The module of a thread: one gateway, run by the orders of the pool. */
globalThis.addEventListener("message", (event) => {
  const [port] = event instanceof MessageEvent ? event.ports : [];
  if (port !== undefined) obey(port);
}, { once: true });

function obey(port: MessagePort): void {
  const report = (one: Report) => port.postMessage(one);
  const hurry = Promise.withResolvers<void>();
  dieSilently((error) => report({ kind: "died", error }));
  let thread: Promise<RunningThread | undefined> = Promise.resolve(undefined);

  async function follow(order: Order): Promise<void> {
    if (order.kind === "start") thread = startGateway(order, report);
    if (order.kind === "hurry") hurry.resolve();
    const running = await thread;
    if (running === undefined) return;
    switch (order.kind) {
      case "config":
        running.shared.adopt(order.columns);
        return running.store.swap(order.config);
      case "notice":
        return running.shared.hear(order.notice);
      case "ledger":
        return running.shared.takeReply(order.id, order.reply);
      case "quota":
        return running.shared.answer(order.connectionId, order.told);
      case "collect": {
        const snapshots = await running.serving.snapshots();
        return report({ kind: "collected", id: order.id, snapshots });
      }
      case "stop":
        await running.serving.stop(hurry.promise);
        running.shared.flush();
        await running.flush();
        return report({ kind: "stopped" });
    }
  }

  port.onmessage = ({ data }) => follow(data);
}

interface RunningThread {
  readonly serving: Serving;
  readonly store: ReturnType<typeof createConfigStore>;
  readonly shared: SharedThread;
  /** Resolves when everything logged so far is with the pool. */
  flush(): Promise<void>;
}

async function startGateway(
  order: StartOrder,
  report: (one: Report) => void,
): Promise<RunningThread | undefined> {
  const { config, server, format } = order;
  const decoder = new TextDecoder();
  const { log, writer } = openLog({
    write(bytes) {
      report({ kind: "log", text: decoder.decode(bytes) });
      return Promise.resolve(bytes.length);
    },
  }, format);
  const store = createConfigStore(config);
  const shared = createSharedThread(order, report);
  try {
    const serving = await startServing({
      store,
      server,
      fetch: openNetworkClient().fetch,
      reach: networkReach((name) => Deno.env.get(name)),
      log,
      isShared: true,
      shared: shared.state,
    });
    report({ kind: "listening", url: serving.url });
    return { serving, store, shared, flush: writer.flush };
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    report({ kind: "refused", message: error.message });
    return undefined;
  }
}
