import {
  addWithin,
  type CountTable,
  removeOne,
} from "../../../src/shared/thread_counts.ts";

/** What a {@linkcode hammer} is to do. */
export interface Hammering {
  readonly table: CountTable;
  readonly thread: number;
  /** Places there are in column 0. */
  readonly most: number;
  readonly rounds: number;
  /** How many hold a place at the moment, counted beside the table. */
  readonly inside: Int32Array<SharedArrayBuffer>;
}

/** What came of it. */
export interface Hammered {
  readonly got: number;
  /** The most that ever held a place at once, as this thread saw it. */
  readonly mostInside: number;
}

globalThis.addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  event.ports[0]?.postMessage(hammer(event.data));
});

/** Takes a place and gives it back, again and again. */
function hammer(
  { table, thread, most, rounds, inside }: Hammering,
): Hammered {
  let got = 0;
  let mostInside = 0;
  const cell = { thread, column: 0 };
  for (let round = 0; round < rounds; round++) {
    if (!addWithin(table, cell, most)) continue;
    got += 1;
    mostInside = Math.max(mostInside, Atomics.add(inside, 0, 1) + 1);
    Atomics.sub(inside, 0, 1);
    removeOne(table, cell);
  }
  return { got, mostInside };
}
