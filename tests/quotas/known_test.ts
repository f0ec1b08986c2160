import assert from "node:assert/strict";
import { callerOf, configWith, createHarness } from "./service_harness.ts";
import { connectionOf } from "./quota_case.ts";
import { NOW_MS } from "../support/gateway/config.ts";

Deno.test("known() returns the cached quota, sends no request, and forgets it with the cache unless it is exhausted", async () => {
  const { service, calls, clock } = createHarness();
  const one = connectionOf("zai", {
    name: "one",
    base: "https://one.example/v1",
  });
  assert.deepEqual(service.known(one), []);
  assert.equal(calls.length, 0);
  const list = await service.read(callerOf(one), await configWith(one));
  assert.ok(list.data[0]?.limits.length);
  assert.deepEqual(service.known(one), list.data[0]?.limits);
  assert.deepEqual(service.known({ ...one, enabled: false }), []);
  assert.deepEqual(service.known({ ...one, quota: undefined }), []);
  clock.advance(60_000);
  const exhausted = list.data[0]?.limits.filter((window) =>
    (window.used_percent ?? 0) >= 100
  );
  assert.equal(exhausted?.length, 1);
  assert.deepEqual(service.known(one), exhausted);
  assert.equal(calls.length, 1);
});

Deno.test("known() returns nothing for a quota that could not be read", async () => {
  const { service, scripts } = createHarness();
  const one = connectionOf("zai", {
    name: "one",
    base: "https://one.example/v1",
  });
  scripts.set("one.example", () => new Response(null, { status: 500 }));
  await service.read(callerOf(one), await configWith(one));
  assert.deepEqual(service.known(one), []);
});

/** A quota of Z.ai's with one window, which begins again two hours after the test does. */
function fiveHours(percentage: number) {
  return () =>
    Response.json({
      code: 200,
      success: true,
      data: {
        limits: [{
          type: "TOKENS_LIMIT",
          unit: 3,
          number: 5,
          percentage,
          nextResetTime: RESET_MS,
        }],
      },
    });
}

const RESET_MS = NOW_MS + 7_200_000;

async function readOnce(percentage: number) {
  const harness = createHarness();
  const { service, scripts } = harness;
  const one = connectionOf("zai", {
    name: "one",
    base: "https://one.example/v1",
  });
  const config = await configWith(one);
  scripts.set("one.example", fiveHours(percentage));
  await service.read(callerOf(one), config);
  const percents = () =>
    service.known(one).map((reported) => reported.used_percent);
  return { ...harness, one, config, percents };
}

Deno.test("known() remembers that a window is exhausted until it begins again, and not longer", async () => {
  const { percents, clock, calls } = await readOnce(100);
  assert.deepEqual(percents(), [100]);
  clock.advance(RESET_MS - NOW_MS - 1);
  assert.deepEqual(percents(), [100]);
  clock.advance(1);
  assert.deepEqual(percents(), []);
  assert.equal(calls.length, 1);
});

Deno.test("known() remembers an exhausted window while readings fail, until one shows room", async () => {
  const { percents, clock, scripts, service, one, config } = await readOnce(
    100,
  );
  clock.advance(60_000);
  scripts.set("one.example", () => new Response(null, { status: 500 }));
  await service.read(callerOf(one), config);
  assert.deepEqual(percents(), [100]);
  clock.advance(60_000);
  scripts.set("one.example", fiveHours(20));
  await service.read(callerOf(one), config);
  assert.deepEqual(percents(), [20]);
  clock.advance(60_000);
  assert.deepEqual(percents(), []);
});

Deno.test("known() remembers an exhausted window across a reload, as long as the connection is the same", async () => {
  const { clock, service, one } = await readOnce(100);
  clock.advance(60_000);
  const same = connectionOf("zai", {
    name: "one",
    base: "https://one.example/v1",
  });
  assert.equal(service.known(same)[0]?.used_percent, 100);
  const auth = { scheme: "bearer", key: "another key" } as const;
  assert.deepEqual(service.known({ ...one, auth }), []);
});

Deno.test("known() remembers an exhausted window that later answers leave out", () => {
  const { service, harvest, clock } = createHarness();
  const one = connectionOf("codex", { name: "one" });
  const reported = (window: string, percent: number) => ({
    [`x-codex-${window}-used-percent`]: String(percent),
    [`x-codex-${window}-window-minutes`]: window === "primary"
      ? "300"
      : "10080",
    [`x-codex-${window}-reset-after-seconds`]: "7200",
  });
  const percents = () =>
    service.known(one).map((window) => window.used_percent)
      .sort();
  harvest.observe(
    one,
    new Headers({ ...reported("primary", 30), ...reported("secondary", 100) }),
  );
  assert.deepEqual(percents(), [100, 30]);
  clock.advance(60_000);
  harvest.observe(one, new Headers(reported("primary", 40)));
  assert.deepEqual(percents(), [100, 40]);
  harvest.observe(one, new Headers(reported("secondary", 10)));
  assert.deepEqual(percents(), [10]);
});
