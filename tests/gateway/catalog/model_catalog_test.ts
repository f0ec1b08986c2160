import assert from "node:assert/strict";
import {
  createModelCatalog,
  type ModelCatalog,
} from "../../../src/gateway/catalog/model_catalog.ts";
import type { Config, Connection } from "../../../src/gateway/config/config.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import {
  connectionFile,
  minimalConfig,
  NOW_MS,
} from "../../support/gateway/config.ts";
import { settle } from "../../support/settle.ts";
import { until } from "../../support/within.ts";

const HOUR_MS = 3_600_000;

/** Opens a catalog with providers that answer on request, and a clock that the test sets. */
async function scene(connections: readonly Record<string, unknown>[] = [{}]) {
  const clock = createFakeClock(NOW_MS);
  const timers = createFakeTimers();
  const log = createMemoryLog();
  const asked: {
    readonly url: string;
    readonly signal: AbortSignal | null | undefined;
    answer(response: Response): void;
    fail(error: unknown): void;
  }[] = [];
  const config = await minimalConfig({
    connections: connections.map((one, index) =>
      connectionFile({
        name: `connection ${index}`,
        endpoints: { chat: `https://${index}.example/v1` },
        ...one,
      })
    ),
  });
  const catalog = createModelCatalog({
    liveConfig: createLiveConfig(config),
    clock,
    deadlines: createDeadlines(timers),
    log,
    fetch: (url, { signal }) => {
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      asked.push({ url, signal, answer: resolve, fail: reject });
      signal?.addEventListener("abort", () => reject(signal.reason));
      return promise;
    },
  });
  return { clock, timers, log, asked, catalog, config };
}

const never = new AbortController().signal;

const sized = (contextWindow: number) =>
  Response.json({ data: [{ id: "model-a", context_window: contextWindow }] });

function windows(
  catalog: ModelCatalog,
  { pools }: Config,
): readonly (number | undefined)[] {
  return (pools.get("model-a") ?? []).map((one) =>
    catalog.factsOf(one).contextWindow
  );
}

/** Returns true if a promise is settled. */
async function isDone(work: Promise<unknown>): Promise<boolean> {
  let done = false;
  work.then(() => done = true);
  await settle();
  return done;
}

Deno.test("the first caller waits until the providers have answered", async () => {
  const { asked, catalog, config } = await scene([{}, {}]);
  const waiting = catalog.refresh(config.connections, never);
  asked[0]?.answer(sized(10));
  await until(() => windows(catalog, config)[0] === 10, "the first list");
  assert.equal(await isDone(waiting), false);
  assert.deepEqual(windows(catalog, config), [10, undefined]);
  asked[1]?.answer(sized(20));
  await waiting;
  assert.deepEqual(windows(catalog, config), [10, 20]);
});

Deno.test("a caller waits at most 1.5 s, and a list that arrives later serves the next caller", async () => {
  const { asked, catalog, config, timers } = await scene();
  const waiting = catalog.refresh(config.connections, never);
  timers.advance(1499);
  assert.equal(await isDone(waiting), false);
  timers.advance(1);
  await waiting;
  assert.deepEqual(windows(catalog, config), [undefined]);
  asked[0]?.answer(sized(10));
  await until(() => windows(catalog, config)[0] === 10, "the list");
});

Deno.test("concurrent callers cause one reading of the list", async () => {
  const { asked, catalog, config } = await scene();
  const waiting = [1, 2, 3].map(() =>
    catalog.refresh(config.connections, never)
  );
  assert.equal(asked.length, 1);
  asked[0]?.answer(sized(10));
  await Promise.all(waiting);
  assert.equal(asked.length, 1);
});

Deno.test("a list is kept for an hour, and then read again in the background", async () => {
  const { asked, catalog, config, clock } = await scene();
  const first = catalog.refresh(config.connections, never);
  asked[0]?.answer(sized(10));
  await first;
  clock.advance(HOUR_MS - 1);
  await catalog.refresh(config.connections, never);
  assert.equal(asked.length, 1);
  clock.advance(1);
  await catalog.refresh(config.connections, never);
  assert.equal(asked.length, 2);
  assert.deepEqual(windows(catalog, config), [10]);
  asked[1]?.answer(sized(20));
  await until(() => windows(catalog, config)[0] === 20, "the list");
});

Deno.test("a provider without a list is read again after ten minutes, in the background", async () => {
  const { asked, catalog, config, clock, log } = await scene();
  const first = catalog.refresh(config.connections, never);
  asked[0]?.answer(new Response(null, { status: 404 }));
  await first;
  assert.deepEqual(log.entries, [{
    level: "info",
    event: "model_list_unread",
    fields: {
      connection: "connection 0",
      reason: "the provider answered with status 404",
    },
  }]);
  clock.advance(599_999);
  await catalog.refresh(config.connections, never);
  assert.equal(asked.length, 1);
  clock.advance(1);
  await catalog.refresh(config.connections, never);
  assert.equal(asked.length, 2);
  asked[1]?.answer(sized(10));
  await until(() => windows(catalog, config)[0] === 10, "the list");
});

Deno.test("known facts stay when the list cannot be read again", async () => {
  const { asked, catalog, config, clock } = await scene();
  const first = catalog.refresh(config.connections, never);
  asked[0]?.answer(sized(10));
  await first;
  clock.advance(HOUR_MS);
  await catalog.refresh(config.connections, never);
  asked[1]?.fail(new TypeError("gone"));
  await settle();
  assert.deepEqual(windows(catalog, config), [10]);
});

Deno.test("a reading ends after five seconds", async () => {
  const { asked, catalog, config, timers, log } = await scene();
  const first = catalog.refresh(config.connections, never);
  timers.advance(4999);
  assert.equal(asked[0]?.signal?.aborted, false);
  timers.advance(1);
  assert.equal(asked[0]?.signal?.aborted, true);
  await first;
  await until(() => log.entries.length > 0, "the line");
  assert.equal(
    log.entries[0]?.fields.reason,
    "the provider did not answer in time",
  );
  assert.equal(timers.running, 0);
});

Deno.test("a caller who disconnects ends the wait, but not the reading", async () => {
  const { asked, catalog, config, timers } = await scene();
  const leaving = new AbortController();
  const waiting = catalog.refresh(config.connections, leaving.signal);
  const left = new Error("left");
  leaving.abort(left);
  await assert.rejects(waiting, left);
  assert.equal(asked[0]?.signal?.aborted, false);
  asked[0]?.answer(sized(10));
  await until(() => windows(catalog, config)[0] === 10, "the list");
  assert.equal(timers.running, 0);
});

Deno.test("a caller who has already disconnected starts no reading", async () => {
  const { asked, catalog, config } = await scene();
  const left = new Error("left");
  await assert.rejects(
    catalog.refresh(config.connections, AbortSignal.abort(left)),
    left,
  );
  assert.equal(asked.length, 0);
});

Deno.test("the configuration's facts come first, and the provider fills the gaps", async () => {
  const { asked, catalog, config } = await scene([{
    models: [{ id: "model-a", upstream: "up", context_window: 5 }],
  }]);
  const first = catalog.refresh(config.connections, never);
  asked[0]?.answer(
    Response.json({
      data: [{ id: "up", context_window: 10, display_name: "Up" }],
    }),
  );
  await first;
  const [deployment] = config.pools.get("model-a") ?? [];
  assert.ok(deployment);
  const { contextWindow, displayName } = catalog.factsOf(deployment);
  assert.deepEqual([contextWindow, displayName], [5, "Up"]);
});

Deno.test("a reload does not read the list of an unchanged connection again", async () => {
  const { asked, catalog, config } = await scene();
  const first = catalog.refresh(config.connections, never);
  asked[0]?.answer(sized(10));
  await first;
  const [before] = config.connections;
  assert.ok(before);
  const same: Connection = { ...before, strict: true };
  await catalog.refresh([same], never);
  assert.equal(asked.length, 1);
  const [model] = same.models;
  assert.ok(model);
  const known = catalog.factsOf({ connection: same, model });
  assert.equal(known.contextWindow, 10);
  const other: Connection = { ...before, auth: { scheme: "none" } };
  const waiting = catalog.refresh([other], never);
  assert.equal(asked.length, 2);
  asked[1]?.answer(sized(20));
  await waiting;
});

Deno.test("the lists of removed connections are dropped", async () => {
  const { asked, catalog, config } = await scene();
  const [connection] = config.connections;
  const [model] = connection?.models ?? [];
  assert.ok(connection && model);
  const read = async (one: Connection) => {
    const waiting = catalog.refresh([one], never);
    asked.at(-1)?.answer(sized(10));
    await waiting;
  };
  await read(connection);
  for (let gone = 0; gone < 1000; gone++) {
    await read({ ...connection, id: `gone ${gone}` });
  }
  assert.equal(catalog.factsOf({ connection, model }).contextWindow, undefined);
  assert.equal(asked.length, 1001);
  const last = { ...connection, id: "gone 999" };
  const { contextWindow } = catalog.factsOf({ connection: last, model });
  assert.equal(contextWindow, 10);
});

Deno.test("refresh() logs an unforeseen error and does not reject", async () => {
  const { catalog, config, log } = await scene();
  const [connection] = config.connections;
  assert.ok(connection);
  const broken: Connection = { ...connection, endpoints: { chat: "no base" } };
  await catalog.refresh([broken], never);
  assert.equal(
    log.entries[0]?.fields.reason,
    "the gateway failed to read the list",
  );
});
