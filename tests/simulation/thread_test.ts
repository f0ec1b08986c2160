import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { USUAL_SCALE } from "./history.ts";
import { Thread } from "./thread.ts";

/** What a thread does with the life of seed 1; it survives every other. */
const DEATHS = {
  "an error that nobody handles": "throw new Error('an accident')",
  "a rejection that nobody handles": "Promise.reject(new Error('an accident'))",
  "its own end": "Deno.exit(3)",
  "work without an end": "for (;;);",
};

for (const [what, death] of Object.entries(DEATHS)) {
  Deno.test(`a thread that dies of ${what} is a failed seed, and the next life goes on`, async () => {
    const source = `
      import { parentPort } from "node:worker_threads";
      
      parentPort.on("message", ({ seed }) => {
        if (seed === 1) { ${death} }
        else parentPort.postMessage({ requests: seed, report: [] });
      });`;
    const program = new URL(
      `data:application/javascript,${encodeURIComponent(source)}`,
    );
    // A real watch waits until nothing has happened for long.
    let watched = 0;
    using thread = new Thread(program, (_, onStuck) => {
      const isLast = death.startsWith("for") && watched++ === 0;
      if (isLast) setImmediate(onStuck);
      return () => {};
    });
    const live = (seed: number) =>
      thread.live({
        ...{ seed, scene: undefined, scale: USUAL_SCALE },
        ...{ about: undefined, isShrunk: false },
      });
    const { report } = await live(1);
    assert.match(report[0] ?? "", /^seed 1 breaks 1 promises/);
    assert.match(report.at(-1) ?? "", /^replay it: .*--seed 1 /);
    assert.equal((await live(2)).requests, 2);
    assert.equal((await live(3)).requests, 3);
  });
}
