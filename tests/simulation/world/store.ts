import {
  type StoreConnection,
  StoreError,
  type StoreEvents,
} from "../../../src/gateway/shared/store/store_link.ts";
import type { Random } from "../../support/fakes/random.ts";
import { type Reply, ReplyError, Status } from "./lua.ts";
import { StoreData } from "./store_data.ts";
import type { VirtualTime } from "./time.ts";
import type { Trace } from "./trace.ts";

/** The parts of a world that its store uses. */
interface StoreParts {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
}

/** The silence after which the client of the store gives a connection up, in milliseconds. */
const SILENT_MS = 10_000;

/** The errors that a store gives to everything for a while. */
const ERRORS = [
  "OOM command not allowed when used memory > 'maxmemory'.",
  "READONLY You can't write against a read only replica.",
  "LOADING Redis is loading the dataset in memory",
  "MISCONF Redis is configured to save RDB snapshots",
  "BUSY Redis is busy running a script.",
];

/** The store of the replicas, with its network. It executes the gateway's own scripts. */
export class SimulatedStore {
  readonly data: StoreData;
  /** The number of times that it has lost data. */
  losses = 0;
  /** True once it was unreachable, late or in trouble. */
  hasFailed = false;
  readonly #parts: StoreParts;
  readonly #lines = new Set<StoreLine>();
  readonly #held: (() => void)[] = [];
  /** The difference of its clock, in milliseconds. */
  readonly #aheadMs: number;
  isUp = true;
  latencyMs: number;
  #isPaused = false;
  #error: string | undefined;

  constructor(parts: StoreParts) {
    const { random, time } = parts;
    this.#parts = parts;
    this.#aheadMs = random.pick([0, 0, 1500, -700]);
    this.latencyMs = 1 + random.below(5);
    this.data = new StoreData(() => time.now() + this.#aheadMs);
  }

  /** Connects a replica. */
  connect(events: StoreEvents): StoreLine {
    const line = new StoreLine(this, events, this.#parts);
    this.#lines.add(line);
    return line;
  }

  /** Forgets a connection that is closed for good. */
  forget(line: StoreLine): void {
    this.#lines.delete(line);
  }

  /** Runs a command when the store is not paused, and gives its reply to `reply`. */
  receive(
    command: readonly string[],
    reply: (result: Reply | ReplyError) => void,
  ): void {
    const run = () => reply(this.#run(command));
    if (this.#isPaused) this.#held.push(run);
    else run();
  }

  #run(command: readonly string[]): Reply | ReplyError {
    if (this.#error !== undefined) return new ReplyError(this.#error);
    try {
      return this.data.run(command);
    } catch (cause) {
      if (cause instanceof ReplyError) return cause;
      throw cause;
    }
  }

  /** Lets one thing go wrong. */
  trouble(): void {
    const { random } = this.#parts;
    const lag = random.pick([5, 100, 2000, 60_000]);
    random.pick([
      () => this.cut(random.below(2) === 0),
      () => this.cut(random.below(2) === 0),
      () => this.pause(random.pick([60, 300, 3000, 15_000])),
      () => this.slow(random.pick([10, 19, 25, 60, 400]), random.below(20_000)),
      () => this.refuse(random.pick(ERRORS), random.below(10_000)),
      () => this.restart(random.below(8000)),
      () => this.restart(random.below(8000), this.data.snapshot()),
      () => this.promote(lag),
    ])();
  }

  /** Ends what goes wrong. */
  recover(): void {
    this.isUp = true;
    this.latencyMs = 2;
    this.#error = undefined;
    this.#resume();
  }

  /** Is unreachable until it recovers. */
  goAway(): void {
    this.#note("goes away");
    this.isUp = false;
    for (const line of [...this.#lines]) line.cut();
  }

  #note(text: string): void {
    this.hasFailed = true;
    this.#parts.trace.note(`the store ${text}`);
  }

  /** Breaks its connections, all or some of them; what is on its way may have been executed or not. */
  cut(isAll: boolean): void {
    const { random } = this.#parts;
    this.#note(isAll ? "cuts every connection" : "cuts a connection");
    for (const line of [...this.#lines]) {
      if (isAll || random.below(2) === 0) line.cut();
    }
  }

  /** Answers nothing for a while, and then everything. */
  pause(ms: number): void {
    this.#note(`pauses for ${ms} ms`);
    this.#isPaused = true;
    const { time } = this.#parts;
    if (ms > SILENT_MS) {
      time.schedule(SILENT_MS, () => {
        for (const line of [...this.#lines]) if (line.isWaiting) line.cut();
      });
    }
    time.schedule(ms, () => this.#resume());
  }

  #resume(): void {
    this.#isPaused = false;
    for (const run of this.#held.splice(0)) run();
  }

  /** Takes `latencyMs` in each direction for a while. */
  slow(latencyMs: number, ms: number): void {
    const { time } = this.#parts;
    this.latencyMs = latencyMs;
    this.#note(`takes ${this.latencyMs} ms each way`);
    time.schedule(ms, () => this.latencyMs = 2);
  }

  /** Answers everything with an error for a while. */
  refuse(error: string, ms: number): void {
    this.#error = error;
    this.#note(`answers ${error}`);
    this.#parts.time.schedule(ms, () => this.#error = undefined);
  }

  /** Goes away for a while, and comes back with a snapshot, or empty. */
  restart(ms: number, snapshot?: ReadonlyMap<string, unknown>): void {
    const { time } = this.#parts;
    this.#note(snapshot === undefined ? "dies" : "dies, and keeps its data");
    this.isUp = false;
    if (snapshot === undefined) this.losses++;
    this.#held.length = 0;
    for (const line of [...this.#lines]) line.cut();
    time.schedule(ms, () => {
      this.data.restore(snapshot);
      this.#isPaused = false;
      this.isUp = true;
      this.#note("is back");
    });
  }

  /** A replica that lags behind takes its place. */
  promote(lagMs: number): void {
    const { time } = this.#parts;
    const snapshot = this.data.snapshot();
    time.schedule(lagMs, () => {
      this.#note(`is what it was ${lagMs} ms ago`);
      this.losses++;
      this.data.restore(snapshot);
      for (const line of [...this.#lines]) line.cut();
    });
  }
}

/** A replica's connection to the store. It connects again by itself. */
export class StoreLine implements StoreConnection {
  readonly #store: SimulatedStore;
  readonly #events: StoreEvents;
  readonly #parts: StoreParts;
  readonly #waiting = new Set<(error: StoreError) => void>();
  #state: "opening" | "ready" | "closed" = "opening";
  /** Counts the connections: what was sent on an earlier one has no reply. */
  #number = 0;
  #failures = 0;
  #arrivesMs = 0;
  #cancel = () => {};

  constructor(store: SimulatedStore, events: StoreEvents, parts: StoreParts) {
    this.#store = store;
    this.#events = events;
    this.#parts = parts;
    this.#open();
  }

  /** True while a command has no reply. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  send(command: readonly string[]): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#state !== "ready") {
      reject(new StoreError(""));
      return promise;
    }
    this.#waiting.add(reject);
    const number = this.#number;
    this.#later(() => {
      if (number !== this.#number) return;
      this.#store.receive(command, (result) =>
        this.#later(() => {
          if (number !== this.#number) return;
          this.#waiting.delete(reject);
          if (result instanceof ReplyError) reject(errorOf(result));
          else resolve(plain(result));
        }));
    });
    return promise;
  }

  close(): void {
    this.#state = "closed";
    this.#number++;
    this.#cancel();
    this.#rejectAll();
    this.#store.forget(this);
  }

  /** Ends it as the end of the replica's process does: nobody learns of it. */
  abandon(): void {
    this.#waiting.clear();
    this.close();
  }

  /** Breaks it; commands on their way may have been executed or not. */
  cut(): void {
    if (this.#state === "closed") return;
    this.#state = "opening";
    this.#number++;
    this.#rejectAll();
    this.#events.onBroken(new StoreError(""));
    this.#openLater();
  }

  #rejectAll(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const reject of waiting) reject(new StoreError(""));
  }

  #later(next: () => void): void {
    const { time } = this.#parts;
    this.#arrivesMs = Math.max(
      this.#arrivesMs,
      time.elapsedMs() + this.#store.latencyMs,
    );
    time.schedule(this.#arrivesMs - time.elapsedMs(), next);
  }

  #open(): void {
    const { time, random } = this.#parts;
    this.#cancel = time.schedule(1 + random.below(30), () => {
      if (!this.#store.isUp) {
        this.#events.onBroken(new StoreError(""));
        return this.#openLater();
      }
      this.#failures = 0;
      this.#state = "ready";
      this.#events.onReady();
    });
  }

  #openLater(): void {
    this.#cancel();
    this.#failures++;
    const { time, random } = this.#parts;
    const longestMs = Math.min(100 * 2 ** (this.#failures - 1), 5000);
    const pauseMs = longestMs / 2 + random.below(longestMs / 2);
    this.#cancel = time.schedule(pauseMs, () => this.#open());
  }
}

function errorOf({ message }: ReplyError): StoreError {
  const [code = ""] = /^[A-Z]{2,}(?= |$)/.exec(message) ?? [];
  return new StoreError(code);
}

/** Returns a reply as the client of RESP 2 does. */
export function plain(reply: Reply): unknown {
  if (reply instanceof Status) return reply.text;
  return Array.isArray(reply) ? reply.map(plain) : reply;
}
