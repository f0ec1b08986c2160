import assert from "node:assert/strict";
import type {
  Caller,
  Config,
  Deployment,
} from "../../../../src/gateway/config/config.ts";
import { digestOf } from "../../../../src/base/sha256.ts";
import { createLog } from "../../../../src/gateway/observe/log.ts";
import type {
  AttemptFailure,
  AttemptFailureKind,
} from "../../../../src/gateway/relay/attempt_failure.ts";
import type { AttemptReport } from "../../../../src/gateway/relay/routing/attempt_report.ts";
import type { CoolDown } from "../../../../src/gateway/relay/routing/cool_down.ts";
import { Health } from "../../../../src/gateway/relay/routing/health.ts";
import {
  connectionFile,
  minimalConfig,
  NOW_MS,
  tokenFile,
} from "../../../support/gateway/config.ts";
import {
  createFakeClock,
  type FakeClock,
} from "../../../support/fakes/fake_clock.ts";
import { period } from "../../../../src/gateway/quotas/period.ts";
import { quotaWindow } from "../../../../src/gateway/quotas/window.ts";
import { steps } from "../../../support/steps.ts";

interface Scene {
  readonly health: Health;
  readonly clock: FakeClock;
  readonly one: Deployment;
  /** Another model of the same connection. */
  readonly other: Deployment;
  readonly alice: Caller;
  readonly bob: Caller;
  readonly carol: Caller;
  /** The logged lines. */
  readonly lines: readonly string[];
  readonly cooled: readonly string[];
  /** The cool-downs that this gateway published. */
  readonly published: readonly CoolDown[];
  readonly config: Config;
}

async function begin(): Promise<Scene> {
  const config = await minimalConfig({
    connections: [connectionFile({ models: ["model-1", "model-2"] })],
    tokens: ["alice", "bob", "carol"].map((name, index) =>
      tokenFile({ name, sha256: String(index).repeat(64) })
    ),
  });
  const [alice, bob, carol] = config.callers.values();
  assert.ok(alice && bob && carol);
  const [one] = config.pools.get("model-1") ?? [];
  const [other] = config.pools.get("model-2") ?? [];
  assert.ok(one && other);
  const clock = createFakeClock(NOW_MS);
  const lines: string[] = [];
  const cooled: string[] = [];
  const log = createLog({
    format: "json",
    now: clock.now,
    sink: (line) => lines.push(line),
  });
  const metrics = {
    requestEnded() {},
    cooledDown: (connection: string, failure: string) =>
      void cooled.push(`${connection} ${failure}`),
    limited() {},
  };
  const published: CoolDown[] = [];
  const publish = (coolDown: CoolDown) => void published.push(coolDown);
  const health = new Health({ clock, log, metrics, publish });
  return {
    ...{ health, clock, one, other, alice, bob, carol },
    ...{ lines, cooled, published, config },
  };
}

function fault(
  kind: AttemptFailureKind,
  rest: Partial<AttemptFailure> = {},
): AttemptFailure {
  return { kind, status: undefined, retryAfterMs: undefined, ...rest };
}

/** Begins an attempt. Default: for alice. */
function ask(
  { health, alice }: Scene,
  deployment: Deployment,
  { caller = alice, hasNoAlternative = true, isRepeat = false }: {
    readonly caller?: Caller;
    readonly hasNoAlternative?: boolean;
    readonly isRepeat?: boolean;
  } = {},
): AttemptReport | undefined {
  return health.begin(deployment, { caller, hasNoAlternative, isRepeat });
}

function restMs(
  { health, alice }: Scene,
  deployment: Deployment,
  caller = alice,
): number {
  return health.restMs(deployment, caller);
}

/** Begins an attempt, which must be admitted, and reports its failure. */
function fail(
  scene: Scene,
  deployment: Deployment,
  failure: AttemptFailure = fault("server"),
  caller = scene.alice,
): void {
  const report = ask(scene, deployment, { caller });
  assert.ok(report, "was not let in");
  report.failed(failure);
}

function succeed(
  scene: Scene,
  deployment: Deployment,
  caller = scene.alice,
): void {
  const report = ask(scene, deployment, { caller });
  assert.ok(report, "was not let in");
  report.answered();
  report.succeeded();
}

Deno.test("begin() admits every attempt on a deployment that fails occasionally", async () => {
  const scene = await begin();
  for (let count = 0; count < 20; count++) {
    fail(scene, scene.one);
    fail(scene, scene.one);
    succeed(scene, scene.one);
  }
  assert.equal(scene.lines.length, 0);
});

Deno.test("begin() refuses a deployment for a second after it failed three requests in a row", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  assert.equal(ask(scene, scene.one), undefined);
  assert.equal(restMs(scene, scene.one), 1000);
  scene.clock.advance(999);
  assert.equal(ask(scene, scene.one), undefined);
  scene.clock.advance(1);
  assert.ok(ask(scene, scene.one)?.isProbe);
  assert.match(
    scene.lines.join(),
    /"cooling_down".*"model-1".*"failure":"trouble"/,
  );
  assert.deepEqual(scene.cooled, ["main trouble"]);
});

Deno.test("begin() admits one probe at a time, after pauses that double up to 15 s", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  for (const seconds of [1, 2, 4, 8, 15, 15]) {
    assert.equal(restMs(scene, scene.one), seconds * 1000);
    scene.clock.advance(seconds * 1000);
    const probe = ask(scene, scene.one);
    assert.ok(probe?.isProbe);
    assert.equal(ask(scene, scene.one), undefined);
    assert.ok(restMs(scene, scene.one) > 0);
    probe.failed(fault("server"));
  }
});

Deno.test("a successful probe clears the failures of a connection", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  scene.clock.advance(1000);
  succeed(scene, scene.one);
  fail(scene, scene.one);
  fail(scene, scene.one);
  assert.equal(restMs(scene, scene.one), 0);
  fail(scene, scene.one);
  assert.equal(restMs(scene, scene.one), 1000);
});

Deno.test("other attempts are admitted when a probe's answer begins", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  scene.clock.advance(1000);
  ask(scene, scene.one)?.answered();
  assert.equal(restMs(scene, scene.one), 0);
});

Deno.test("a probe without a result does not delay the next probe", async (t) => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  scene.clock.advance(1000);
  await t.step("the caller disconnects", () => {
    ask(scene, scene.one)?.dismissed();
    assert.ok(ask(scene, scene.one)?.isProbe);
  });
  await t.step("the probe is silent for half a minute", () => {
    scene.clock.advance(30_000);
    assert.ok(ask(scene, scene.one)?.isProbe);
  });
});

Deno.test("the repeated failures of one request count once", async () => {
  const scene = await begin();
  for (let count = 0; count < 2; count++) {
    fail(scene, scene.one);
    for (let again = 0; again < 5; again++) {
      ask(scene, scene.one, { isRepeat: true })?.failed(fault("server"));
    }
  }
  assert.equal(restMs(scene, scene.one), 0);
});

Deno.test("attempts that began before a cool-down do not lengthen it", async () => {
  const scene = await begin();
  const early = Array.from({ length: 50 }, () => ask(scene, scene.one));
  scene.clock.advance(10);
  for (const report of early) report?.failed(fault("server"));
  assert.equal(restMs(scene, scene.one), 1000);
});

Deno.test("callers' mistakes, disconnects and the gateway's own limits never count against a connection", async (t) => {
  const kinds = [
    "invalid_request",
    "too_large",
    "filtered",
    "not_found",
    "context_too_long",
    "oversized",
    "untranslatable",
    "gateway_shortage",
  ] as const;
  await steps(t, kinds, async (kind) => {
    const scene = await begin();
    for (let count = 0; count < 20; count++) {
      fail(scene, scene.one, fault(kind));
    }
    assert.equal(restMs(scene, scene.one), 0);
  });
  for (const kind of ["silent", "unreachable"] as const) {
    await t.step(`a lost connection of the pool: ${kind}`, async () => {
      const scene = await begin();
      for (let count = 0; count < 20; count++) {
        fail(scene, scene.one, fault(kind, { wasLost: true }));
      }
      assert.equal(restMs(scene, scene.one), 0);
    });
  }
  await t.step("a caller that disconnects", async () => {
    const scene = await begin();
    for (let count = 0; count < 20; count++) {
      ask(scene, scene.one)?.dismissed();
    }
    assert.equal(restMs(scene, scene.one), 0);
  });
});

Deno.test("hasShortage() returns true for a minute after a shortage of the gateway's own machine", async () => {
  const scene = await begin();
  fail(scene, scene.one);
  assert.equal(scene.health.hasShortage(), false);
  fail(scene, scene.one, fault("gateway_shortage"));
  scene.clock.advance(59_999);
  assert.equal(scene.health.hasShortage(), true);
  scene.clock.advance(1);
  assert.equal(scene.health.hasShortage(), false);
});

Deno.test("a model's failures do not affect the connection's other models", (t) =>
  steps(
    t,
    ["server", "overloaded", "timeout", "silent", "broken"] as const,
    async (kind) => {
      const scene = await begin();
      for (let count = 0; count < 3; count++) {
        fail(scene, scene.one, fault(kind));
      }
      assert.equal(restMs(scene, scene.one), 1000);
      assert.equal(restMs(scene, scene.other), 0);
    },
  ));

Deno.test("all models cool down when their connection cannot be reached or rejects the key", (t) =>
  steps(
    t,
    ["unreachable", "misconfigured", "authentication"] as const,
    async (kind) => {
      const scene = await begin();
      for (let count = 0; count < 3; count++) {
        fail(scene, scene.one, fault(kind));
      }
      assert.equal(restMs(scene, scene.one), 1000);
      assert.equal(restMs(scene, scene.other), 1000);
      assert.doesNotMatch(scene.lines.join(), /"model"/);
    },
  ));

Deno.test("a 429 cools a model down for exactly its retry time", async () => {
  const scene = await begin();
  const limited = fault("rate_limited", { status: 429, retryAfterMs: 17_000 });
  fail(scene, scene.one, limited);
  assert.equal(restMs(scene, scene.one), 17_000);
  assert.equal(restMs(scene, scene.other), 0);
  scene.clock.advance(17_000);
  const reports = [1, 2, 3].map(() => ask(scene, scene.one));
  assert.ok(reports.every((report) => report !== undefined && !report.isProbe));
});

Deno.test("an exhausted window causes a cool-down until its reset, with an attempt each hour", async () => {
  const scene = await begin();
  const hour = 3_600_000;
  const exhausted = fault("quota", { status: 429, retryAfterMs: 30 * hour });
  fail(scene, scene.one, exhausted);
  scene.clock.advance(hour - 1);
  assert.equal(ask(scene, scene.one), undefined);
  scene.clock.advance(1);
  fail(scene, scene.one, { ...exhausted, retryAfterMs: 29 * hour });
  assert.equal(restMs(scene, scene.one), hour);
});

Deno.test("waitMs() returns the provider's whole wait during the cool-down, also at other gateways", async () => {
  const [there, here] = [await begin(), await begin()];
  const hour = 3_600_000;
  const exhausted = fault("quota", { status: 429, retryAfterMs: 30 * hour });
  fail(there, there.one, exhausted);
  follow(here, there);
  for (const scene of [there, here]) {
    const waitMs = () => scene.health.waitMs(scene.one, scene.alice);
    scene.clock.advance(hour / 2);
    assert.equal(waitMs(), 29.5 * hour);
    assert.equal(restMs(scene, scene.one), hour / 2);
    scene.clock.advance(hour / 2);
    assert.equal(waitMs(), 0);
    for (let count = 0; count < 3; count++) {
      fail(scene, scene.one, fault("server", { status: 500 }));
    }
    assert.equal(waitMs(), restMs(scene, scene.one));
    assert.equal(waitMs(), 1000);
  }
});

Deno.test("a success that began before a 429 does not end its cool-down", async () => {
  const scene = await begin();
  const early = ask(scene, scene.one);
  scene.clock.advance(10);
  const limited = fault("rate_limited", { status: 429, retryAfterMs: 5000 });
  fail(scene, scene.one, limited);
  early?.answered();
  early?.succeeded();
  assert.equal(restMs(scene, scene.one), 5000);
});

Deno.test("only the first reported result of an attempt counts", async () => {
  const scene = await begin();
  for (let count = 0; count < 5; count++) {
    const report = ask(scene, scene.one);
    report?.succeeded();
    report?.failed(fault("server"));
  }
  assert.equal(restMs(scene, scene.one), 0);
});

Deno.test("begin() admits gradually more attempts beside an unanswered probe, and all after two seconds", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  scene.clock.advance(1000);
  const letIn: number[] = [];
  let longestMs = 0;
  for (let ms = 0; ms <= 3000; ms += 10) {
    longestMs = Math.max(longestMs, restMs(scene, scene.one));
    if (ask(scene, scene.one) !== undefined) letIn.push(ms);
    scene.clock.advance(10);
  }
  const before = (ms: number) => letIn.filter((atMs) => atMs < ms).length;
  assert.deepEqual([250, 500, 750].map(before), [1, 2, 4]);
  assert.ok(longestMs <= 2000);
  assert.ok(letIn.filter((ms) => ms > 2000).length === 100, "not open to all");
});

Deno.test("begin() refuses a request with another candidate while a probe runs", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  scene.clock.advance(1000);
  const way = { hasNoAlternative: false };
  const probe = ask(scene, scene.one, way);
  assert.ok(probe?.isProbe);
  scene.clock.advance(10_000);
  assert.equal(ask(scene, scene.one, way), undefined);
  assert.ok(ask(scene, scene.one));
  probe.answered();
  assert.ok(ask(scene, scene.one, way));
});

Deno.test("probes whose callers disconnect delay other requests for at most two seconds", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  scene.clock.advance(1000);
  for (let count = 0; count < 20; count++) {
    const probe = ask(scene, scene.one);
    scene.clock.advance(100);
    probe?.dismissed();
  }
  const stay = Array.from({ length: 50 }, () => ask(scene, scene.one));
  assert.ok(stay.every((report) => report !== undefined));
});

Deno.test("many concurrent probes that fail start a single cool-down, as long as after one failure", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  scene.clock.advance(1000);
  const probes = [ask(scene, scene.one)];
  scene.clock.advance(2000);
  for (let count = 0; count < 20; count++) probes.push(ask(scene, scene.one));
  for (const probe of probes) probe?.failed(fault("server"));
  assert.equal(restMs(scene, scene.one), 2000);
  assert.equal(scene.lines.length, 2);
});

Deno.test("a deployment cools down only for the token whose requests failed", async (t) => {
  const faults = [
    fault("server"),
    fault("broken"),
    fault("silent"),
    fault("misconfigured"),
    fault("unreachable", { wasConnected: true }),
    fault("rate_limited", { status: 429, retryAfterMs: 1000 }),
  ];
  for (const one of faults) {
    await t.step(one.kind, async () => {
      const scene = await begin();
      const { alice, bob, carol } = scene;
      const times = one.kind === "rate_limited" ? 1 : 3;
      for (let count = 0; count < times; count++) fail(scene, scene.one, one);
      assert.equal(restMs(scene, scene.one, alice), 1000);
      assert.equal(restMs(scene, scene.one, bob), 0);
      fail(scene, scene.one, one, bob);
      assert.equal(restMs(scene, scene.one, bob), 1000);
      assert.equal(restMs(scene, scene.one, carol), 1000);
    });
  }
});

Deno.test("the log of a cool-down names the affected tokens", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  fail(scene, scene.one, fault("server"), scene.bob);
  const tokens = scene.lines.map((line) => JSON.parse(line).token);
  assert.deepEqual(tokens, ["alice", undefined]);
  assert.deepEqual(scene.cooled, ["main trouble", "main trouble"]);
});

Deno.test("an unreachable connection cools down for all tokens", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) {
    fail(scene, scene.one, fault("unreachable"));
  }
  assert.equal(restMs(scene, scene.other, scene.bob), 1000);
  scene.clock.advance(1000);
  succeed(scene, scene.one, scene.bob);
  assert.equal(restMs(scene, scene.one, scene.alice), 0);
});

Deno.test("a token in a cool-down probes independently of the others", async () => {
  const scene = await begin();
  const { alice, bob } = scene;
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  for (const seconds of [1, 2, 4, 8, 15, 15]) {
    succeed(scene, scene.one, bob);
    assert.equal(restMs(scene, scene.one, alice), seconds * 1000);
    scene.clock.advance(seconds * 1000);
    fail(scene, scene.one);
    assert.equal(restMs(scene, scene.one, bob), 0);
  }
  scene.clock.advance(15_000);
  succeed(scene, scene.one);
  fail(scene, scene.one);
  assert.equal(restMs(scene, scene.one, alice), 0);
});

Deno.test("one token's failures never block another token whose requests succeed", async () => {
  const scene = await begin();
  for (let count = 0; count < 200; count++) {
    scene.clock.advance(500);
    if (restMs(scene, scene.one) === 0) fail(scene, scene.one);
    succeed(scene, scene.one, scene.bob);
  }
});

Deno.test("a token whose probes all fail blocks the others for at most two cool-downs", async () => {
  const scene = await begin();
  const { alice, bob } = scene;
  fail(scene, scene.one);
  fail(scene, scene.one);
  fail(scene, scene.one, fault("server"), bob);
  let waitedMs = 0;
  while (restMs(scene, scene.one, bob) > 0) {
    const stepMs = restMs(scene, scene.one, bob);
    waitedMs += stepMs;
    scene.clock.advance(stepMs);
    if (restMs(scene, scene.one) === 0) fail(scene, scene.one);
  }
  assert.equal(waitedMs, 1000 + 2000);
  assert.ok(restMs(scene, scene.one, alice) > 0);
  succeed(scene, scene.one, bob);
});

Deno.test("an answered probe ends an outage's cool-down for all tokens, even for a token whose own probes failed", async () => {
  const scene = await begin();
  const { alice, bob, carol } = scene;
  fail(scene, scene.one);
  fail(scene, scene.one, fault("server"), bob);
  fail(scene, scene.one);
  for (const seconds of [1, 2]) {
    scene.clock.advance(seconds * 1000);
    fail(scene, scene.one, fault("server"), bob);
  }
  assert.ok(restMs(scene, scene.one, bob) > 0);
  assert.equal(restMs(scene, scene.one, carol), 0);
  ask(scene, scene.one, { caller: carol })?.answered();
  assert.equal(restMs(scene, scene.one, alice), 0);
  assert.equal(restMs(scene, scene.one, bob), 0);
});

Deno.test("an outage causes at most twice as many attempts of many tokens as of one", async () => {
  const attempts = { one: 0, many: 0 };
  for (const kind of ["one", "many"] as const) {
    const scene = await begin();
    const callers = [scene.alice, scene.bob, scene.carol];
    for (let ms = 0; ms < 60_000; ms += 100) {
      const caller = kind === "one"
        ? scene.alice
        : callers[(ms / 100) % 3] ?? scene.alice;
      if (restMs(scene, scene.one, caller) === 0) {
        fail(scene, scene.one, fault("server"), caller);
        attempts[kind] += 1;
      }
      scene.clock.advance(100);
    }
  }
  assert.equal(attempts.one, 9);
  assert.ok(attempts.many <= 18, `${attempts.many} attempts`);
});

/** Applies all cool-downs that `other` published to `scene`. */
function follow(scene: Scene, other: Scene): void {
  for (const coolDown of other.published) {
    scene.health.follow(coolDown, scene.config);
  }
}

Deno.test("follow() applies another gateway's cool-down for all, and begin() then admits one probe", async () => {
  const [there, here] = [await begin(), await begin()];
  for (let count = 0; count < 3; count++) {
    fail(there, there.one, fault("unreachable"));
  }
  follow(here, there);
  for (const caller of [here.alice, here.bob]) {
    for (const deployment of [here.one, here.other]) {
      assert.equal(restMs(here, deployment, caller), 1000);
    }
  }
  assert.deepEqual([here.published, here.lines, here.cooled], [[], [], []]);
  here.clock.advance(1000);
  const probe = ask(here, here.one, { hasNoAlternative: false });
  assert.ok(probe?.isProbe);
  assert.equal(ask(here, here.one, { hasNoAlternative: false }), undefined);
  probe.failed(fault("unreachable"));
  assert.equal(restMs(here, here.one), 2000, "the next pause is longer");
});

Deno.test("follow() keeps the lasting cause of another gateway's cool-down until the cool-down ends", async () => {
  const [there, here] = [await begin(), await begin()];
  const refused = fault("authentication", { status: 401 });
  const cause = { kind: "authentication", status: 401 } as const;
  for (let count = 0; count < 3; count++) fail(there, there.one, refused);
  follow(here, there);
  for (const scene of [there, here]) {
    const { health, one, other, alice, bob } = scene;
    assert.deepEqual(health.lastingCause(one, alice), cause);
    assert.deepEqual(health.lastingCause(other, alice), cause);
    assert.equal(health.lastingCause(one, bob), undefined);
  }
  fail(there, there.one, refused, there.bob);
  follow(here, there);
  assert.deepEqual(here.health.lastingCause(here.one, here.carol), cause);
  here.clock.advance(1000);
  assert.equal(here.health.lastingCause(here.one, here.alice), undefined);
  ask(here, here.one)?.failed(fault("unreachable", { wasConnected: true }));
  assert.ok(restMs(here, here.one) > 0);
  assert.equal(here.health.lastingCause(here.one, here.alice), undefined);
});

Deno.test("lastingCause() returns nothing after a cool-down", async () => {
  const scene = await begin();
  const refused = fault("permission", { status: 403 });
  for (let count = 0; count < 3; count++) fail(scene, scene.one, refused);
  fail(scene, scene.one, refused, scene.bob);
  scene.clock.advance(1000);
  assert.equal(scene.health.lastingCause(scene.one, scene.alice), undefined);
});

Deno.test("lastingCause() returns the cause of a token's longest cool-down", async () => {
  const scene = await begin();
  const { health, one, alice, config } = scene;
  const refused = fault("permission", { status: 403 });
  for (let count = 0; count < 3; count++) fail(scene, one, refused);
  assert.equal(health.lastingCause(one, alice)?.kind, "permission");
  health.follow({
    connectionId: one.connection.id,
    model: one.model.id,
    token: undefined,
    ms: 7000,
    requestedMs: 7000,
  }, config);
  assert.equal(health.lastingCause(one, alice), undefined);
});

Deno.test("follow() applies a cool-down of one model and token only to this model and token", async () => {
  const [there, here] = [await begin(), await begin()];
  for (let count = 0; count < 3; count++) fail(there, there.one);
  follow(here, there);
  assert.equal(restMs(here, here.one, here.alice), 1000);
  assert.equal(restMs(here, here.one, here.bob), 0);
  assert.equal(restMs(here, here.other, here.alice), 0);
});

Deno.test("follow() applies a cool-down to a caller of an identity provider before that caller's first request", async () => {
  const [there, here] = [await begin(), await begin()];
  const callerHere = (name: string) => ({
    ...here.alice,
    name: `${name} (https://login.example.com)`,
  });
  for (let count = 0; count < 3; count++) {
    fail(there, there.one, undefined, callerHere("alice"));
  }
  follow(here, there);
  assert.equal(restMs(here, here.one, callerHere("alice")), 1000);
  assert.equal(restMs(here, here.one, callerHere("bob")), 0);
  assert.equal(restMs(here, here.one, here.alice), 0);
  assert.match(there.lines.join(), /"token":"alice \(https:/);
  assert.ok(!JSON.stringify(there.published).includes("alice"));
});

Deno.test("follow() applies a provider's wait to one token, and to all tokens once a second token receives the wait", async () => {
  const [there, here] = [await begin(), await begin()];
  const limit = fault("rate_limited", { status: 429, retryAfterMs: 7000 });
  fail(there, there.one, limit);
  assert.deepEqual(
    there.published.map(({ token, requestedMs, ms }) => ({
      token,
      requestedMs,
      ms,
    })),
    [
      { token: digestOf("alice"), requestedMs: 7000, ms: 7000 },
    ],
  );
  follow(here, there);
  assert.equal(restMs(here, here.one, here.alice), 7000);
  assert.equal(restMs(here, here.one, here.bob), 0);
  fail(here, here.one, limit, here.bob);
  assert.equal(restMs(here, here.one, here.carol), 7000);
  assert.deepEqual(here.published.map(({ token }) => token), [undefined]);
  here.clock.advance(7000);
  assert.equal(restMs(here, here.one), 0);
});

Deno.test("follow() shortens no cool-down, and limits long ones to this gateway's own maximum", async () => {
  const scene = await begin();
  const limit = fault("rate_limited", { status: 429, retryAfterMs: 9000 });
  fail(scene, scene.one, limit);
  const { connectionId, model } = scene.published[0] ?? {};
  assert.ok(connectionId !== undefined && model !== undefined);
  const base = { connectionId, model, token: digestOf("alice") };
  scene.health.follow({ ...base, ms: 8000 }, scene.config);
  assert.equal(restMs(scene, scene.one), 9000);
  scene.health.follow({ ...base, ms: 86_400_000 }, scene.config);
  assert.equal(restMs(scene, scene.one), 15_000);
  scene.health.follow(
    { ...base, ms: 86_400_000, requestedMs: 86_400_000 },
    scene.config,
  );
  assert.equal(restMs(scene, scene.one), 3_600_000);
});

Deno.test("follow() ignores cool-downs of unknown connections", async () => {
  const scene = await begin();
  const base = { token: undefined, ms: 1000 };
  const { connection: { id } } = scene.one;
  const strangers = [
    { ...base, connectionId: "unknown", model: undefined },
    { ...base, connectionId: id, model: "unknown" },
  ];
  for (const one of strangers) scene.health.follow(one, scene.config);
  assert.equal(restMs(scene, scene.one), 0);
});

Deno.test("connected gateways probe a provider's wait once in five minutes, and an answer ends the wait at all", async () => {
  const [there, here] = [await begin(), await begin()];
  const limit = fault("quota", { status: 429, retryAfterMs: 40_000_000 });
  fail(there, there.one, limit);
  fail(there, there.one, limit, there.bob);
  follow(here, there);
  for (const { clock } of [there, here]) clock.advance(300_000);
  const followLast = () => {
    const last = there.published.at(-1);
    assert.ok(last);
    here.health.follow(last, here.config);
  };
  const probe = probeLimit(there, there.carol);
  assert.ok(probe?.isProbe);
  followLast();
  assert.equal(probeLimit(here, here.carol), undefined);
  assert.equal(here.health.nextTryMs(here.one, here.carol), 300_000);
  probe.answered();
  followLast();
  for (const scene of [there, here]) {
    for (const caller of [scene.alice, scene.bob, scene.carol]) {
      assert.equal(restMs(scene, scene.one, caller), 0);
    }
  }
});

Deno.test("an answered probe of one token's wait ends only that token's wait at other gateways", async () => {
  const [there, alices, bobs] = [await begin(), await begin(), await begin()];
  const limit = fault("quota", { status: 429, retryAfterMs: 40_000_000 });
  fail(there, there.one, limit);
  follow(alices, there);
  fail(bobs, bobs.one, limit, bobs.bob);
  for (const { clock } of [there, alices, bobs]) clock.advance(300_000);
  const probe = probeLimit(there, there.alice);
  probe?.answered();
  for (const scene of [alices, bobs]) {
    for (const news of there.published.filter((one) => one.probe)) {
      scene.health.follow(news, scene.config);
    }
  }
  assert.equal(restMs(alices, alices.one, alices.alice), 0);
  assert.ok(restMs(bobs, bobs.one, bobs.bob) > 0);
});

Deno.test("the next request probes a provider's wait after a probe without a result", async () => {
  const scene = await begin();
  const limit = fault("quota", { status: 429, retryAfterMs: 40_000_000 });
  fail(scene, scene.one, limit);
  scene.clock.advance(300_000);
  assert.equal(ask(scene, scene.one), undefined);
  probeLimit(scene, scene.alice)?.dismissed();
  assert.ok(probeLimit(scene, scene.alice)?.isProbe);
  assert.equal(probeLimit(scene, scene.alice), undefined);
});

function probeLimit(
  { health, one }: Scene,
  caller: Caller,
): AttemptReport | undefined {
  return health.begin(one, {
    ...{ caller, isRepeat: false },
    ...{ hasNoAlternative: true, isLastResort: true },
  });
}

const RESET = new Date(NOW_MS + 2 * 3_600_000).toISOString();

/** Returns a reading of five-hour windows, each with its type and used percent. */
function readingOf(...windows: readonly (readonly [string, number])[]) {
  return {
    checkedAtMs: NOW_MS,
    windows: windows.map(([type, usedPercent]) =>
      quotaWindow({
        ...{ type, usedPercent, unit: "percent", resetsAt: RESET },
        period: period(5, "hour"),
      })
    ),
  };
}

Deno.test("a reading of an exhausted quota starts a cool-down until the reset, for every model and caller", async () => {
  const scene = await begin();
  const { health, one, other, alice, bob, clock } = scene;
  health.noteUsedUp(one.connection, readingOf(["USAGE_LIMIT", 100]));
  for (const caller of [alice, bob]) {
    for (const deployment of [one, other]) {
      assert.equal(health.waitMs(deployment, caller), 2 * 3_600_000);
    }
  }
  // Later readings do not postpone the probe.
  clock.advance(240_000);
  health.noteUsedUp(one.connection, readingOf(["USAGE_LIMIT", 100]));
  assert.equal(health.nextTryMs(one, alice), 60_000);
  health.noteReading(one.connection, () => ({
    ...readingOf(["USAGE_LIMIT", 20]),
    checkedAtMs: clock.now(),
  }));
  assert.equal(health.waitMs(one, alice), 0);
});

Deno.test("a reading starts no cool-down if quota or extra usage is left, or if only one model is limited", async () => {
  const readings = [
    readingOf(["USAGE_LIMIT", 99]),
    readingOf(["USAGE_LIMIT", 100], ["SPEND_LIMIT:extra_usage", 30]),
    readingOf(["USAGE_LIMIT:opus", 100]),
    readingOf(["TIME_LIMIT", 100]),
  ];
  for (const reading of readings) {
    const { health, one, alice } = await begin();
    health.noteUsedUp(one.connection, reading);
    assert.equal(health.restMs(one, alice), 0);
  }
});

Deno.test("after an answered probe, readings of an exhausted quota are ignored until the reset", async () => {
  const { health, one, alice, clock } = await begin();
  const usedUp = readingOf(["USAGE_LIMIT", 100]);
  health.noteUsedUp(one.connection, usedUp);
  clock.advance(300_000);
  const probe = health.begin(one, {
    ...{ caller: alice, isRepeat: false },
    ...{ hasNoAlternative: true, isLastResort: true },
  });
  probe?.answered();
  probe?.succeeded();
  health.noteUsedUp(one.connection, usedUp);
  assert.equal(health.restMs(one, alice), 0);
});
