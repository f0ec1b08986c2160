import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { USUAL_SCALE } from "./history.ts";
import { Thread } from "./thread.ts";

/** What kills the thread of seed 1; other seeds leave it alive. */
const DEATHS = {
  "an unhandled error": "throw new Error('an accident')",
  "an unhandled rejection": "Promise.reject(new Error('an accident'))",
  "an exit": "Deno.exit(3)",
  "an endless loop": "for (;;);",
};

for (const [what, death] of Object.entries(DEATHS)) {
  Deno.test(`Thread reports a run with ${what} as failed, and executes the next one`, async () => {
    const source = `
      import { parentPort } from "node:worker_threads";
      
      parentPort.on("message", ({ seed }) => {
        if (seed === 1) { ${death} }
        else parentPort.postMessage({ requests: seed, report: [] });
      });`;
    const program = new URL(
      `data:application/javascript,${encodeURIComponent(source)}`,
    );
    // The real watch would wait for two minutes.
    let watched = 0;
    using thread = new Thread(program, (_, onStuck) => {
      const isLast = death.startsWith("for") && watched++ === 0;
      if (isLast) setImmediate(onStuck);
      return () => {};
    });
    const run = (seed: number) =>
      thread.run({
        ...{ seed, scene: undefined, scale: USUAL_SCALE },
        ...{ about: undefined, isShrunk: false },
      });
    const { report } = await run(1);
    assert.match(report[0] ?? "", /^seed 1 breaks 1 promises/);
    assert.match(report.at(-1) ?? "", /^replay it: .*--seed 1 /);
    assert.equal((await run(2)).requests, 2);
    assert.equal((await run(3)).requests, 3);
  });
}
