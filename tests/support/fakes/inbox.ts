import { within } from "../within.ts";

/** A queue of items that a test can wait for. */
export interface Inbox<Item extends object> {
  /** All items so far. */
  readonly items: readonly Item[];
  put(item: Item): void;
  /** Takes the first remaining item; waits for it, with a timeout. */
  next(): Promise<Item>;
}

/**
 * Creates an empty {@linkcode Inbox}.
 *
 * @param what The name of an item for errors, such as `a log line`.
 */
export function createInbox<Item extends object>(what: string): Inbox<Item> {
  const items: Item[] = [];
  const untaken: Item[] = [];
  const takers: ((item: Item) => void)[] = [];
  return {
    items,
    put(item) {
      items.push(item);
      const take = takers.shift();
      if (take === undefined) untaken.push(item);
      else take(item);
    },
    async next() {
      const item = untaken.shift();
      if (item !== undefined) return item;
      return await within(new Promise((take) => takers.push(take)), what);
    },
  };
}
