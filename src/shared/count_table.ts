/**
 * Counts that the threads of a process keep together, in memory that they share: a column for what is counted, and
 * in it a cell for each thread. A thread changes its own cells alone, and the sum of a column is what all count, so
 * that what a thread held is given back by emptying its cells.
 */
export interface CountTable {
  /** Column after column; grows as columns are added. */
  readonly cells: Int32Array<SharedArrayBuffer>;
  /** How many cells a column has. */
  readonly threads: number;
}

/** As many columns there may be; what is beyond takes no memory until it is used. */
export const MAX_COLUMNS = 2 ** 20;

const FIRST_COLUMNS = 64;

/** How often a count is tried that others withdraw from at the same moment. */
const MAX_TRIES = 8;

/** Creates a table in which everything is 0. */
export function createCountTable(threads: number): CountTable {
  const columnBytes = threads * Int32Array.BYTES_PER_ELEMENT;
  const buffer = new SharedArrayBuffer(FIRST_COLUMNS * columnBytes, {
    maxByteLength: MAX_COLUMNS * columnBytes,
  });
  return { cells: new Int32Array(buffer), threads };
}

/** Makes room for so many columns. */
export function growTable(
  { cells: { buffer }, threads }: CountTable,
  columns: number,
): void {
  const neededBytes = columns * threads * Int32Array.BYTES_PER_ELEMENT;
  if (neededBytes <= buffer.byteLength) return;
  buffer.grow(Math.min(2 * neededBytes, buffer.maxByteLength));
}

/** Gives back what a thread held that is gone. */
export function emptyThread(
  { cells, threads }: CountTable,
  thread: number,
): void {
  for (let cell = thread; cell < cells.length; cell += threads) {
    Atomics.store(cells, cell, 0);
  }
}

/** The sum of a column. */
export function sumOf(table: CountTable, column: number): number {
  return sumWithout(table, column, -1);
}

/**
 * The sum of a column without the cell of one thread. A thread that ended may have given something back after its
 * cells were emptied: less than nothing counts as nothing.
 */
export function sumWithout(
  { cells, threads }: CountTable,
  column: number,
  without: number,
): number {
  const first = column * threads;
  let sum = 0;
  for (let thread = 0; thread < threads; thread++) {
    if (thread === without) continue;
    sum += Math.max(0, Atomics.load(cells, first + thread));
  }
  return sum;
}

/** Whose cell of a table, and in which column. */
export interface Cell {
  readonly thread: number;
  readonly column: number;
}

/**
 * Counts one more in a thread's cell, unless the column's sum would pass `most`. Every thread counts first and looks
 * then, so that two never take the last place both. Two who withdraw because of each other try again.
 *
 * @returns Whether it is counted.
 */
export function addWithin(
  table: CountTable,
  { thread, column }: Cell,
  most: number,
): boolean {
  const cell = column * table.threads + thread;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (sumOf(table, column) >= most) return false;
    Atomics.add(table.cells, cell, 1);
    if (sumOf(table, column) <= most) return true;
    Atomics.sub(table.cells, cell, 1);
  }
  return false;
}

/** Counts one less in a thread's cell. */
export function removeOne(
  { cells, threads }: CountTable,
  { thread, column }: Cell,
): void {
  Atomics.sub(cells, column * threads + thread, 1);
}
