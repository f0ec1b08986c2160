import { LinkedList } from "../../core/collections.ts";
import {
  createDeadlines,
  type Deadlines,
  settled,
} from "../../core/time/deadlines.ts";
import { overloadedGateway } from "./admission.ts";

/**
 * Keeps count of what bodies take of memory, and turns away what would be too much. Only work on whole bodies waits for
 * memory. A body that is on its way never does, or two could wait for each other: when there is none left, the one that
 * asks for more is refused, unless the uploads of another caller give way to it. So no caller, however many bodies it
 * begins and does not end, keeps others out.
 */
export interface BodyMemory {
  /** In use now, in bytes. */
  readonly usedBytes: number;
  /**
   * Opens the share of one request.
   *
   * @param maxBytes What all requests together may take; each goes by what was configured when it came.
   * @param caller By which the requests of one caller are known.
   */
  open(maxBytes: number, caller: string): MemoryShare;
}

/** What one request takes of the memory for bodies. */
export interface MemoryShare {
  /**
   * Begins an upload. While memory is short, uploads give way to the bodies of other callers: the largest ones of the
   * caller that holds most, as long as it holds more than the other one would.
   *
   * @param declaredBytes How long the body says that it is; 0 where it does not.
   * @param onGiveWay Called with the error when the upload gives way. Its memory is free then.
   * @returns Ends the upload: the body is whole and does not give way.
   * @throws {GatewayError} `overloaded`, with `Retry-After`, when there is no memory for so much, beside what the
   * caller's other uploads declare.
   */
  begin(declaredBytes: number, onGiveWay: (error: Error) => void): () => void;
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

/** Whom memory is for. */
interface Holder {
  readonly caller: string;
  readonly maxBytes: number;
  /** What it holds, loans apart. */
  bytes: number;
  /** While its body is on its way. */
  upload?: Upload | undefined;
}

/** A body that is on its way. */
interface Upload {
  readonly declaredBytes: number;
  readonly onGiveWay: (error: Error) => void;
}

/** Work that waits for memory. */
interface Waiting {
  readonly bytes: number;
  readonly holder: Holder;
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
  /** Those with a long body, whole or on its way. */
  const holders = new LinkedList<Holder>();
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

  /** Takes so much, if it is free. It publishes first and looks then, so that nothing is given twice. */
  function takeFree(bytes: number, maxBytes: number): boolean {
    if (usedBytes + bytes > maxBytes) return false;
    setUsed(usedBytes + bytes);
    if (usedBytes + others.usedBytes() <= maxBytes) return true;
    setUsed(usedBytes - bytes);
    return false;
  }

  /** Takes so much, if it is free or uploads give way. */
  function take(bytes: number, holder: Holder): boolean {
    if (takeFree(bytes, holder.maxBytes)) return true;
    const givers = giversFor(bytes, holder);
    if (givers === undefined) return false;
    for (const giver of givers) {
      const { upload } = giver;
      giver.upload = undefined;
      setUsed(usedBytes - giver.bytes);
      giver.bytes = 0;
      upload?.onGiveWay(full(giver.maxBytes));
    }
    return takeFree(bytes, holder.maxBytes);
  }

  /** The uploads that have to give way so that so much is free; `undefined` where that is not enough. */
  function giversFor(
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
    const givers: Holder[] = [];
    const largestFirst = uploads.filter(({ caller }) => caller === heaviest)
      .sort((one, other) => other.bytes - one.bytes);
    for (const one of largestFirst) {
      if (missing <= 0 || most <= enough) break;
      givers.push(one);
      missing -= one.bytes;
      most -= one.bytes;
    }
    return missing <= 0 ? givers : undefined;
  }

  /** What a caller's uploads say that they still bring, in bytes. */
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

  /** In their order, so that a large body is not passed by small ones forever. */
  function serveWaiting(): void {
    for (let one = waiting.first; one !== undefined; one = waiting.first) {
      const isFree = take(one.bytes, one.holder);
      if (!isFree && running + others.running() > 0) return lookAgain();
      waiting.shift();
      if (isFree) one.grant();
      else one.refuse(full(one.holder.maxBytes));
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
        begin(declaredBytes, onGiveWay) {
          const bytes = declaredBytes + announcedBytes(caller);
          if (giversFor(bytes, holder) === undefined) throw full(maxBytes);
          holder.upload = { declaredBytes, onGiveWay };
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
    "the bodies that it holds leave no memory for this one",
    { limit: `${maxBytes} bytes of memory for bodies` },
  );
}
