import { setImmediate } from "node:timers";

/**
 * The number of reads that make a turn of the event loop crowded. The platform completes at most 128 reads in a turn.
 * Sockets whose bytes arrive during the turn are then served before sockets that were ready earlier.
 */
const MANY_READS = 64;

/** The number of reads after which the turn's end is awaited, so that a few sockets cost nothing. */
const SOME_READS = 32;

/** The most turns of a crowd: enough for a thousand sockets. Many busy streams would otherwise be a crowd for ever. */
const MAX_TURNS = 8;

/**
 * The sockets of an event loop that have bytes to read. While there are many such sockets, nothing is written. The
 * other side would answer a write at once, and its socket would be served before all waiting sockets, so that the same
 * few sockets would be served again and again.
 */
export interface Crowd {
  /** Counts a read that has ended. */
  countRead(): void;
  /** Resolves when writes may go on; `undefined` when writes need not wait. */
  readonly end: Promise<void> | undefined;
}

/** The crowd of this thread's event loop. */
export const eventLoopCrowd: Crowd = createCrowd();

/**
 * Creates an empty crowd. The crowd counts the first few reads across turns, because awaiting the end of each turn is
 * costly.
 */
function createCrowd(): Crowd {
  let reads = 0;
  let turns = 0;
  let crowd: PromiseWithResolvers<void> | undefined;

  function endTurn(): void {
    const isCrowded = reads >= MANY_READS && turns < MAX_TURNS;
    reads = 0;
    turns = isCrowded ? turns + 1 : 0;
    if (isCrowded) return void setImmediate(endTurn);
    crowd?.resolve();
    crowd = undefined;
  }

  return {
    countRead() {
      reads += 1;
      if (reads === SOME_READS && crowd === undefined) setImmediate(endTurn);
      if (reads === MANY_READS) crowd ??= Promise.withResolvers();
    },
    get end() {
      return crowd?.promise;
    },
  };
}
