import { LinkedList } from "../../core/collections.ts";
import {
  createDeadlines,
  type Deadlines,
  settled,
} from "../../core/time/deadlines.ts";
import { overloadedGateway } from "./admission.ts";

/**
 * Counts the memory of request bodies and rejects those that exceed the limit.
 *
 * Only work on complete bodies waits for memory. An upload never waits, because two could wait for each other. If no
 * memory is left, the upload that needs more is rejected, unless uploads of another caller can be evicted. So no caller
 * can keep others out with bodies that it does not finish.
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

/** The memory that one request uses for its body. */
export interface MemoryShare {
  /**
   * Begins an upload. While memory is short, uploads may be evicted for other callers' bodies. The caller with the most
   * memory loses its largest uploads first, as long as it holds more than the other caller would.
   *
   * @param declaredBytes The length in the body's header; 0 without one.
   * @param onEvict Called with the error when the upload is evicted. Its memory is free then.
   * @returns A function that ends the upload: the body is complete and is not evicted.
   * @throws {GatewayError} `overloaded`, with `Retry-After`, when the memory does not suffice for this body and the
   * caller's other uploads.
   */
  begin(declaredBytes: number, onEvict: (error: Error) => void): () => void;
  /**
   * Takes memory.
   *
   * @throws {GatewayError} `overloaded`, with `Retry-After`, when there is too little.
   */
  take(bytes: number): void;
  /** Returns memory, at most as much as was taken. */
  give(bytes: number): void;
  /**
   * Borrows memory for work on a body, while it runs. It waits for earlier loans to end. Without such a loan it is
   * rejected, because bodies must not wait for each other.
   *
   * @throws {GatewayError} `overloaded`, with `Retry-After`, when it is rejected.
   * @throws The reason of `signal`, when that aborts meanwhile.
   */
  borrow(bytes: number, signal: AbortSignal): Promise<MemoryLoan>;
  /** Returns all memory except loans. Later calls of `take` do not count. */
  close(): void;
}

/** The memory of work that runs. */
export interface MemoryLoan {
  /** Ends the work. The loan shrinks to the size of its result. */
  keep(bytes: number): void;
  /** Returns the rest of the loan; only the first call counts. */
  end(): void;
}

/** A request that holds memory. */
interface Holder {
  readonly caller: string;
  readonly maxBytes: number;
  /** Its memory except loans, in bytes. */
  bytes: number;
  /** Defined while its body arrives. */
  upload?: Upload | undefined;
}

/** A body that is arriving. */
interface Upload {
  readonly declaredBytes: number;
  readonly onEvict: (error: Error) => void;
}

/** Work that waits for memory. */
interface Waiting {
  readonly bytes: number;
  readonly holder: Holder;
  readonly grant: () => void;
  readonly refuse: (error: Error) => void;
}

/** The use of the same memory by the other threads of the process. */
export interface MemoryOfOthers {
  /** Returns their use, in bytes. */
  usedBytes(): number;
  /** Returns the number of their loans for work that still runs. */
  running(): number;
  /** Publishes the use of this thread to the others. */
  publish(usedBytes: number, running: number): void;
}

/** The pause before the next check for free memory, in milliseconds. Other threads do not announce what they return. */
const LOOK_AGAIN_MS = 50;

/** No other thread uses the memory. */
const NO_OTHERS: MemoryOfOthers = {
  usedBytes: () => 0,
  running: () => 0,
  publish() {},
};

/**
 * Creates a memory that is completely free.
 *
 * @param others The other threads that use it; default: none.
 * @param deadlines Timers for work that waits for the memory of other threads.
 */
export function createBodyMemory(
  others: MemoryOfOthers = NO_OTHERS,
  deadlines: Deadlines = createDeadlines(),
): BodyMemory {
  const waiting = new LinkedList<Waiting>();
  /** The requests with a long body, complete or arriving. */
  const holders = new LinkedList<Holder>();
  let usedBytes = 0;
  /** The number of loans for work that still runs. */
  let running = 0;
  let isLooking = false;

  function give(bytes: number): void {
    setUsed(usedBytes - bytes);
    serveWaiting();
  }

  function setUsed(bytes: number): void {
    usedBytes = bytes;
    others.publish(usedBytes, running);
  }

  /** Takes memory if it is free. It publishes before it looks, so that two threads never take the same memory. */
  function takeFree(bytes: number, maxBytes: number): boolean {
    if (usedBytes + bytes > maxBytes) return false;
    setUsed(usedBytes + bytes);
    if (usedBytes + others.usedBytes() <= maxBytes) return true;
    setUsed(usedBytes - bytes);
    return false;
  }

  /** Takes memory if it is free, or if evicting uploads frees it. */
  function take(bytes: number, holder: Holder): boolean {
    if (takeFree(bytes, holder.maxBytes)) return true;
    const evicted = uploadsToEvict(bytes, holder);
    if (evicted === undefined) return false;
    for (const one of evicted) {
      const { upload } = one;
      one.upload = undefined;
      setUsed(usedBytes - one.bytes);
      one.bytes = 0;
      upload?.onEvict(full(one.maxBytes));
    }
    return takeFree(bytes, holder.maxBytes);
  }

  /** Returns the uploads to evict for the memory; `undefined` when they do not suffice. */
  function uploadsToEvict(
    bytes: number,
    { caller, maxBytes }: Holder,
  ): readonly Holder[] | undefined {
    let missing = usedBytes + others.usedBytes() + bytes - maxBytes;
    if (missing <= 0) return [];
    const held = new Map<string, number>();
    for (const one of holders) {
      held.set(one.caller, one.bytes + (held.get(one.caller) ?? 0));
    }
    const enough = bytes + (held.get(caller) ?? 0);
    let [heaviest, most] = ["", enough];
    const uploads = [...holders].filter(({ upload }) => upload !== undefined);
    for (const { caller } of uploads) {
      const sum = held.get(caller) ?? 0;
      if (sum > most) [heaviest, most] = [caller, sum];
    }
    const evicted: Holder[] = [];
    const largestFirst = uploads.filter(({ caller }) => caller === heaviest)
      .sort((one, other) => other.bytes - one.bytes);
    for (const one of largestFirst) {
      if (missing <= 0 || most <= enough) break;
      evicted.push(one);
      missing -= one.bytes;
      most -= one.bytes;
    }
    return missing <= 0 ? evicted : undefined;
  }

  /** Returns the bytes that a caller's uploads have announced but not sent yet. */
  function announcedBytes(caller: string): number {
    let sum = 0;
    for (const { caller: one, bytes, upload } of holders) {
      if (one !== caller || upload === undefined) continue;
      sum += Math.max(0, upload.declaredBytes - bytes);
    }
    return sum;
  }

  function lookAgain(): void {
    if (isLooking || others === NO_OTHERS) return;
    isLooking = true;
    deadlines.start(LOOK_AGAIN_MS, () => {
      isLooking = false;
      serveWaiting();
    });
  }

  /** Serves waiting work in its order, so that small bodies never pass a large one. */
  function serveWaiting(): void {
    for (let one = waiting.first; one !== undefined; one = waiting.first) {
      const isFree = take(one.bytes, one.holder);
      if (!isFree && running + others.running() > 0) return lookAgain();
      waiting.shift();
      if (isFree) one.grant();
      else one.refuse(full(one.holder.maxBytes));
    }
  }

  /** Creates a loan of memory that was taken before. */
  function lend(bytes: number): MemoryLoan {
    running += 1;
    setUsed(usedBytes);
    let left = bytes;
    let isRunning = true;
    const shrink = (kept: number) => {
      if (isRunning) running -= 1;
      isRunning = false;
      const rest = Math.max(0, left - kept);
      left -= rest;
      give(rest);
    };
    return { keep: shrink, end: () => shrink(0) };
  }

  async function borrow(
    bytes: number,
    holder: Holder,
    signal: AbortSignal,
  ): Promise<MemoryLoan> {
    signal.throwIfAborted();
    const granted = Promise.withResolvers<MemoryLoan>();
    const takeOut = waiting.add({
      bytes,
      holder,
      grant: () => granted.resolve(lend(bytes)),
      refuse: granted.reject,
    });
    serveWaiting();
    return await settled(granted, signal, () => {
      takeOut();
      serveWaiting();
    });
  }

  return {
    get usedBytes() {
      return usedBytes;
    },
    open(maxBytes, caller) {
      const holder: Holder = { caller, maxBytes, bytes: 0 };
      let leave = () => {};
      let isClosed = false;
      return {
        begin(declaredBytes, onEvict) {
          const bytes = declaredBytes + announcedBytes(caller);
          if (uploadsToEvict(bytes, holder) === undefined) throw full(maxBytes);
          holder.upload = { declaredBytes, onEvict };
          leave = holders.add(holder);
          return () => void (holder.upload = undefined);
        },
        take(bytes) {
          if (isClosed) return;
          if (!take(bytes, holder)) throw full(maxBytes);
          holder.bytes += bytes;
        },
        give(bytes) {
          const given = Math.min(bytes, holder.bytes);
          holder.bytes -= given;
          give(given);
        },
        borrow: (bytes, signal) => borrow(bytes, holder, signal),
        close() {
          isClosed = true;
          leave();
          const rest = holder.bytes;
          holder.bytes = 0;
          give(rest);
        },
      };
    },
  };
}

function full(maxBytes: number): Error {
  return overloadedGateway(
    "the bodies in memory leave no room for this one",
    { limit: `${maxBytes} bytes of memory for bodies` },
  );
}
