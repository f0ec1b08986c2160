import assert from "node:assert/strict";
import type { Connection } from "../../../../src/gateway/config/config.ts";
import { createDeadlines } from "../../../../src/base/time/deadlines.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  type Candidate,
  findCandidates,
} from "../../../../src/gateway/relay/routing/candidate.ts";
import {
  Conversations,
  type RoutedCandidates,
} from "../../../../src/gateway/relay/routing/conversations.ts";
import { createQuotaRouting } from "../../../../src/gateway/relay/routing/quota_routing.ts";
import {
  connectionFile,
  minimalConfig,
  NOW_MS,
} from "../../../support/gateway/config.ts";
import { openTestRecord } from "../../../support/gateway/open_record.ts";
import {
  createFakeClock,
  type FakeClock,
} from "../../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";

interface Scene {
  /** Ends every request after this time. */
  end(ms: number): void;
  readonly clock: FakeClock;
  /** The used share of each connection's windows, in percent. */
  readonly used: Record<string, readonly (number | null)[]>;
  route(session?: string): Promise<RoutedCandidates>;
  /** Returns the connections in the order of a request's attempts. */
  order(session?: string): Promise<readonly string[]>;
}

const nameOf = ({ deployment }: Candidate) => deployment.connection.name;

async function begin(isByQuota = true): Promise<Scene> {
  const models = [{ id: "model-1", quota_routing: isByQuota }];
  const config = await minimalConfig({
    connections: ["one", "two", "three"].map((name) =>
      connectionFile({ name, models })
    ),
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  const clock = createFakeClock(NOW_MS);
  const used: Scene["used"] = {};
  const quotas = {
    known: ({ name }: Connection) => (used[name] ?? []).map(windowOf),
  };
  const quotaRouting = createQuotaRouting({ clock, quotas });
  const conversations = new Conversations({
    clock,
    quotaRouting,
    health: { restMs: () => 0 },
    deadlines: createDeadlines(createFakeTimers()),
  });
  const { record, holds, clock: recordClock, end } = openTestRecord();
  const route = async (session?: string) => {
    const asked = { operation: "chat_completions", model: "model-1" } as const;
    record.facts.client = session === undefined ? undefined : { session };
    const body = new TextEncoder().encode("{}");
    const candidates = findCandidates(asked, { caller, config });
    return await conversations.route(
      candidates,
      { caller, config, record, holds },
      { body, operation: asked.operation },
    );
  };
  return {
    end(ms) {
      clock.advance(ms);
      recordClock.advance(ms);
      end("complete");
    },
    clock,
    used,
    route,
    order: async (session) => (await route(session)).own.map(nameOf),
  };
}

function windowOf(used_percent: number | null): QuotaWindow {
  return {
    type: "USAGE_LIMIT",
    window: "five_hour",
    unit: "percent",
    period_unit: 3,
    period_count: 5,
    limit: 100,
    used: used_percent,
    remaining: used_percent === null ? null : 100 - used_percent,
    used_percent,
    resets_at: null,
  };
}

Deno.test("route() keeps the file's order without `quota_routing`", async () => {
  const { used, order } = await begin(false);
  used.one = [99];
  assert.deepEqual(await order("s"), ["one", "two", "three"]);
});

Deno.test("route() keeps the file's order while no quota is known", async () => {
  const { order } = await begin();
  assert.deepEqual(await order(), ["one", "two", "three"]);
});

Deno.test("route() prefers the connection with the most quota left in its tightest window", async () => {
  const { used, order } = await begin();
  used.one = [10, 90];
  used.two = [40, null];
  used.three = [20, 60];
  assert.deepEqual(await order(), ["two", "three", "one"]);
});

Deno.test("route() treats a connection with an unknown quota as half used", async () => {
  const { used, order } = await begin();
  used.one = [60];
  used.two = [40];
  assert.deepEqual(await order(), ["two", "three", "one"]);
});

Deno.test("route() changes the first connection only when another one has clearly more quota left", async () => {
  const { used, order } = await begin();
  used.one = [10];
  used.two = [11];
  used.three = [90];
  assert.equal((await order())[0], "one");
  used.one = [20];
  assert.equal((await order())[0], "one");
  used.one = [22];
  assert.equal((await order())[0], "two");
  used.one = [9];
  assert.equal((await order())[0], "two");
  used.two = [100];
  assert.equal((await order())[0], "one");
});

Deno.test("route() never puts an exhausted connection first, however little quota the others have left", async () => {
  const { used, order } = await begin();
  used.two = used.three = [96];
  assert.equal((await order())[0], "one");
  used.one = [100];
  assert.equal((await order())[0], "two");
});

Deno.test("route() keeps a conversation on its connection until the connection's quota is exhausted", async () => {
  const { used, order, route, clock } = await begin();
  used.one = [10];
  used.two = [50];
  used.three = [50];
  const routed = await route("s-1");
  const served = routed.own.find((candidate) => nameOf(candidate) === "two");
  assert.ok(served);
  routed.onServed?.(served);
  assert.deepEqual(await order("s-1"), ["two", "one", "three"]);
  assert.equal((await order("s-2"))[0], "one");
  used.two = [99];
  assert.equal((await order("s-1"))[0], "two");
  used.two = [100];
  assert.equal((await order("s-1"))[0], "one");
  used.two = [50];
  clock.advance(3_600_000);
  assert.equal((await order("s-1"))[0], "one");
});

Deno.test("route() keeps a conversation for an hour after the end of a long answer", async () => {
  const { route, order, clock, end } = await begin(false);
  const routed = await route("s-1");
  const [, second] = routed.own;
  assert.ok(second);
  routed.onServed?.(second);
  end(1_800_000);
  clock.advance(3_500_000);
  assert.equal((await order("s-1"))[0], "two");
  clock.advance(100_000);
  assert.equal((await order("s-1"))[0], "one");
});

Deno.test("route() remembers the last 10,000 conversations", async () => {
  const { route, order } = await begin(false);
  for (let count = 0; count <= 10_000; count++) {
    const routed = await route(`s-${count}`);
    const [, second] = routed.own;
    assert.ok(second);
    routed.onServed?.(second);
  }
  assert.equal((await order("s-0"))[0], "one");
  for (const session of ["s-1", "s-10000"]) {
    assert.equal((await order(session))[0], "two");
  }
});
