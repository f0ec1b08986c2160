import assert from "node:assert/strict";
import { callerOf, configWith, createHarness } from "./service_harness.ts";
import { connectionOf } from "./quota_case.ts";

Deno.test("known() tells what read() left in the cache, asks nobody, and forgets with the cache", async () => {
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
  assert.deepEqual(service.known(one), []);
  assert.equal(calls.length, 1);
});

Deno.test("known() tells nothing of a quota that could not be read", async () => {
  const { service, scripts } = createHarness();
  const one = connectionOf("zai", {
    name: "one",
    base: "https://one.example/v1",
  });
  scripts.set("one.example", () => new Response(null, { status: 500 }));
  await service.read(callerOf(one), await configWith(one));
  assert.deepEqual(service.known(one), []);
});
