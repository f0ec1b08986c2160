import { setImmediate } from "node:timers";

/** How often others had their turn while something was under way. */
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
