import { setImmediate } from "node:timers";

/** Counts the turns of the event loop until `work` ends. */
export async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      turns++;
    }
  })();
  await work.finally(() => isOver = true);
  await counting;
  return turns;
}
