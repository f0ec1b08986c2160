import { within } from "../within.ts";

/** Things that come one by one, and can be waited for. */
export interface Inbox<Item extends object> {
  /** All that have come. */
  readonly items: readonly Item[];
  put(item: Item): void;
  /** The first that has not been taken yet; waits for it, but not for ever. */
  next(): Promise<Item>;
}

/** @param what What comes, such as `a log line`; stands in the error when nothing does. */
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
