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

/** The silence after which the store's client closes a connection, in milliseconds. */
const SILENT_MS = 10_000;

/** Errors that a store may give to every command for a while. */
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
  /** The number of its losses of data. */
  losses = 0;
  /** True once it has been unreachable, late or faulty. */
  hasFailed = false;
  readonly #parts: StoreParts;
  readonly #lines = new Set<StoreLine>();
  readonly #held: (() => void)[] = [];
  /** The lead of its clock, in milliseconds. */
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

  /** Runs a command, after a pause if there is one, and passes its reply to `reply`. */
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

  /** Starts a random fault. */
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

  /** Ends all faults. */
  recover(): void {
    this.isUp = true;
    this.latencyMs = 2;
    this.#error = undefined;
    this.#resume();
  }

  /** Makes the store unreachable until it recovers. */
  goAway(): void {
    this.#note("goes away");
    this.isUp = false;
    for (const line of [...this.#lines]) line.cut();
  }

  #note(text: string): void {
    this.hasFailed = true;
    this.#parts.trace.note(`the store ${text}`);
  }

  /** Breaks all or some connections. Commands under way may or may not have been executed. */
  cut(isAll: boolean): void {
    const { random } = this.#parts;
    this.#note(isAll ? "cuts every connection" : "cuts a connection");
    for (const line of [...this.#lines]) {
      if (isAll || random.below(2) === 0) line.cut();
    }
  }

  /** Holds all replies for a while. */
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

  /** Delays each direction by `latencyMs` for a while. */
  slow(latencyMs: number, ms: number): void {
    const { time } = this.#parts;
    this.latencyMs = latencyMs;
    this.#note(`takes ${this.latencyMs} ms each way`);
    time.schedule(ms, () => this.latencyMs = 2);
  }

  /** Replies to every command with an error for a while. */
  refuse(error: string, ms: number): void {
    this.#error = error;
    this.#note(`answers ${error}`);
    this.#parts.time.schedule(ms, () => this.#error = undefined);
  }

  /** Restarts the store: it is unreachable for a while, and comes back with a snapshot or empty. */
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

  /** Replaces the store with its replica, which has the data of `lagMs` ago. */
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

/** A replica's connection to the store. It reconnects by itself. */
export class StoreLine implements StoreConnection {
  readonly #store: SimulatedStore;
  readonly #events: StoreEvents;
  readonly #parts: StoreParts;
  readonly #waiting = new Set<(error: StoreError) => void>();
  #state: "opening" | "ready" | "closed" = "opening";
  /** The number of its connections so far: commands on an earlier one get no reply. */
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

  /** Closes the connection without rejecting its commands: their process has ended. */
  abandon(): void {
    this.#waiting.clear();
    this.close();
  }

  /** Breaks the connection. Commands under way may or may not have been executed. */
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

/** Returns a reply in the types of a RESP 2 client. */
export function plain(reply: Reply): unknown {
  if (reply instanceof Status) return reply.text;
  return Array.isArray(reply) ? reply.map(plain) : reply;
}
