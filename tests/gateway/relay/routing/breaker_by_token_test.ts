import assert from "node:assert/strict";
import { BreakerByToken } from "../../../../src/gateway/relay/routing/breaker_by_token.ts";
import { createFakeClock } from "../../../support/fakes/fake_clock.ts";

Deno.test("BreakerByToken remembers the failures of a thousand tokens, and forgets the oldest first", () => {
  const clock = createFakeClock(0);
  const breaker = new BreakerByToken(clock);
  const failOnce = (token: string) =>
    breaker.failed(breaker.admit(token, false));
  const healthy = () => breaker.succeeded(breaker.admit("healthy", false));
  for (let count = 0; count < 3; count++) failOnce("first");
  assert.ok(breaker.restMs("first") > 0);
  for (let count = 0; count < 5000; count++) {
    healthy();
    failOnce(`token ${count}`);
    assert.ok(breaker.size <= 1000);
  }
  assert.equal(breaker.size, 1000);
  assert.equal(breaker.restMs("first"), 0);
});

Deno.test("BreakerByToken keeps nothing about tokens whose last attempt succeeded", () => {
  const breaker = new BreakerByToken(createFakeClock(0));
  for (let count = 0; count < 100; count++) {
    const token = `token ${count}`;
    breaker.failed(breaker.admit(token, false));
    breaker.succeeded(breaker.admit(token, false));
  }
  assert.equal(breaker.size, 0);
});

Deno.test("a probe is closed by its result, even if a cool-down for all tokens began meanwhile", () => {
  const clock = createFakeClock(0);
  const breaker = new BreakerByToken(clock);
  for (let count = 0; count < 3; count++) {
    breaker.failed(breaker.admit("a", false));
  }
  clock.advance(1000);
  const probe = breaker.admit("a", false);
  assert.ok(breaker.isProbing("a"));
  breaker.coolFor(breaker.admit("b", false), 1000);
  breaker.coolFor(breaker.admit("c", false), 1000);
  breaker.succeeded(probe);
  clock.advance(1000);
  assert.equal(breaker.isProbing("a"), false);
});

Deno.test("one token's wait continues after an answered probe ends a cool-down for all tokens", () => {
  const clock = createFakeClock(0);
  const breaker = new BreakerByToken(clock);
  breaker.coolFor(breaker.admit("limited", false), 20_000);
  for (let count = 0; count < 3; count++) {
    breaker.failedForAll(breaker.admit("another", false));
  }
  assert.equal(breaker.restMs("another"), 1000);
  assert.equal(breaker.restMs("limited"), 20_000);
  clock.advance(1000);
  breaker.answered(breaker.admit("another", false));
  assert.equal(breaker.restMs("another"), 0);
  assert.equal(breaker.restMs("limited"), 19_000);
});

Deno.test("of two concurrent waits, the one that ends later counts", async (t) => {
  for (const [first, second] of [[1000, 20_000], [20_000, 1000]] as const) {
    for (const tokens of [["a", "a"], ["a", "b"]] as const) {
      await t.step(`${first} ms, ${second} ms, ${tokens}`, () => {
        const breaker = new BreakerByToken(createFakeClock(0));
        breaker.coolFor(breaker.admit("c", false), 10);
        const [one, other] = tokens.map((token) => breaker.admit(token, false));
        assert.ok(one && other);
        breaker.coolFor(one, first);
        breaker.coolFor(other, second);
        assert.equal(breaker.restMs(tokens[1]), 20_000);
      });
    }
  }
});

Deno.test("a shorter wait does not shorten the token's earlier one", () => {
  const breaker = new BreakerByToken(createFakeClock(0));
  const [one, other] = [breaker.admit("a", false), breaker.admit("a", false)];
  breaker.coolFor(one, 20_000);
  const { ms } = breaker.coolFor(other, 1000);
  assert.equal(ms, 0, "no cool-down begins");
  assert.equal(breaker.restMs("a"), 20_000);
});

Deno.test("a late refusal of an old attempt starts no new wait after a wait has ended", () => {
  const clock = createFakeClock(0);
  const breaker = new BreakerByToken(clock);
  const old = breaker.admit("c", false);
  breaker.coolFor(breaker.admit("a", false), 1000);
  breaker.coolFor(breaker.admit("b", false), 1000);
  clock.advance(1000);
  breaker.coolFor(old, 20_000);
  assert.equal(breaker.restMs("c"), 0);
});
