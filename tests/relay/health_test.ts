import assert from "node:assert/strict";
import type { Candidate } from "../../src/config/config.ts";
import { createLog } from "../../src/observe/log.ts";
import type { Fault, FaultKind } from "../../src/relay/fault.ts";
import { createHealth, type Health } from "../../src/relay/health.ts";
import { connectionFile, minimalConfig, NOW_MS } from "../support/config.ts";
import { createFakeClock, type FakeClock } from "../support/fake_clock.ts";

interface Scene {
  readonly health: Health;
  readonly clock: FakeClock;
  readonly one: Candidate;
  /** Another model of the same connection. */
  readonly other: Candidate;
  /** What was logged, a line each. */
  readonly lines: readonly string[];
  readonly cooled: readonly string[];
}

async function begin(): Promise<Scene> {
  const config = await minimalConfig({
    connections: [connectionFile({ models: ["model-1", "model-2"] })],
  });
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
    cooledDown: (connection: string) => void cooled.push(connection),
  };
  const health = createHealth({ clock, log, metrics });
  return { health, clock, one, other, lines, cooled };
}

function fault(kind: FaultKind, rest: Partial<Fault> = {}): Fault {
  return { kind, status: undefined, retryAfterMs: undefined, ...rest };
}

/** A request that fails; it must be let in. */
function fail(
  { health }: Scene,
  candidate: Candidate,
  { kind, status, retryAfterMs }: Fault = fault("trouble"),
): void {
  const trial = health.begin(candidate, false);
  assert.ok(trial, "was not let in");
  trial.failed({ kind, status, retryAfterMs });
}

function succeed({ health }: Scene, candidate: Candidate): void {
  const trial = health.begin(candidate, false);
  assert.ok(trial, "was not let in");
  trial.answered();
  trial.succeeded();
}

Deno.test("begin() lets everything in that fails now and then", async () => {
  const scene = await begin();
  for (let count = 0; count < 20; count++) {
    fail(scene, scene.one);
    fail(scene, scene.one);
    succeed(scene, scene.one);
  }
  assert.equal(scene.lines.length, 0);
});

Deno.test("begin() leaves alone for a second what failed three requests in a row", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  assert.equal(scene.health.begin(scene.one, false), undefined);
  assert.equal(scene.health.restMs(scene.one), 1000);
  scene.clock.advance(999);
  assert.equal(scene.health.begin(scene.one, false), undefined);
  scene.clock.advance(1);
  assert.ok(scene.health.begin(scene.one, false)?.isProbe);
  assert.match(scene.lines.join(), /"cooling_down".*"model-1".*"trouble"/);
  assert.deepEqual(scene.cooled, ["main"]);
});

Deno.test("begin() lets one probe through at a time, after pauses that double up to 30 s", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
    assert.equal(scene.health.restMs(scene.one), seconds * 1000);
    scene.clock.advance(seconds * 1000);
    const probe = scene.health.begin(scene.one, false);
    assert.ok(probe?.isProbe);
    assert.equal(scene.health.begin(scene.one, false), undefined);
    assert.ok(scene.health.restMs(scene.one) > 0);
    probe.failed(fault("trouble"));
  }
});

Deno.test("a probe that succeeds clears all that was held against a connection", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  scene.clock.advance(1000);
  succeed(scene, scene.one);
  fail(scene, scene.one);
  fail(scene, scene.one);
  assert.equal(scene.health.restMs(scene.one), 0);
  fail(scene, scene.one);
  assert.equal(scene.health.restMs(scene.one), 1000);
});

Deno.test("a probe that begins to answer lets others in before it ends", async () => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  scene.clock.advance(1000);
  scene.health.begin(scene.one, false)?.answered();
  assert.equal(scene.health.restMs(scene.one), 0);
});

Deno.test("a probe whose caller left, or that tells nothing, holds nobody up", async (t) => {
  const scene = await begin();
  for (let count = 0; count < 3; count++) fail(scene, scene.one);
  scene.clock.advance(1000);
  await t.step("left", () => {
    scene.health.begin(scene.one, false)?.dismissed();
    assert.ok(scene.health.begin(scene.one, false)?.isProbe);
  });
  await t.step("silent for half a minute", () => {
    scene.clock.advance(30_000);
    assert.ok(scene.health.begin(scene.one, false)?.isProbe);
  });
});

Deno.test("a request that fails again and again is one piece of evidence", async () => {
  const scene = await begin();
  for (let count = 0; count < 2; count++) {
    fail(scene, scene.one);
    for (let again = 0; again < 5; again++) {
      scene.health.begin(scene.one, true)?.failed(fault("trouble"));
    }
  }
  assert.equal(scene.health.restMs(scene.one), 0);
});

Deno.test("what had begun before a cool-down does not lengthen it", async () => {
  const scene = await begin();
  const early = Array.from(
    { length: 50 },
    () => scene.health.begin(scene.one, false),
  );
  scene.clock.advance(10);
  for (const trial of early) trial?.failed(fault("trouble"));
  assert.equal(scene.health.restMs(scene.one), 1000);
});

Deno.test("what the caller asks for and leaving never count against a connection", async (t) => {
  const kinds = ["refused", "too_long", "oversized", "untranslatable"] as const;
  for (const kind of kinds) {
    await t.step(kind, async () => {
      const scene = await begin();
      for (let count = 0; count < 20; count++) {
        fail(scene, scene.one, fault(kind));
      }
      assert.equal(scene.health.restMs(scene.one), 0);
    });
  }
  await t.step("left", async () => {
    const scene = await begin();
    for (let count = 0; count < 20; count++) {
      scene.health.begin(scene.one, false)?.dismissed();
    }
    assert.equal(scene.health.restMs(scene.one), 0);
  });
});

Deno.test("a model that fails leaves the connection's other models alone", async (t) => {
  for (const kind of ["trouble", "silent", "broken"] as const) {
    await t.step(kind, async () => {
      const scene = await begin();
      for (let count = 0; count < 3; count++) {
        fail(scene, scene.one, fault(kind));
      }
      assert.equal(scene.health.restMs(scene.one), 1000);
      assert.equal(scene.health.restMs(scene.other), 0);
    });
  }
});

Deno.test("a connection that cannot be reached, or refuses the key, takes all its models with it", async (t) => {
  for (const kind of ["unreachable", "misconfigured"] as const) {
    await t.step(kind, async () => {
      const scene = await begin();
      for (let count = 0; count < 3; count++) {
        fail(scene, scene.one, fault(kind));
      }
      assert.equal(scene.health.restMs(scene.one), 1000);
      assert.equal(scene.health.restMs(scene.other), 1000);
      assert.doesNotMatch(scene.lines.join(), /"model"/);
    });
  }
});

Deno.test("a 429 benches a model for as long as it says, and no longer", async () => {
  const scene = await begin();
  const limited = fault("rate_limited", { status: 429, retryAfterMs: 17_000 });
  fail(scene, scene.one, limited);
  assert.equal(scene.health.restMs(scene.one), 17_000);
  assert.equal(scene.health.restMs(scene.other), 0);
  scene.clock.advance(17_000);
  const trials = [1, 2, 3].map(() => scene.health.begin(scene.one, false));
  assert.ok(trials.every((trial) => trial !== undefined && !trial.isProbe));
});

Deno.test("an exhausted window benches to its reset, with a try an hour", async () => {
  const scene = await begin();
  const hour = 3_600_000;
  const exhausted = fault("exhausted", {
    status: 429,
    retryAfterMs: 30 * hour,
  });
  fail(scene, scene.one, exhausted);
  scene.clock.advance(hour - 1);
  assert.equal(scene.health.begin(scene.one, false), undefined);
  scene.clock.advance(1);
  fail(scene, scene.one, { ...exhausted, retryAfterMs: 29 * hour });
  assert.equal(scene.health.restMs(scene.one), hour);
});

Deno.test("a success that had begun before a 429 does not lift its bench", async () => {
  const scene = await begin();
  const early = scene.health.begin(scene.one, false);
  scene.clock.advance(10);
  const limited = fault("rate_limited", { status: 429, retryAfterMs: 5000 });
  fail(scene, scene.one, limited);
  early?.answered();
  early?.succeeded();
  assert.equal(scene.health.restMs(scene.one), 5000);
});

Deno.test("only the first verdict of a trial counts", async () => {
  const scene = await begin();
  for (let count = 0; count < 5; count++) {
    const trial = scene.health.begin(scene.one, false);
    trial?.succeeded();
    trial?.failed(fault("trouble"));
  }
  assert.equal(scene.health.restMs(scene.one), 0);
});
