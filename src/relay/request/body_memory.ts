import { createDeadlines, type Deadlines } from "../../core/time/deadlines.ts";
import { LinkedList } from "../../core/collections/linked_list.ts";
import { overloadedGateway } from "./overloaded.ts";

/** Keeps count of what bodies take of memory, and turns away what would be too much. */
export interface BodyMemory {
  /** In use now, in bytes. */
  readonly usedBytes: number;
  /**
   * Opens the share of one request.
   *
   * @param maxBytes What all requests together may take; each goes by what was configured when it came.
   */
  open(maxBytes: number): MemoryShare;
}

/** What one request takes of the memory for bodies. */
export interface MemoryShare {
  /**
   * Takes more.
   *
   * @throws {GatewayError} `overloaded`, with `Retry-After`, when there is not so much left.
   */
  take(bytes: number): void;
  /** Gives back what was taken; never more than that. */
  give(bytes: number): void;
  /**
   * Borrows what work on a body takes while it runs. Waits for work of other requests that has borrowed before, and
   * is turned away where there is none that will ever give anything back: bodies that wait must not wait for each
   * other.
   *
   * @throws {GatewayError} `overloaded`, with `Retry-After`, when it is turned away.
   * @throws The reason of `signal`, when that aborts meanwhile.
   */
  borrow(bytes: number, signal: AbortSignal): Promise<MemoryLoan>;
  /** Gives everything back, loans apart; what is taken later counts for nothing. */
  close(): void;
}

/** Memory of work that runs. */
export interface MemoryLoan {
  /** The work is done, and its result takes no more than so much; the rest goes back. */
  keep(bytes: number): void;
  /** Gives back what is left of the loan; only the first call counts. */
  end(): void;
}

/** Work that waits for memory. */
interface Waiting {
  readonly bytes: number;
  readonly maxBytes: number;
  readonly grant: () => void;
  readonly refuse: (error: Error) => void;
}

/** What gateways in other threads of the process take of the same memory. */
export interface MemoryOfOthers {
  /** What they use, in bytes. */
  usedBytes(): number;
  /** How many loans they have for work that still runs. */
  running(): number;
  /** Tells them what this one uses. */
  publish(usedBytes: number, running: number): void;
}

/** Others do not say when they give memory back: who waits looks again after so many milliseconds. */
const LOOK_AGAIN_MS = 50;

/** Nobody else takes of the memory. */
const NO_OTHERS: MemoryOfOthers = {
  usedBytes: () => 0,
  running: () => 0,
  publish() {},
};

/**
 * All memory is free.
 *
 * @param others Who else takes of it; default: nobody.
 * @param deadlines For those who wait for memory that others have.
 */
export function createBodyMemory(
  others: MemoryOfOthers = NO_OTHERS,
  deadlines: Deadlines = createDeadlines(),
): BodyMemory {
  const waiting = new LinkedList<Waiting>();
  let usedBytes = 0;
  /** How many loans are for work that still runs. */
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

  /** Takes so much, if it is free. What is told first and looked at then is never given twice. */
  function take(bytes: number, maxBytes: number): boolean {
    if (usedBytes + bytes > maxBytes) return false;
    setUsed(usedBytes + bytes);
    if (usedBytes + others.usedBytes() <= maxBytes) return true;
    setUsed(usedBytes - bytes);
    return false;
  }

  function lookAgain(): void {
    if (isLooking || others === NO_OTHERS) return;
    isLooking = true;
    deadlines.start(LOOK_AGAIN_MS, () => {
      isLooking = false;
      serveWaiting();
    });
  }

  /** In their order, so that a large body is not passed by small ones forever. */
  function serveWaiting(): void {
    for (let one = waiting.first; one !== undefined; one = waiting.first) {
      const isFree = take(one.bytes, one.maxBytes);
      if (!isFree && running + others.running() > 0) return lookAgain();
      waiting.shift();
      if (isFree) one.grant();
      else one.refuse(full());
    }
  }

  /** Of what was taken already. */
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
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<MemoryLoan> {
    signal.throwIfAborted();
    const granted = Promise.withResolvers<MemoryLoan>();
    const takeOut = waiting.add({
      bytes,
      maxBytes,
      grant: () => granted.resolve(lend(bytes)),
      refuse: granted.reject,
    });
    const leave = () => {
      takeOut();
      granted.reject(signal.reason);
      serveWaiting();
    };
    signal.addEventListener("abort", leave, { once: true });
    serveWaiting();
    try {
      return await granted.promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  return {
    get usedBytes() {
      return usedBytes;
    },
    open(maxBytes) {
      let taken = 0;
      let isClosed = false;
      return {
        take(bytes) {
          if (isClosed) return;
          if (!take(bytes, maxBytes)) throw full();
          taken += bytes;
        },
        give(bytes) {
          const given = Math.min(bytes, taken);
          taken -= given;
          give(given);
        },
        borrow: (bytes, signal) => borrow(bytes, maxBytes, signal),
        close() {
          isClosed = true;
          const rest = taken;
          taken = 0;
          give(rest);
        },
      };
    },
  };
}

function full(): Error {
  return overloadedGateway(
    "the bodies that it holds leave no memory for this one",
  );
}
