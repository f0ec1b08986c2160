import assert from "node:assert/strict";
import type { Connection } from "../../../src/gateway/config/config.ts";
import { GatewayError } from "../../../src/base/error.ts";
import { connectionOf, type ConnectionParts } from "./quota_case.ts";
import {
  callerOf,
  configWith,
  createHarness,
  credits,
  entryOf,
  hang,
  held,
  settle,
} from "./service_harness.ts";
import { steps } from "../../support/steps.ts";

/** Returns a connection with Z.ai's quota, at the host `<name>.example`. */
function zai(name: string, parts: ConnectionParts = {}): Connection {
  return connectionOf("zai", {
    name,
    base: `https://${name}.example/v1`,
    ...parts,
  });
}

function isBudgetOver(error: unknown): boolean {
  assert.ok(error instanceof GatewayError);
  assert.equal(error.status, 504);
  assert.equal(error.type, "provider_limits_timeout");
  assert.equal(error.code, "provider_limits_timeout");
  return true;
}

Deno.test("read() returns the documented list, field by field", async () => {
  const { service } = createHarness();
  const one = zai("one");
  const list = await service.read(callerOf(one), await configWith(one));
  const { data: [entry], ...head } = list;
  assert.deepEqual(head, {
    object: "list",
    scope: "provider",
    refresh_after_seconds: 60,
  });
  assert.deepEqual({ ...entry, limits: entry?.limits.slice(0, 1) }, {
    provider_id: "id-of-one",
    name: "one",
    service: "custom",
    status: "ok",
    checked_at: "2026-01-01T00:00:00.000Z",
    cached: false,
    limits: [{
      type: "CREDIT_LIMIT",
      window: "five_hour",
      unit: "credits",
      period_unit: 3,
      period_count: 5,
      limit: 2000,
      used: 115,
      remaining: 1884,
      used_percent: 5.75,
      resets_at: "2026-08-22T05:43:20.135Z",
    }],
  });
});

Deno.test("read() returns an empty list to a caller without connections", async () => {
  const { service, calls } = createHarness();
  const list = await service.read(callerOf(), await configWith(zai("one")));
  assert.deepEqual(list.data, []);
  assert.deepEqual(calls, []);
});

Deno.test("read() shows a caller only the assigned connections, in the order of the configuration", async () => {
  const { service, calls } = createHarness();
  const [one, two, three] = [zai("one"), zai("two"), zai("three")];
  const config = await configWith(one, two, three);
  const list = await service.read(callerOf(three, one), config);
  assert.deepEqual(list.data.map(({ name }) => name), ["one", "three"]);
  assert.deepEqual(calls.toSorted(), ["one.example", "three.example"]);
});

Deno.test("read() sends no request for a connection that is disabled or has no quota", async () => {
  const { service, calls } = createHarness();
  const off = zai("off", { enabled: false });
  const bare = connectionOf(undefined, { name: "bare" });
  const list = await service.read(
    callerOf(off, bare),
    await configWith(off, bare),
  );
  const rest = {
    service: "custom",
    checked_at: "2026-01-01T00:00:00.000Z",
    cached: false,
    limits: [],
  };
  assert.deepEqual(list.data, [
    { provider_id: "id-of-off", name: "off", status: "disabled", ...rest },
    { provider_id: "id-of-bare", name: "bare", status: "unsupported", ...rest },
  ]);
  assert.deepEqual(calls, []);
});

Deno.test("read() shows the failure of one connection beside the others", async () => {
  const { service, scripts, lines } = createHarness();
  const [good, bad] = [zai("good"), zai("bad")];
  scripts.set("bad.example", () => new Response("no", { status: 401 }));
  const team = zai("team", { quota: { plan: "team" } });
  const all = [good, bad, team];
  const list = await service.read(callerOf(...all), await configWith(...all));
  assert.equal(entryOf(list, "good").status, "ok");
  const failed = entryOf(list, "bad");
  assert.equal(failed.status, "unavailable");
  assert.deepEqual(failed.limits, []);
  assert.equal(failed.error?.type, "provider_limits_unauthorized");
  assert.equal(
    entryOf(list, "team").error?.type,
    "provider_limits_configuration_required",
  );
  assert.deepEqual(
    lines.map((
      { event, connection, failure, reason, error },
    ) => [event, connection, failure, typeof reason, error]),
    [
      ["quota_read_failed", "team", "misconfigured", "string", undefined],
      ["quota_read_failed", "bad", "misconfigured", "string", undefined],
    ],
  );
});

Deno.test("read() returns cached results for 60 seconds, for all callers", async () => {
  const { service, clock, calls } = createHarness();
  const one = zai("one");
  const config = await configWith(one);
  await service.read(callerOf(one), config);
  clock.advance(59_999);
  const list = await service.read(callerOf(one), config);
  assert.equal(entryOf(list, "one").cached, true);
  assert.equal(entryOf(list, "one").checked_at, "2026-01-01T00:00:00.000Z");
  assert.equal(calls.length, 1);
  clock.advance(1);
  const fresh = await service.read(callerOf(one), config);
  assert.equal(entryOf(fresh, "one").cached, false);
  assert.equal(entryOf(fresh, "one").checked_at, "2026-01-01T00:01:00.000Z");
  assert.equal(calls.length, 2);
});

Deno.test("read() keeps results for the configured time", async () => {
  const { service, clock, calls } = createHarness();
  const one = zai("one");
  const limits = { budgetMs: 12_000, cacheMs: 5000 };
  const config = { ...await configWith(one), limits };
  await service.read(callerOf(one), config);
  clock.advance(5000);
  await service.read(callerOf(one), config);
  assert.equal(calls.length, 2);
});

Deno.test("read() keeps a failure for 10 seconds, or for the provider's wait", async (t) => {
  const cases = {
    "without Retry-After": [undefined, 10_000],
    "Retry-After of 30 s": ["30", 30_000],
    "Retry-After of an hour": ["3600", 60_000],
    "Retry-After of nothing": ["0", 1000],
  } as const;
  await steps(t, Object.entries(cases), async ([, [value, keptMs]]) => {
    const { service, clock, calls, scripts } = createHarness();
    const one = zai("one");
    const headers = new Headers(value && { "retry-after": value });
    scripts.set(
      "one.example",
      () => new Response("no", { status: 429, headers }),
    );
    const config = await configWith(one);
    const read = async () =>
      entryOf(await service.read(callerOf(one), config), "one");
    assert.equal((await read()).cached, false);
    clock.advance(keptMs - 1);
    assert.equal((await read()).cached, true);
    assert.equal(calls.length, 1);
    clock.advance(1);
    assert.equal((await read()).cached, false);
    assert.equal(calls.length, 2);
  });
});

Deno.test("read() reads Anthropic's OAuth usage at most every five minutes", async (t) => {
  const base = "https://one.example/v1";
  const one = connectionOf("anthropic", { name: "one", base });
  const usage = { five_hour: { utilization: 10, resets_at: null } };
  const answers = {
    "with windows": () => Response.json(usage),
    "with 429": () => new Response("no", { status: 429 }),
  };
  await steps(t, Object.entries(answers), async ([, answer]) => {
    const { service, clock, calls, scripts } = createHarness();
    scripts.set("one.example", answer);
    const config = await configWith(one);
    await service.read(callerOf(one), config);
    clock.advance(299_999);
    const list = await service.read(callerOf(one), config);
    assert.equal(entryOf(list, "one").cached, true);
    assert.equal(entryOf(list, "one").checked_at, "2026-01-01T00:00:00.000Z");
    clock.advance(1);
    await service.read(callerOf(one), config);
    assert.equal(calls.length, 2);
  });
  await t.step("again after ten seconds if it was unreachable", async () => {
    const { service, clock, calls, scripts } = createHarness();
    scripts.set("one.example", () => Promise.reject(new TypeError("no")));
    const config = await configWith(one);
    await service.read(callerOf(one), config);
    clock.advance(10_000);
    await service.read(callerOf(one), config);
    assert.equal(calls.length, 2);
  });
});

Deno.test("read() makes one call for a thousand concurrent callers", async () => {
  const { service, scripts, calls } = createHarness();
  const connections = [zai("one"), zai("two"), zai("three")];
  const { script, answer } = held();
  scripts.set("one.example", script);
  const config = await configWith(...connections);
  const reads = Array.from(
    { length: 1000 },
    () => service.read(callerOf(...connections), config),
  );
  answer(credits());
  const lists = await Promise.all(reads);
  assert.equal(calls.length, 3);
  for (const list of lists) {
    assert.ok(list.data.every(({ status }) => status === "ok"));
    assert.equal(entryOf(list, "one").cached, false);
  }
});

Deno.test("read() rejects for a caller who disconnects, and continues for other callers", async () => {
  const { service, scripts, calls } = createHarness();
  const one = zai("one");
  const { script, answer } = held();
  scripts.set("one.example", script);
  const config = await configWith(one);
  const controller = new AbortController();
  const leaving = service.read(callerOf(one), config, controller.signal);
  const staying = service.read(callerOf(one), config);
  controller.abort(new Error("gone"));
  await assert.rejects(leaving, /gone/);
  answer(credits());
  assert.equal(entryOf(await staying, "one").status, "ok");
  const later = await service.read(callerOf(one), config);
  assert.equal(entryOf(later, "one").cached, true);
  assert.equal(calls.length, 1);
});

Deno.test("read() sends no request for a caller who has already disconnected", async () => {
  const { service, calls } = createHarness();
  const one = zai("one");
  const signal = AbortSignal.abort(new Error("gone"));
  const config = await configWith(one);
  await assert.rejects(service.read(callerOf(one), config, signal), /gone/);
  assert.deepEqual(calls, []);
});

Deno.test("read() throws provider_limits_timeout after its budget, and the next call shows the readings so far", async () => {
  const { service, scripts, deadlines, calls } = createHarness();
  const [good, mute] = [zai("good"), zai("mute")];
  scripts.set("mute.example", hang);
  const config = await configWith(good, mute);
  const caller = callerOf(good, mute);
  const first = service.read(caller, config);
  await settle();
  const [budget, ...reads] = deadlines;
  assert.equal(budget?.ms, 12_000);
  // The reads end a little later, so that they never race the budget.
  assert.deepEqual(reads.map(({ ms }) => ms), [12_250, 12_250]);
  budget?.expire();
  await assert.rejects(first, isBudgetOver);

  const second = service.read(caller, config);
  reads.forEach(({ expire }) => expire());
  const list = await second;
  assert.equal(entryOf(list, "good").status, "ok");
  assert.equal(entryOf(list, "good").cached, true);
  assert.equal(
    entryOf(list, "mute").error?.type,
    "provider_limits_unreachable",
  );
  assert.deepEqual(calls, ["good.example", "mute.example"]);
});

Deno.test("read() waits only half of the budget for a provider that was silent, until it answers again", async () => {
  const { service, scripts, deadlines, clock } = createHarness();
  const mute = zai("mute");
  scripts.set("mute.example", hang);
  const config = await configWith(mute);
  const readUntilExpiry = async () => {
    const reading = service.read(callerOf(mute), config);
    await settle();
    deadlines.at(-1)?.expire();
    const ms = deadlines.at(-1)?.ms;
    const entry = entryOf(await reading, "mute");
    assert.equal(entry.error?.type, "provider_limits_unreachable");
    clock.advance(60_000);
    return ms;
  };
  assert.equal(await readUntilExpiry(), 12_250);
  assert.equal(await readUntilExpiry(), 6000);
  scripts.delete("mute.example");
  await service.read(callerOf(mute), config);
  assert.equal(deadlines.at(-1)?.ms, 6000);
  clock.advance(60_000);
  await service.read(callerOf(mute), config);
  assert.equal(deadlines.at(-1)?.ms, 12_250);
});

Deno.test("a reload that removes a silent provider forgets its silence", async () => {
  const { service, scripts, deadlines } = createHarness();
  const mute = zai("mute");
  scripts.set("mute.example", hang);
  const config = await configWith(mute);
  const reading = service.read(callerOf(mute), config);
  await settle();
  deadlines.at(-1)?.expire();
  await reading;
  await service.read(callerOf(), await configWith());
  scripts.delete("mute.example");
  await service.read(callerOf(mute), await configWith(zai("mute")));
  assert.equal(deadlines.at(-1)?.ms, 12_250);
});

Deno.test("read() waits for a slow provider within the budget", async () => {
  const { service, scripts } = createHarness();
  const [good, slow] = [zai("good"), zai("slow")];
  const { script, answer } = held();
  scripts.set("slow.example", script);
  const reading = service.read(
    callerOf(good, slow),
    await configWith(good, slow),
  );
  await settle();
  answer(credits());
  const list = await reading;
  assert.deepEqual(list.data.map(({ status }) => status), ["ok", "ok"]);
});

Deno.test("a reload keeps only readings of connections with the same credential", async () => {
  const { service, calls } = createHarness();
  const before = await configWith(zai("same"), zai("changed"), zai("gone"));
  await service.read(callerOf(...before.connections), before);
  calls.length = 0;
  const auth = { scheme: "bearer", key: "another-key" } as const;
  const after = await configWith(zai("same"), zai("changed", { auth }));
  const list = await service.read(callerOf(...after.connections), after);
  assert.equal(entryOf(list, "same").cached, true);
  assert.equal(entryOf(list, "changed").cached, false);
  assert.deepEqual(calls, ["changed.example"]);
  const restored = await configWith(zai("same"), zai("gone"));
  await service.read(callerOf(...restored.connections), restored);
  assert.deepEqual(calls, ["changed.example", "gone.example"]);
});

Deno.test("a reading that ends after its connection was removed is not cached", async () => {
  const { service, scripts, calls } = createHarness();
  const { script, answer } = held();
  scripts.set("old.example", script);
  const old = await configWith(zai("old"));
  const reading = service.read(callerOf(...old.connections), old);
  const next = await configWith(zai("next"));
  await service.read(callerOf(...next.connections), next);
  answer(credits());
  assert.equal(entryOf(await reading, "old").status, "ok");
  scripts.delete("old.example");
  const again = await configWith(zai("old"));
  const list = await service.read(callerOf(...again.connections), again);
  assert.equal(entryOf(list, "old").cached, false);
  assert.equal(calls.filter((host) => host === "old.example").length, 2);
});

Deno.test("a connection's failure is not cached for another connection", async () => {
  const { service, scripts } = createHarness();
  const [a, b] = [zai("a"), zai("b")];
  scripts.set("a.example", () => new Response("no", { status: 500 }));
  const config = await configWith(a, b);
  const forA = await service.read(callerOf(a), config);
  const forB = await service.read(callerOf(b), config);
  assert.deepEqual(forA.data.map(({ name, status }) => [name, status]), [
    ["a", "unavailable"],
  ]);
  assert.deepEqual(forB.data.map(({ name, status }) => [name, status]), [
    ["b", "ok"],
  ]);
});
