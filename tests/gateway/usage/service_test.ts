import assert from "node:assert/strict";
import { openTestRecord } from "../../support/gateway/open_record.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import type { Metrics } from "../../../src/gateway/observe/metrics.ts";
import type { Ending } from "../../../src/gateway/observe/facts.ts";
import { openRecord } from "../../../src/gateway/observe/record.ts";
import { endRequest } from "../../../src/gateway/relay/end_request.ts";
import { Holds } from "../../../src/gateway/relay/exchange.ts";
import { createLimitGate } from "../../../src/gateway/relay/limit_gate.ts";
import { findCandidates } from "../../../src/gateway/relay/routing/candidate.ts";
import { createCounting } from "../../../src/gateway/usage/counting.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import { createUsageService } from "../../../src/gateway/usage/service.ts";
import type { Sums } from "../../../src/gateway/usage/sums.ts";
import { isRefusal } from "../../../src/gateway/usage/limiter.ts";
import { createLogLines } from "../../support/gateway/log_lines.ts";
import { settle } from "../../support/settle.ts";
import {
  minimalConfig,
  NOW_MS,
  tokenFile,
} from "../../support/gateway/config.ts";

const CLOCK = { now: () => NOW_MS, elapsedMs: () => 0 };

type LimitedEvent = Parameters<Metrics["limited"]>[0];

let requests = 0;

/** Opens a service for a token with two requests an hour. */
async function openService(sums: Sums = createMemorySums(CLOCK)) {
  const config = await minimalConfig({
    tokens: [tokenFile({ limits: [{ window: "hour", requests: 2 }] })],
  });
  const events: LimitedEvent[] = [];
  const { log } = createLogLines();
  const liveConfig = createLiveConfig(config);
  const service = createUsageService({
    sums,
    liveConfig,
    quotas: {
      known: () => [],
      read: () => Promise.reject(new Error("Nobody reads")),
    },
    log,
    metrics: {
      requestEnded() {},
      cooledDown() {},
      limited: (event) => events.push(event),
    },
    clock: CLOCK,
  });
  const [caller] = config.callers.values();
  const [[deployment] = []] = config.pools.values();
  assert.ok(caller !== undefined && deployment !== undefined);
  const open = () => {
    const id = `req ${++requests}`;
    const record = openRecord(id, "POST", { clock: CLOCK, log });
    const tally = service.open({ record, caller, estimatedTokens: 5 });
    const holds = new Holds();
    holds.tally = tally;
    const end = (ending: Ending) => endRequest({ record, holds }, ending);
    return { record, tally, end };
  };
  return { config, liveConfig, service, caller, deployment, events, open };
}

Deno.test("the metrics count a nearly used limit once a window, and every rejected request", async () => {
  const { service, caller, deployment, events, open } = await openService();
  for (let count = 0; count < 2; count++) {
    const { tally } = open();
    assert.equal(await tally.enter([deployment]), undefined);
    service.near(tally.near(), caller);
    service.near(tally.near(), caller);
    await settle();
  }
  for (let count = 0; count < 2; count++) {
    const refusal = await open().tally.enter([deployment]);
    assert.ok(refusal !== undefined && isRefusal(refusal));
    service.refused(refusal, caller);
  }
  const event = { token: "alice", limit: "requests hour" };
  assert.deepEqual(events, [
    { ...event, outcome: "near" },
    { ...event, outcome: "refused" },
    { ...event, outcome: "refused" },
  ]);
});

Deno.test("asynchronous sums refuse and reserve like synchronous ones", async () => {
  const sums = createMemorySums(CLOCK);
  const { deployment, open } = await openService({
    ...sums,
    reserve: (...args) => Promise.resolve(sums.reserve(...args)),
    table: (name) => Promise.resolve(sums.table(name)),
    once: (...args) => Promise.resolve(sums.once(...args)),
  });
  const first = open();
  assert.equal(await first.tally.enter([deployment]), undefined);
  assert.equal(await open().tally.enter([deployment]), undefined);
  const refusal = await open().tally.enter([deployment]);
  assert.equal(refusal?.needed, 1);
  assert.equal(refusal?.used, 2);
});

Deno.test("a request whose caller disconnects during a claim reserves nothing", async () => {
  const sums = createMemorySums(CLOCK);
  const { deployment, open } = await openService({
    ...sums,
    reserve: (...args) => Promise.resolve(sums.reserve(...args)),
  });
  const { tally, end } = open();
  const entering = tally.enter([deployment]);
  end("client_abort");
  await entering;
  assert.equal(sums.size, 0);
});

Deno.test("a refusal adds the reservations of running requests to the counted usage", async () => {
  const sums = createMemorySums(CLOCK);
  const { deployment, open } = await openService({
    ...sums,
    reserve: () => ({ isGranted: false, uses: [{ counted: [4], held: 3 }] }),
  });
  const refusal = await open().tally.enter([deployment]);
  assert.equal(refusal?.used, 7);
  assert.equal(refusal?.ratio, 3.5);
});

Deno.test("threads and replicas together report a nearly used limit once a window", async () => {
  const sums = createMemorySums(CLOCK);
  const services = [await openService(sums), await openService(sums)];
  for (let count = 0; count < 2; count++) {
    for (const { open, deployment, service, caller } of services) {
      const { tally } = open();
      await tally.enter([deployment]);
      service.near(tally.near(), caller);
      await settle();
    }
  }
  const events = services.flatMap(({ events }) => events);
  assert.deepEqual(events.map(({ outcome }) => outcome), ["near"]);
});

Deno.test("threads and replicas report a limit once, even if the provider's reset times differ by seconds", async () => {
  for (let atMs = 0; atMs < 60_000; atMs += 5000) {
    const { once } = createMemorySums(CLOCK);
    const sums = () => ({ ...createMemorySums(CLOCK), once });
    const services = [await openService(sums()), await openService(sums())];
    for (const [index, one] of services.entries()) {
      await one.open().tally.enter([one.deployment]);
      const { tally } = one.open();
      await tally.enter([one.deployment]);
      const resetsAtMs = NOW_MS + 600_000 + atMs + index * 10_000;
      const near = tally.near().map((state) => ({ ...state, resetsAtMs }));
      one.service.near(near, one.caller);
      await settle();
    }
    assert.equal(services.flatMap(({ events }) => events).length, 1);
  }
});

Deno.test("a running request counts for its token's old name after a reload renamed the token", async () => {
  const { config, liveConfig, service, caller, deployment, open } =
    await openService();
  const { tally, end } = open();
  await tally.enter([deployment]);
  const tokens = [tokenFile({ name: "renamed" })];
  liveConfig.swap(await minimalConfig({ tokens }));
  end("error");
  const [renamed] = liveConfig.current().callers.values();
  assert.equal(renamed?.sha256, caller.sha256);
  for (const [one, requests] of [[caller, 1], [renamed, 0]] as const) {
    const { windows: [hour] } = await service.report(one, config);
    assert.equal(hour?.total.requests, requests, one.name);
  }
});

Deno.test("requests from before the start of the process count in the current windows", async () => {
  const sums = createMemorySums(CLOCK);
  const { service, caller, config } = await openService(sums);
  const counting = createCounting(sums);
  for (const agoMs of [60_000, 40 * 86_400_000]) {
    counting.count({
      caller,
      connection: "one",
      model: "model-1",
      atMs: NOW_MS - agoMs,
      counts: { requests: 1, input: 3, output: 2, cost: 22_000 },
    });
  }
  sums.completeSince(NOW_MS - 40 * 86_400_000);
  const { windows, since } = await service.report(caller, config);
  assert.equal(since, "2025-11-22T00:00:00.000Z");
  assert.ok(windows.every(({ complete }) => complete));
  assert.deepEqual(windows.map(({ total }) => total.requests), [0, 0, 1, 0]);
});

Deno.test("the next attempt or the end of the request releases an attempt's reservation", async () => {
  const { deployment, open } = await openService();
  const { record, tally, end } = open();
  for (let count = 0; count < 5; count++) {
    assert.equal(await tally.enter([deployment]), undefined);
  }
  record.facts.status = 502;
  end("error");
  assert.equal(await open().tally.enter([deployment]), undefined);
  assert.notEqual(await open().tally.enter([deployment]), undefined);
});

Deno.test("a limit excludes a connection until the limit's reset", async () => {
  const { config, service, caller, deployment, open } = await openService();
  for (let count = 0; count < 2; count++) {
    await open().tally.enter([deployment]);
  }
  const { id } = deployment.model;
  const asked = { operation: "chat_completions", model: id } as const;
  const { own: [candidate] } = findCandidates(asked, { caller, config });
  let nowMs = NOW_MS;
  const gate = createLimitGate(
    { tally: open().tally, named: { names: [], protocol: "chat" } },
    {
      ...{ caller, headers: new Headers() },
      record: openTestRecord().record,
      request: new Request("http://gateway/v1/chat/completions"),
    },
    { usage: service, clock: { ...CLOCK, now: () => nowMs } },
  );
  assert.equal(await gate.enter(candidate), false);
  const untilMs = gate.limitedUntilMs(candidate);
  assert.ok(untilMs !== undefined && untilMs > nowMs);
  nowMs = NOW_MS + 3600_000;
  assert.equal(gate.limitedUntilMs(candidate), undefined);
});
