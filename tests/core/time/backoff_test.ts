import assert from "node:assert/strict";
import { backoffMs } from "../../../src/core/time/backoff.ts";

Deno.test("backoffMs() doubles with each failure, up to the longest pause", () => {
  const options = { firstMs: 100, mostMs: 2000 };
  const pauses = [1, 2, 3, 4, 5, 6, 7, 5000].map((failures) =>
    backoffMs(failures, options)
  );
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 2000, 2000, 2000]);
});

Deno.test("backoffMs() returns a random pause between half of its length and the whole", () => {
  for (const [drawn, expected] of [[0, 200], [0.5, 300], [1, 400]] as const) {
    assert.equal(
      backoffMs(2, { firstMs: 200, random: () => drawn }),
      expected,
    );
  }
});
