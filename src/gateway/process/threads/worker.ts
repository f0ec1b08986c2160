import { ListenError } from "@gateway/http1/deno";
import { openNetwork } from "../network.ts";
import { createLiveConfig } from "../../config/live_config.ts";
import { randomIds } from "@gateway/base/ids";
import { createDeadlines } from "@gateway/base/time/deadlines";
import { lastingTimers, systemClock } from "@gateway/base/time/timers";
import {
  type CallReply,
  createMainKeySets,
  createMainReadings,
  createMainThreadClient,
} from "../../shared/main_thread.ts";
import type { Notice } from "../../shared/notice.ts";
import { RemoteSums } from "../../shared/remote_sums.ts";
import type { SharedState } from "../../shared/shared_state.ts";
import { createThreadCounts } from "../../shared/thread_counts.ts";
import { openLog } from "../log/open_log.ts";
import { type Serving, startServing } from "../serving.ts";
import { reportUncaught } from "../signals.ts";
import type { Order, Report, StartOrder } from "./messages.ts";

/** The module of a serving thread: one gateway, controlled by the orders of the pool. */
globalThis.addEventListener("message", (event) => {
  const [port] = event instanceof MessageEvent ? event.ports : [];
  if (port !== undefined) handleOrders(port);
}, { once: true });

function handleOrders(port: MessagePort): void {
  const report = (one: Report) => port.postMessage(one);
  const hurry = Promise.withResolvers<void>();
  reportUncaught((error) => report({ kind: "died", error }));
  let thread: Promise<RunningThread | undefined> = Promise.resolve(undefined);

  async function handle(order: Order): Promise<void> {
    if (order.kind === "start") thread = startGateway(order, report);
    if (order.kind === "hurry") hurry.resolve();
    const running = await thread;
    if (running === undefined) return;
    switch (order.kind) {
      case "config":
        return running.liveConfig.swap(order.config);
      case "notice":
        return running.shared.hear(order.notice);
      case "reply":
        return running.shared.take(order.reply);
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

  port.onmessage = ({ data }) => handle(data);
}

interface RunningThread {
  readonly serving: Serving;
  readonly liveConfig: ReturnType<typeof createLiveConfig>;
  readonly shared: SharedThread;
  /** Resolves when all lines of the log are sent to the pool. */
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
  const liveConfig = createLiveConfig(config);
  const network = openNetwork(
    (name) => Deno.env.get(name),
    lastingTimers,
  );
  const shared = createSharedThread(order, report);
  try {
    const serving = await startServing({
      liveConfig,
      server,
      fetch: network.fetch,
      client: network.client,
      abandonedHandshakes: network.abandonedHandshakes,
      log,
      isShared: true,
      shared: shared.state,
    });
    report({ kind: "listening", url: serving.url });
    return { serving, liveConfig, shared, flush: writer.flush };
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    report({ kind: "refused", message: error.message });
    return undefined;
  }
}

/** The state that a thread shares with other threads, and the handlers of the orders that change this state. */
interface SharedThread {
  readonly state: SharedState;
  /** Applies a notice from another gateway. */
  hear(notice: Notice): void;
  /** Accepts the reply to a call of the main thread. */
  take(reply: CallReply): void;
  /** Sends the remaining counts; call it after the last request. */
  flush(): void;
}

/** The time for which counts are gathered before they are sent to the main thread, in milliseconds. */
const GATHER_MS = 20;

/**
 * The longest wait of a request for the main thread, in milliseconds. After this time, a thread decides by its own
 * counts. The main thread waits much shorter for a store, so this happens only on an overloaded machine.
 */
const WAIT_MS = 250;

/** Connects a thread with the other threads through the pool. */
function createSharedThread(
  { share, sharedStore }: Pick<StartOrder, "share" | "sharedStore">,
  report: (one: Report) => void,
): SharedThread {
  const counts = createThreadCounts(share);
  const listeners: ((notice: Notice) => void)[] = [];
  let condition = sharedStore;
  const { main, take } = createMainThreadClient(
    (call) => report({ kind: "call", call }),
  );
  const sums = new RemoteSums({
    // Unlike a store, the main thread is always reachable.
    ledger: { ...main, isAway: false },
    clock: systemClock,
    deadlines: createDeadlines(),
    ids: randomIds,
    gatherMs: GATHER_MS,
    waitMs: WAIT_MS,
  });

  return {
    state: {
      sums,
      running: counts.running,
      memory: counts.memory,
      notices: {
        publish: (notice) => report({ kind: "notice", notice }),
        onNotice: (listener) => void listeners.push(listener),
      },
      keySets: createMainKeySets(main),
      sharedReadings: createMainReadings(main),
      onKeyRefused: (connectionId) =>
        report({ kind: "key_refused", connectionId }),
      store: condition && (() => condition ?? "away"),
    },
    hear(notice) {
      if (notice.kind === "store") {
        condition = notice.isAway ? "away" : "connected";
      }
      for (const listener of listeners) listener(notice);
    },
    take,
    flush: () => sums.resume(),
  };
}
