import { setImmediate } from "node:timers";

/**
 * The number of reads from which a turn of the event loop is crowded. The platform ends 128 in a turn. It puts the other
 * sockets whose bytes have arrived behind those whose bytes arrive during the turn.
 */
const MANY_READS = 64;

/** The number of reads from which the end of a turn is awaited, so that a few sockets cost nothing. */
const SOME_READS = 32;

/** The most turns of a crowd: enough for a thousand sockets. Many busy streams are a crowd without an end. */
const MAX_TURNS = 8;

/**
 * The sockets of an event loop that have bytes to read. While there are many, nothing is written: the other side would
 * answer at once, and come before all sockets that wait. The same ones would be served again and again.
 */
export interface Crowd {
  /** Counts a read that has ended. */
  countRead(): void;
  /** Resolves when nothing needs to wait any more; `undefined` when nothing does now. */
  readonly end: Promise<void> | undefined;
}

/** The crowd of this thread's event loop. */
export const eventLoopCrowd: Crowd = createCrowd();

/** Creates an empty crowd. The first few reads may be of several turns, because to await each turn's end has its cost. */
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
