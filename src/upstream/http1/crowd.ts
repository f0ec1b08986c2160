import { setImmediate } from "node:timers";

/**
 * The number of reads from which a turn of the event loop is crowded. The platform ends 128 in a turn. It puts the other
 * sockets whose bytes have arrived behind those whose bytes arrive during the turn.
 */
const MANY_READS = 64;

/** The most turns of a crowd: enough for a thousand sockets. Many busy streams are a crowd without an end. */
const MAX_TURNS = 8;

let reads = 0;
let turns = 0;
let crowd: PromiseWithResolvers<void> | undefined;

/** Counts a read that has ended. A count may run over several turns, because to count each turn has its cost. */
export function countRead(): void {
  if (++reads < MANY_READS || crowd !== undefined) return;
  crowd = Promise.withResolvers();
  setImmediate(endTurn);
}

function endTurn(): void {
  const isCrowded = reads >= MANY_READS && turns < MAX_TURNS;
  reads = 0;
  turns = isCrowded ? turns + 1 : 0;
  if (isCrowded) return void setImmediate(endTurn);
  crowd?.resolve();
  crowd = undefined;
}

/**
 * Returns the end of a crowd, before which nothing is to be written: the other side would answer at once, and come
 * before all sockets that wait. Again and again, the same ones would be served.
 */
export function endOfCrowd(): Promise<void> | undefined {
  return crowd?.promise;
}
