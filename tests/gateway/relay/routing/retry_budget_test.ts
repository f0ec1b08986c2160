import assert from "node:assert/strict";
import { createRetryBudget } from "../../../../src/gateway/relay/routing/retry_budget.ts";
import { NOW_MS } from "../../../support/gateway/config.ts";
import { createFakeClock } from "../../../support/fakes/fake_clock.ts";
import {
  connectionTo,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import { good, status } from "../../../support/upstream/bad_provider.ts";

function begin() {
  const clock = createFakeClock(NOW_MS);
  return { clock, budget: createRetryBudget(clock) };
}

/** Returns the number of consecutive retries that are granted. */
function granted(spend: () => boolean): number {
  let count = 0;
  while (count < 1000 && spend()) count++;
  return count;
}

Deno.test("spend() always grants a few retries", () => {
  const { budget } = begin();
  assert.equal(granted(() => budget.spend("one")), 10);
});

Deno.test("spend() grants one retry for five requests", () => {
  const { budget } = begin();
  for (let count = 0; count < 1000; count++) budget.earn("one");
  assert.equal(granted(() => budget.spend("one")), 200);
});

Deno.test("spend() begins a new count after ten seconds", () => {
  const { budget, clock } = begin();
  granted(() => budget.spend("one"));
  clock.advance(9999);
  assert.equal(budget.spend("one"), false);
  clock.advance(1);
  assert.equal(granted(() => budget.spend("one")), 10);
});

Deno.test("spend() counts each connection separately", () => {
  const { budget } = begin();
  granted(() => budget.spend("one"));
  assert.equal(budget.spend("two"), true);
});

Deno.test("the retry budget suffices to answer every request when one in five fails", async () => {
  let attempts = 0;
  const scene = await openScene(
    [connectionTo("one", { protocol: "chat", mode: "native" })],
    {
      one: [(asked) => {
        attempts += 1;
        return attempts % 6 === 5 ? status(503)(asked) : good(asked);
      }],
    },
  );
  for (let count = 0; count < 75; count++) {
    assert.equal((await scene.ask("chat")).status, 200);
  }
  assert.equal(attempts, 90);
  assert.ok(scene.timers.elapsedMs() < 10_000);
});
