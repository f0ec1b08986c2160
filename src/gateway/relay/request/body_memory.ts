import { LinkedList, type TakeOut } from "@gateway/base/collections";
import {
  createDeadlines,
  type Deadlines,
  settled,
} from "@gateway/base/time/deadlines";
import { overloadedGateway } from "./admission.ts";
import { bodiesToEvict, type Evictable } from "./evictable_bodies.ts";

/**
 * Counts the memory of request bodies. Rejects the bodies that exceed the limit.
 *
 * Only work on complete bodies waits for memory. An upload never waits, because two uploads could wait for each other.
 * If no memory is left, the upload that needs more is rejected, unless bodies of other callers can be evicted. Uploads,
 * and bodies of requests that wait for their turn, can be evicted. So one caller's uploads and waits cannot keep other
 * callers out.
 */
export interface BodyMemory {
  /** The memory in use, in bytes. */
  readonly usedBytes: number;
  /**
   * Opens the account of one request.
   *
   * @param maxBytes The limit for all requests together, from the configuration when this request arrived.
   * @param caller The id that the requests of one caller share.
   */
  open(maxBytes: number, caller: string): MemoryShare;
}

/** The memory that running work has borrowed. */
export interface MemoryLoan {
  /** Ends the work. The loan shrinks to the size of the work's result. */
  keep(bytes: number): void;
  /** Returns the rest of the loan; only the first call counts. */
  end(): void;
}

/** Work that waits for memory. */
interface Waiting {
  readonly bytes: number;
  readonly share: MemoryShare;
  readonly grant: () => void;
  readonly refuse: (error: Error) => void;
}

/** The use of the same memory by the other threads of the process. */
export interface MemoryOfOthers {
  /** The number of all threads, including this thread. */
  readonly threads: number;
  /** Returns the memory that the other threads use, in bytes. */
  usedBytes(): number;
  /** Returns the number of the other threads' loans for work that still runs. */
  running(): number;
  /** Publishes the use of this thread to the others. */
  publish(usedBytes: number, running: number): void;
}

/** The pause before the next check for free memory, in milliseconds. Other threads free memory without notice. */
const LOOK_AGAIN_MS = 50;

/**
 * With several threads, each thread evicts waiting bodies once all bodies use more than this share of the memory. No
 * thread can free the memory of another thread.
 */
const WAITING_SHARE = 0.75;

/** No other thread uses the memory. */
const NO_OTHERS: MemoryOfOthers = {
  threads: 1,
  usedBytes: () => 0,
  running: () => 0,
  publish() {},
};

/**
 * Creates a memory that is completely free.
 *
 * @param others The other threads that use the same memory; default: none.
 * @param deadlines Timers for work that waits for the memory of other threads.
 */
export function createBodyMemory(
  others: MemoryOfOthers = NO_OTHERS,
  deadlines: Deadlines = createDeadlines(),
): BodyMemory {
  const loans = new Loans(new UsedMemory(others), deadlines);
  return {
    get usedBytes() {
      return loans.used.bytes;
    },
    open: (maxBytes, caller) => new MemoryShare(loans, maxBytes, caller),
  };
}

/** The memory that one request uses for its body. */
export class MemoryShare {
  readonly maxBytes: number;
  readonly caller: string;
  /** The memory of the request without its loans, in bytes. */
  bytes = 0;
  /** Defined while the request's body may be evicted. */
  evictable: Evictable | undefined;
  readonly #loans: Loans;
  #leave: TakeOut | undefined;
  #isClosed = false;

  constructor(loans: Loans, maxBytes: number, caller: string) {
    this.#loans = loans;
    this.maxBytes = maxBytes;
    this.caller = caller;
  }

  /**
   * Begins an upload. While memory is short, uploads may be evicted for other callers' bodies. The caller with the most
   * memory loses its largest uploads first, as long as this caller holds more memory than the other caller would
   * (`bodiesToEvict`).
   *
   * @param declaredBytes The length in the request's headers; 0 if they name none.
   * @param onEvict Called with the error when the upload is evicted. The upload's memory is then free.
   * @returns A function to call when the body is complete. After that call, the body can no longer be evicted.
   * @throws {GatewayError} `overloaded`, with `Retry-After`, when the memory does not suffice for this body and the
   * caller's other uploads.
   */
  begin(declaredBytes: number, onEvict: (error: Error) => void): () => void {
    const { used } = this.#loans;
    const bytes = declaredBytes + used.announcedBytes(this.caller);
    const evicted = used.toEvict(bytes, this);
    if (evicted === undefined) throw full(this.maxBytes);
    return this.#giveWay({ declaredBytes, isWaiting: false, onEvict });
  }

  /**
   * Lets the body give way to others while its request waits for its turn (`bodiesToEvict`).
   *
   * @param onEvict Called with the error when the wait must end. The memory of the body is free then.
   * @returns A function to call when the request no longer waits.
   */
  wait(onEvict: (error: Error) => void): () => void {
    const stop = this.#giveWay({ declaredBytes: 0, isWaiting: true, onEvict });
    this.#loans.used.limitWaits(this.maxBytes);
    return stop;
  }

  #giveWay(evictable: Evictable): () => void {
    this.#leave ??= this.#loans.used.shares.add(this);
    this.evictable = evictable;
    return () => void (this.evictable = undefined);
  }

  /**
   * Takes memory.
   *
   * @throws {GatewayError} `overloaded`, with `Retry-After`, when too little memory is free.
   */
  take(bytes: number): void {
    if (this.#isClosed) return;
    if (!this.#loans.used.take(bytes, this)) throw full(this.maxBytes);
    this.bytes += bytes;
  }

  /** Returns memory, at most as much as was taken. */
  give(bytes: number): void {
    const given = Math.min(bytes, this.bytes);
    this.bytes -= given;
    this.#loans.give(given);
  }

  /**
   * Borrows memory while work on a body runs. If too little is free, waits for earlier loans to end. If no loan is left
   * to wait for, rejects the work, because bodies must not wait for each other.
   *
   * @throws {GatewayError} `overloaded`, with `Retry-After`, when the work is rejected.
   * @throws The reason of `signal`, when the signal aborts meanwhile.
   */
  borrow(bytes: number, signal: AbortSignal): Promise<MemoryLoan> {
    return this.#loans.borrow(bytes, this, signal);
  }

  /** Returns all memory except loans. Later calls of `take` have no effect. */
  close(): void {
    this.#isClosed = true;
    this.#leave?.();
    this.give(this.bytes);
  }
}

/** The memory in use, and its shares. */
class UsedMemory {
  readonly others: MemoryOfOthers;
  /** The shares of requests with a long body, complete or arriving, and of requests that have waited for their turn. */
  readonly shares = new LinkedList<MemoryShare>();
  bytes = 0;
  /** The number of loans for work that still runs. */
  running = 0;

  constructor(others: MemoryOfOthers) {
    this.others = others;
  }

  set(bytes: number): void {
    this.bytes = bytes;
    this.others.publish(bytes, this.running);
  }

  /** Takes memory if it is free, or if evicting bodies frees it. */
  take(bytes: number, share: MemoryShare): boolean {
    if (this.#takeFree(bytes, share.maxBytes)) return true;
    const evicted = this.toEvict(bytes, share);
    if (evicted === undefined) return false;
    this.#evict(evicted);
    return this.#takeFree(bytes, share.maxBytes);
  }

  /** Ends waits beyond this thread's share of the memory while all threads together leave too little to new bodies. */
  limitWaits(maxBytes: number): void {
    const { threads } = this.others;
    if (threads === 1) return;
    const waits = [...this.shares].filter((one) => one.evictable?.isWaiting);
    const mostBytes = WAITING_SHARE * maxBytes;
    const missingBytes = Math.min(
      this.bytes + this.others.usedBytes() - mostBytes,
      waits.reduce((sum, { bytes }) => sum + bytes, 0) - mostBytes / threads,
    );
    const need = { caller: "", bytes: 0, missingBytes, maxBytes };
    this.#evict(bodiesToEvict(waits, need) ?? []);
  }

  #evict(shares: readonly MemoryShare[]): void {
    for (const one of shares) {
      const { evictable } = one;
      one.evictable = undefined;
      this.set(this.bytes - one.bytes);
      one.bytes = 0;
      evictable?.onEvict(full(one.maxBytes));
    }
  }

  /**
   * Takes memory if it is free. Publishes the new use before looking, so that two threads never take the same memory.
   */
  #takeFree(bytes: number, maxBytes: number): boolean {
    if (this.bytes + bytes > maxBytes) return false;
    this.set(this.bytes + bytes);
    if (this.bytes + this.others.usedBytes() <= maxBytes) return true;
    this.set(this.bytes - bytes);
    return false;
  }

  /** Returns the bodies to evict to free the memory; `undefined` when evicting bodies does not free enough. */
  toEvict(
    bytes: number,
    { caller, maxBytes }: MemoryShare,
  ): readonly MemoryShare[] | undefined {
    const usedBytes = this.bytes + this.others.usedBytes();
    const missingBytes = usedBytes + bytes - maxBytes;
    return missingBytes <= 0
      ? []
      : bodiesToEvict(this.shares, { caller, bytes, missingBytes, maxBytes });
  }

  /** Returns the bytes that a caller's uploads have announced but not sent yet. */
  announcedBytes(caller: string): number {
    let sum = 0;
    for (const { caller: one, bytes, evictable } of this.shares) {
      if (one !== caller || evictable === undefined) continue;
      sum += Math.max(0, evictable.declaredBytes - bytes);
    }
    return sum;
  }
}

/** The loans, and the work that waits for a loan. */
class Loans {
  readonly used: UsedMemory;
  readonly #deadlines: Deadlines;
  readonly #waiting = new LinkedList<Waiting>();
  #isLooking = false;

  constructor(used: UsedMemory, deadlines: Deadlines) {
    this.used = used;
    this.#deadlines = deadlines;
  }

  async borrow(
    bytes: number,
    share: MemoryShare,
    signal: AbortSignal,
  ): Promise<MemoryLoan> {
    signal.throwIfAborted();
    const granted = Promise.withResolvers<MemoryLoan>();
    const takeOut = this.#waiting.add({
      bytes,
      share,
      grant: () => granted.resolve(this.#lend(bytes)),
      refuse: granted.reject,
    });
    this.#serveWaiting();
    return await settled(granted, signal, () => {
      takeOut();
      this.#serveWaiting();
    });
  }

  /** Gives back memory that was taken. */
  give(bytes: number): void {
    this.used.set(this.used.bytes - bytes);
    this.#serveWaiting();
  }

  /** Serves waiting work in the order of arrival, so that small bodies never pass a large body. */
  #serveWaiting(): void {
    const [waiting, used] = [this.#waiting, this.used];
    for (let one = waiting.first; one !== undefined; one = waiting.first) {
      const isFree = used.take(one.bytes, one.share);
      if (!isFree && used.running + used.others.running() > 0) {
        return this.#lookAgain();
      }
      waiting.shift();
      if (isFree) one.grant();
      else one.refuse(full(one.share.maxBytes));
    }
  }

  #lookAgain(): void {
    if (this.#isLooking || this.used.others === NO_OTHERS) return;
    this.#isLooking = true;
    this.#deadlines.start(LOOK_AGAIN_MS, () => {
      this.#isLooking = false;
      this.#serveWaiting();
    });
  }

  /** Creates a loan of memory that was taken before. */
  #lend(bytes: number): MemoryLoan {
    const used = this.used;
    used.running += 1;
    used.set(used.bytes);
    let left = bytes;
    let isRunning = true;
    const shrink = (kept: number) => {
      if (isRunning) used.running -= 1;
      isRunning = false;
      const rest = Math.max(0, left - kept);
      left -= rest;
      this.give(rest);
    };
    return { keep: shrink, end: () => shrink(0) };
  }
}

function full(maxBytes: number): Error {
  return overloadedGateway(
    "the bodies in memory leave no room for this one",
    { limit: `${maxBytes} bytes of memory for bodies` },
  );
}
