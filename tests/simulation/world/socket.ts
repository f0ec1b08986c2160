import type { Duplex } from "../../../src/http1/duplex.ts";
import type { Random } from "../../support/fakes/random.ts";
import type { VirtualTime } from "./time.ts";

/** The other end of a {@linkcode SimulatedSocket}. */
export interface Peer {
  /** Bytes have arrived at the provider. */
  onBytes(bytes: Uint8Array): void;
  /** The gateway has closed the connection. Called at once, even if a real provider would never learn of it. */
  onClosed(): void;
}

/** The longest time for which the network gathers bytes before it delivers them, in milliseconds. */
const GATHERED_MS = 20;

/** The moment of a send, and the bytes that arrive right after it. */
interface Sending {
  readonly atMs: number;
  behind: Uint8Array | undefined;
}

/** The most microtasks of others that run before such bytes arrive. */
const MOST_STEPS = 40;

/**
 * A connection between the gateway and a provider. Bytes arrive late, in order, in chunks of any size. Each end may
 * close or break it at any moment.
 */
export class SimulatedSocket implements Duplex {
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #latencyMs: number;
  /** The most bytes that arrive at once. */
  readonly #mostBytes: number;
  readonly #arrived: Uint8Array[] = [];
  /** The provider's last send. */
  #sending: Sending | undefined;
  #waiting: {
    resolve: (count: number | null) => void;
    reject: (cause: Error) => void;
    into: Uint8Array;
  } | undefined;
  #peer: Peer | undefined;
  /** True once the provider has closed its end: later bytes to it are lost. */
  #isLeft = false;
  #hasEnded = false;
  #broken: Error | undefined;
  /** True once the gateway has closed it. */
  isClosed = false;
  /** The number of writes that succeed before one finds the connection closed. */
  goodWrites = Infinity;
  /** True when no byte passes and neither end knows, as behind a firewall that has dropped the connection. */
  isLost = false;

  /** @param mostBytes The most bytes that arrive at once; random by default. */
  constructor(time: VirtualTime, random: Random, mostBytes?: number) {
    this.#time = time;
    this.#random = random;
    this.#latencyMs = 1 + random.below(40);
    const isSplit = random.below(20) === 0;
    this.#mostBytes = mostBytes ?? (isSplit ? 1 + random.below(3) : Infinity);
  }

  /** Connects the provider's end. */
  attach(peer: Peer): void {
    this.#peer = peer;
  }

  /** True when the provider can no longer send or receive. */
  get isOver(): boolean {
    return this.isClosed || this.#isLeft || this.#broken !== undefined;
  }

  read(into: Uint8Array): Promise<number | null> {
    if (this.isClosed) return Promise.reject(new Error("Socket is closed"));
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, into };
      this.#serve();
    });
  }

  write(bytes: Uint8Array): Promise<number> {
    if (this.goodWrites-- === 0) this.breakUnseen();
    if (this.isClosed || this.#broken !== undefined) {
      this.#time.schedule(1, () => this.#serve());
      return Promise.reject(this.#broken ?? new Error("Broken pipe"));
    }
    const count = this.#random.below(4) > 0
      ? bytes.length
      : 1 + this.#random.below(bytes.length);
    const sent = bytes.slice(0, count);
    this.#time.schedule(this.#latencyMs, () => {
      if (this.isClosed || this.isLost) return;
      if (this.#isLeft) this.#break("Connection reset by peer (os error 104)");
      else this.#peer?.onBytes(sent);
    });
    return Promise.resolve(count);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#waiting?.reject(new Error("Socket is closed"));
    this.#waiting = undefined;
    this.#peer?.onClosed();
  }

  /** Closes the connection without a result for the gateway, whose process has ended. */
  abandon(): void {
    this.#waiting = undefined;
    this.close();
  }

  /** Sends bytes to the gateway. */
  send(bytes: Uint8Array): void {
    const atMs = this.#time.elapsedMs();
    const sending: Sending = { atMs, behind: undefined };
    this.#sending = sending;
    this.#later(() => {
      this.#arrived.push(bytes);
      if (sending.behind) void this.#arriveSoon(sending.behind);
    });
  }

  /** Sends bytes that arrive in the same turn as the last ones, perhaps after those were read. */
  sendBehind(bytes: Uint8Array): void {
    if (this.#sending?.atMs === this.#time.elapsedMs()) {
      this.#sending.behind = bytes;
    }
  }

  /** Delivers bytes after some microtasks of the same turn. */
  async #arriveSoon(bytes: Uint8Array): Promise<void> {
    const steps = this.#random.below(MOST_STEPS);
    for (let step = 0; step < steps; step++) await undefined;
    if (this.isClosed || this.isLost) return;
    this.#arrived.push(bytes);
    this.#serve();
  }

  /** Closes the provider's direction in good order. */
  finish(): void {
    this.#isLeft = true;
    this.#later(() => this.#hasEnded = true);
  }

  /** Ends the connection like TLS without `close_notify`: arrived bytes can be read, but the end is not a clean one. */
  cutOff(): void {
    this.#isLeft = true;
    this.#break("peer closed connection without sending TLS close_notify");
  }

  #break(message: string): void {
    this.#later(() => this.#broken ??= new Error(message));
  }

  /** Breaks the connection so that the next write is the first to fail. */
  breakUnseen(): void {
    this.#isLeft = true;
    this.#broken = new Error("Broken pipe (os error 32)");
  }

  /** Resets the connection; unread bytes are lost. */
  reset(): void {
    this.#isLeft = true;
    this.#later(() => {
      this.#arrived.length = 0;
      this.#broken = new Error("Connection reset by peer (os error 104)");
    });
  }

  #later(change: () => void): void {
    this.#time.schedule(this.#latencyMs, () => {
      if (this.isClosed || this.isLost) return;
      change();
      if (this.#random.below(8) > 0) return this.#serve();
      this.#time.schedule(
        this.#random.below(GATHERED_MS),
        () => this.#serve(),
      );
    });
  }

  #serve(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    if (this.#arrived.length > 0) {
      this.#waiting = undefined;
      waiting.resolve(this.#take(waiting.into));
    } else if (this.#broken !== undefined) {
      this.#waiting = undefined;
      waiting.reject(this.#broken);
    } else if (this.#hasEnded) {
      this.#waiting = undefined;
      waiting.resolve(null);
    }
  }

  /** Moves arrived bytes into a buffer: as many as fit, or fewer. */
  #take(into: Uint8Array): number {
    const room = Math.min(into.length, this.#mostBytes);
    const most = this.#random.below(5) > 0
      ? room
      : 1 + this.#random.below(room);
    let count = 0;
    for (;;) {
      const [first] = this.#arrived;
      if (first === undefined || count === most) return count;
      const part = first.subarray(0, most - count);
      into.set(part, count);
      count += part.length;
      if (part.length === first.length) this.#arrived.shift();
      else this.#arrived[0] = first.subarray(part.length);
    }
  }
}
