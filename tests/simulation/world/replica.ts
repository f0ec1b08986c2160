import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import {
  createHttp1Client,
  type Dial,
} from "../../../src/http1/client/client.ts";
import { createGateway } from "../../../src/gateway/app.ts";
import { startReplay } from "../../../src/gateway/process/replay_logs.ts";
import type { Config } from "../../../src/gateway/config/config.ts";
import {
  createLiveConfig,
  type LiveConfig,
} from "../../../src/gateway/config/live_config.ts";
import { randomIds } from "../../../src/base/ids.ts";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import type { Clock, Timers } from "../../../src/base/time/timers.ts";
import { createLog, type Log } from "../../../src/gateway/observe/log.ts";
import type { Metrics } from "../../../src/gateway/observe/metrics.ts";
import {
  createGatewayMetrics,
  type GatewayMetrics,
} from "../../../src/gateway/observe/prometheus.ts";
import {
  createStoreState,
  type StoreState,
} from "../../../src/gateway/shared/store/store_state.ts";
import { createFetchClient } from "../../../src/gateway/upstream/fetch_client.ts";
import type { Sums } from "../../../src/gateway/usage/sums.ts";
import type { MemoryLog } from "../../support/fakes/memory_log.ts";
import type { Random } from "../../support/fakes/random.ts";
import { ISSUER } from "../../support/gateway/identity_scene.ts";
import { SimulatedSocket } from "./socket.ts";
import type { SimulatedStore, StoreLine } from "./store.ts";
import type { SimulatedProcess, SimulatedThread } from "./threads.ts";
import type { VirtualTime } from "./time.ts";
import type { Trace } from "./trace.ts";

type Gateway = ReturnType<typeof createGateway>;

/** The parts of a world that a replica uses. */
export interface ReplicaParts {
  readonly name: string;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  /** The log of all replicas. */
  readonly log: MemoryLog;
  readonly dial: Dial;
  readonly fetch: Fetch;
  readonly config: Config;
  /** The store that replicas share; absent for a gateway alone. */
  readonly store: SimulatedStore | undefined;
  /** The process whose thread it is; absent if it is a process itself. */
  readonly process?: SimulatedProcess | undefined;
  /** Called when a provider refused an exchanged key. */
  readonly onKeyRefused?: (() => void) | undefined;
}

/** The age at which a request starts to watch whether its caller leaves, in milliseconds, as in Deno 2.9. */
const FOLLOW_AFTER_MS = 50;

/** The prefix of every key in the store. */
const PREFIX = "mg:";

/** A gateway that crashes, drains and restarts. Its log persists. */
export class Replica {
  readonly name: string;
  /** The log lines of all its processes. */
  readonly lines: string[] = [];
  readonly configs: LiveConfig;
  /** The number of its processes so far, and how many of them crashed. */
  starts = 0;
  crashes = 0;
  /** The metrics of all of its processes. */
  readonly metrics: GatewayMetrics[] = [];
  readonly #parts: ReplicaParts;
  #running: RunningGateway | undefined;

  constructor(parts: ReplicaParts) {
    this.name = parts.name;
    this.configs = createLiveConfig(parts.config);
    this.#parts = parts;
  }

  /** Its running process; absent while it is down. */
  get running(): RunningGateway | undefined {
    return this.#running;
  }

  /** Starts the process. Without a store, it counts the requests in its log again. */
  async start(): Promise<void> {
    const running = new RunningGateway(this, this.#parts);
    this.starts++;
    await running.begin();
    this.#running = running;
    this.#parts.trace.note(`${this.name} serves`);
  }

  /** Ends the process at once, like a loss of power. */
  crash(): void {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    this.crashes++;
    this.#parts.trace.note(`${this.name} crashes`);
    running.end();
    const { random } = this.#parts;
    // The last line may have been written only in part, or not at all.
    const last = this.lines.pop();
    if (last !== undefined && random.below(2) === 0) {
      this.lines.push(last.slice(0, random.below(last.length)));
    }
  }

  /** Drains and ends the process, as SIGTERM does. */
  async stop(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    this.#parts.trace.note(`${this.name} drains`);
    await running.drain();
    running.end();
    this.#parts.trace.note(`${this.name} has ended`);
  }
}

/** The process has ended: its callers see a broken connection. */
export class ProcessEnded extends Error {}

/** One process of a replica. */
class RunningGateway {
  readonly #replica: Replica;
  readonly #parts: ReplicaParts;
  readonly #clock: ProcessClock;
  readonly #sockets = new Set<SimulatedSocket>();
  readonly #isOver = new AbortController();
  readonly #ended = Promise.withResolvers<never>();
  #line: StoreLine | undefined;
  #state: StoreState | undefined;
  #thread: SimulatedThread | undefined;
  #client: ReturnType<typeof createHttp1Client> | undefined;
  #gateway: Gateway | undefined;

  constructor(replica: Replica, parts: ReplicaParts) {
    this.#replica = replica;
    this.#parts = parts;
    this.#clock = new ProcessClock(parts.time, parts.random.below(2) === 0);
    this.#ended.promise.catch(() => {});
  }

  get gateway(): Gateway {
    if (this.#gateway === undefined) throw new Error("It has not begun");
    return this.#gateway;
  }

  /** Rejects when the process ends. */
  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  get isConnected(): boolean {
    return this.#state?.state.store?.() === "connected";
  }

  async begin(): Promise<void> {
    const { fetch, store, process } = this.#parts;
    const [clock, configs] = [this.#clock, this.#replica.configs];
    const log = this.#createLog();
    const isAlone = store === undefined && process === undefined;
    const replayed = isAlone ? await this.#replay(log) : undefined;
    this.#thread = process?.start(clock);
    this.#state = store && createStoreState({
      open: (events) => this.#line = store.connect(events),
      prefix: PREFIX,
      config: configs.current,
      ...{ clock, timers: clock, log, ids: randomIds },
    });
    this.#client = createHttp1Client({
      dial: this.#dial,
      deadlines: createDeadlines(clock),
    });
    const [providers, issuer] = [this.#client, createFetchClient(fetch)];
    this.#gateway = createGateway({
      liveConfig: configs,
      client: {
        send: (request) =>
          (request.url.startsWith(ISSUER) ? issuer : providers).send(request),
      },
      ...{ fetch, log, clock, timers: clock, metrics: this.#createMetrics() },
      followAfterMs: FOLLOW_AFTER_MS,
      shared: {
        ...this.#state?.state ?? this.#thread?.state ??
          (replayed && { sums: replayed }),
        onKeyRefused: this.#parts.onKeyRefused,
      },
    });
  }

  /** Closes the connection to the store, as at the end of a drain. The process still serves. */
  async closeStore(): Promise<void> {
    this.#thread?.flush();
    await this.#state?.close();
  }

  async drain(): Promise<void> {
    const { admission } = this.gateway;
    const { drainMs } = this.#replica.configs.current().server;
    let isDrained = false;
    const drained = admission.drain().then(() => isDrained = true);
    await Promise.race([drained, this.#parts.time.sleep(drainMs)]);
    if (!isDrained) admission.cut();
    await this.closeStore();
  }

  /** Ends all of its requests, timers and sockets at once. */
  end(): void {
    this.#clock.end();
    this.#isOver.abort();
    this.#line?.abandon();
    this.#thread?.end();
    for (const socket of this.#sockets) socket.abandon();
    this.#client?.[Symbol.dispose]();
    this.#ended.reject(new ProcessEnded());
  }

  readonly #dial: Dial = async (target, signal) => {
    const either = AbortSignal.any([signal, this.#isOver.signal]);
    const dialed = await this.#parts.dial(target, either);
    const { duplex } = dialed;
    if (!(duplex instanceof SimulatedSocket)) throw new Error("No socket");
    this.#sockets.add(duplex);
    if (this.#clock.hasEnded) duplex.abandon();
    return dialed;
  };

  async #replay(log: Log): Promise<Sums | undefined> {
    const { lines } = this.#replica;
    if (lines.length === 0) return undefined;
    const bytes = new TextEncoder().encode(lines.join(""));
    const clock = this.#clock;
    const file = { id: "log", path: "log", size: bytes.length };
    return await startReplay({
      liveConfig: this.#replica.configs,
      patterns: ["log"],
      ...{ log, clock, timers: clock },
      files: {
        find: () => Promise.resolve([{ ...file, writtenMs: clock.now() }]),
        async *read() {
          await Promise.resolve();
          yield bytes;
        },
      },
    });
  }

  #createMetrics(): Metrics {
    const real = createGatewayMetrics({
      isModel: () => true,
      isToken: () => true,
      fields: new Set(),
    });
    this.#replica.metrics.push(real);
    return {
      requestEnded: (one) => this.#clock.hasEnded || real.requestEnded(one),
      cooledDown: real.cooledDown,
      limited: real.limited,
    };
  }

  #createLog(): Log {
    const { log: memory, trace, name } = this.#parts;
    const { lines } = this.#replica;
    const file = createLog({
      format: "json",
      now: this.#clock.now,
      sink(line) {
        lines.push(line);
        trace.note(`${name} logs ${line.trimEnd()}`);
      },
    });
    return {
      write: (event, fields) => {
        if (this.#clock.hasEnded) return;
        memory.write(event, fields);
        file.write(event, fields);
      },
    };
  }
}

/** The clock and timers of one process, which end with it. */
class ProcessClock implements Clock, Timers {
  readonly mayFireUnused: boolean;
  hasEnded = false;
  readonly now: () => number;
  readonly elapsedMs: () => number;
  readonly #running = new Set<() => void>();
  readonly #time: VirtualTime;

  constructor(time: VirtualTime, mayFireUnused: boolean) {
    this.mayFireUnused = mayFireUnused;
    this.now = time.now;
    this.elapsedMs = time.elapsedMs;
    this.#time = time;
  }

  readonly schedule = (delayMs: number, onDue: () => void): () => void => {
    if (this.hasEnded) return () => {};
    const cancel = this.#time.schedule(delayMs, () => {
      this.#running.delete(cancel);
      onDue();
    });
    this.#running.add(cancel);
    return () => {
      this.#running.delete(cancel);
      cancel();
    };
  };

  end(): void {
    this.hasEnded = true;
    for (const cancel of this.#running) cancel();
    this.#running.clear();
  }
}
