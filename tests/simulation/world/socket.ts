import type { Duplex } from "../../../src/http1/duplex.ts";
import type { Random } from "../../support/fakes/random.ts";
import type { VirtualTime } from "./time.ts";

/** The other end of a {@linkcode SimulatedSocket}. */
export interface Peer {
  /** Bytes have arrived at the provider. */
  onBytes(bytes: Uint8Array): void;
  /** The gateway has closed the connection; called at once, even where a real provider would not learn of it. */
  onClosed(): void;
}

/** The longest time for which the network gathers bytes before it delivers them, in milliseconds. */
const GATHERED_MS = 20;

/** When a provider sent bytes, and what comes behind them. */
interface Sending {
  readonly atMs: number;
  behind: Uint8Array | undefined;
}

/** The most steps of others that come before bytes of the same turn. */
const MOST_STEPS = 40;

/**
 * A connection between the gateway and a provider: bytes arrive late and in pieces of any size, in order. Each end may
 * close or break it at any moment.
 */
export class SimulatedSocket implements Duplex {
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #latencyMs: number;
  /** The most bytes that arrive at once. */
  readonly #mostBytes: number;
  readonly #arrived: Uint8Array[] = [];
  /** What the provider sent last, and when. */
  #sending: Sending | undefined;
  #waiting: {
    resolve: (count: number | null) => void;
    reject: (cause: Error) => void;
    into: Uint8Array;
  } | undefined;
  #peer: Peer | undefined;
  /** True once the provider has ended it; what arrives there afterwards is lost. */
  #isLeft = false;
  #hasEnded = false;
  #broken: Error | undefined;
  /** True once the gateway has closed it. */
  isClosed = false;
  /** The writes that succeed; the next one learns that the connection has ended. */
  goodWrites = Infinity;
  /** True while no byte passes in either direction and no end learns of it, as behind a firewall that forgot it. */
  isLost = false;

  /** @param mostBytes The most bytes that arrive at once; chosen at random unless it is given. */
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

  /** True when the provider can neither send nor receive on it. */
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

  /** Ends it as the end of the gateway's process does: the gateway does not learn of it. */
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

  /** Sends bytes that arrive in the turn of those that were sent last, when those may have been read. */
  sendBehind(bytes: Uint8Array): void {
    if (this.#sending?.atMs === this.#time.elapsedMs()) {
      this.#sending.behind = bytes;
    }
  }

  /** Lets bytes arrive while others work in the same turn. */
  async #arriveSoon(bytes: Uint8Array): Promise<void> {
    const steps = this.#random.below(MOST_STEPS);
    for (let step = 0; step < steps; step++) await undefined;
    if (this.isClosed || this.isLost) return;
    this.#arrived.push(bytes);
    this.#serve();
  }

  /** Ends the provider's direction in good order. */
  finish(): void {
    this.#isLeft = true;
    this.#later(() => this.#hasEnded = true);
  }

  /** Ends it as TLS without `close_notify` does: what has arrived can be read, and then nothing shows that all came. */
  cutOff(): void {
    this.#isLeft = true;
    this.#break("peer closed connection without sending TLS close_notify");
  }

  #break(message: string): void {
    this.#later(() => this.#broken ??= new Error(message));
  }

  /** Breaks it so that the next write learns of it first, as when the end is on its way. */
  breakUnseen(): void {
    this.#isLeft = true;
    this.#broken = new Error("Broken pipe (os error 32)");
  }

  /** Breaks the connection; what has not been read yet is lost. */
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

  /** Takes what has arrived, as far as there is room, or less. */
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
