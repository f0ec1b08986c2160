import {
  addWithin,
  type createCountTable,
  removeOne,
} from "../../../src/gateway/shared/thread_counts.ts";

type CountTable = ReturnType<typeof createCountTable>;

/** The parameters of {@linkcode hammer}. */
export interface Hammering {
  readonly table: CountTable;
  readonly thread: number;
  /** The number of places in column 0. */
  readonly most: number;
  readonly rounds: number;
  /** The current number of taken places, counted outside the table. */
  readonly inside: Int32Array<SharedArrayBuffer>;
}

/** The result of {@linkcode hammer}. */
export interface Hammered {
  readonly got: number;
  /** The highest number of taken places that this thread saw. */
  readonly mostInside: number;
}

globalThis.addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  event.ports[0]?.postMessage(hammer(event.data));
});

/** Takes a place and releases it, again and again. */
function hammer({ table, thread, most, rounds, inside }: Hammering): Hammered {
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
