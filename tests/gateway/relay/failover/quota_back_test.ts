import assert from "node:assert/strict";
import { createGateway } from "../../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../../src/gateway/config/live_config.ts";
import type { Notice } from "../../../../src/gateway/shared/notice.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";
import {
  configOf,
  loadFile,
  minimalFile,
  NOW_MS,
} from "../../../support/gateway/config.ts";
import {
  connectionTo,
  openScene,
  type Scene,
} from "../../../support/gateway/failover_scene.ts";
import { createLogLines } from "../../../support/gateway/log_lines.ts";
import {
  badProviders,
  good,
  status,
} from "../../../support/upstream/bad_provider.ts";
import { ask, hello, PATHS } from "../../../support/wire/ask.ts";
import { steps } from "../../../support/steps.ts";

const MINUTE_MS = 60_000;

/** A 429 of a quota that resets in 18 days, as after a plan's month. */
const usedUp = status(429, { headers: { "retry-after": "1587827" } });

const CHAT = { protocol: "chat", mode: "translated" } as const;

async function statusOf(scene: Scene): Promise<number> {
  return (await scene.ask("chat")).status;
}

Deno.test("one request in five minutes probes a provider's long wait, and an answer ends the wait for all", async () => {
  const scene = await openScene([connectionTo("one", CHAT)], {
    one: [usedUp, usedUp, good],
  });
  assert.equal(await statusOf(scene), 429);
  scene.timers.advance(5 * MINUTE_MS - 1);
  assert.equal(await statusOf(scene), 429);
  assert.equal(scene.providers.asked.length, 1);
  scene.timers.advance(1);
  const statuses = await Promise.all([statusOf(scene), statusOf(scene)]);
  assert.deepEqual(statuses, [429, 429]);
  assert.equal(scene.providers.asked.length, 2);
  scene.timers.advance(5 * MINUTE_MS - 1);
  assert.equal(await statusOf(scene), 429);
  scene.timers.advance(1);
  assert.equal(await statusOf(scene), 200);
  assert.equal(await statusOf(scene), 200);
  assert.equal(scene.providers.asked.length, 4);
});

Deno.test("a failed probe of a wait is not repeated and does not change the wait", async () => {
  const scene = await openScene([connectionTo("one", CHAT)], {
    one: [usedUp, status(503), good],
  });
  await scene.ask("chat");
  scene.timers.advance(5 * MINUTE_MS);
  assert.notEqual(await statusOf(scene), 200);
  assert.equal(scene.providers.asked.length, 2);
  assert.equal(await statusOf(scene), 429);
  assert.equal(scene.providers.asked.length, 2);
  scene.timers.advance(5 * MINUTE_MS);
  assert.equal(await statusOf(scene), 200);
});

Deno.test("a request never probes a wait while another connection can serve the request", async () => {
  const scene = await openScene(
    [connectionTo("one", CHAT), connectionTo("two", CHAT)],
    { one: [usedUp, good], two: [good] },
  );
  await scene.ask("chat");
  for (let count = 0; count < 5; count++) {
    scene.timers.advance(5 * MINUTE_MS);
    assert.equal(await statusOf(scene), 200);
  }
  assert.equal(
    scene.providers.hosts().filter((one) => one === "one").length,
    1,
  );
});

Deno.test("neither a probe nor a quota reading ends a wait of less than a minute", async () => {
  const short = status(429, { headers: { "retry-after": "59" } });
  const scene = await openScene(
    [connectionTo("one", CHAT, ANTHROPIC)],
    { one: [short, answerWith(20)] },
  );
  await scene.ask("chat");
  await scene.ask("chat", { model: "model-2" });
  assert.equal(await statusOf(scene), 503);
});

const ANTHROPIC = {
  models: ["model-1", "model-2"],
  quota: { kind: "anthropic" },
};

/** Returns an act that answers with the headers of a plan's windows. */
function answerWith(usedPercent: number) {
  return (asked: Parameters<typeof good>[0]) => {
    const response = good(asked);
    const used = `${usedPercent / 100}`;
    response.headers.set("anthropic-ratelimit-unified-5h-utilization", used);
    response.headers.set("anthropic-ratelimit-unified-7d-utilization", "0.3");
    return response;
  };
}

Deno.test("headers end a provider's wait at once if they show quota left in every window", async () => {
  const scene = await openScene(
    [connectionTo("one", CHAT, ANTHROPIC)],
    { one: [usedUp, answerWith(100), answerWith(20)] },
  );
  await scene.ask("chat");
  for (const expected of [429, 200]) {
    scene.timers.advance(1000);
    const other = await scene.ask("chat", { model: "model-2" });
    assert.equal(other.status, 200);
    assert.equal(await statusOf(scene), expected);
  }
});

Deno.test("headers that wrongly show quota left end a wait at most once in five minutes", async () => {
  const scene = await openScene(
    [connectionTo("one", CHAT, ANTHROPIC)],
    {
      one: [
        usedUp,
        (asked) =>
          asked.model === "model-1" ? usedUp(asked) : answerWith(20)(asked),
      ],
    },
  );
  await scene.ask("chat");
  for (let count = 0; count < 4; count++) {
    scene.timers.advance(1000);
    await scene.ask("chat", { model: "model-2" });
    assert.equal(await statusOf(scene), 429);
  }
  const models = scene.providers.asked.map(({ model }) => model);
  assert.equal(models.filter((one) => one === "model-1").length, 2);
});

Deno.test("a changed key ends a provider's wait", async () => {
  const connection = (key: string) =>
    connectionTo("one", CHAT, { auth: { key } });
  const scene = await openScene([connection("old-key-1234567890")], {
    one: [usedUp, good],
  });
  await scene.ask("chat");
  const file = minimalFile({ connections: [connection("new-key-1234567890")] });
  scene.liveConfig.swap(configOf(await loadFile(file)));
  assert.equal(await statusOf(scene), 200);
});

/** Opens a gateway whose provider reports its quota at an endpoint, and which receives notices. */
async function openPolled() {
  const timers = createFakeTimers();
  const providers = badProviders({ one: [usedUp, good] }, timers.elapsedMs);
  let used = 100;
  const connections = [connectionTo("one", CHAT, { quota: { kind: "codex" } })];
  const listeners: ((notice: Notice) => void)[] = [];
  const liveConfig = createLiveConfig(
    configOf(await loadFile(minimalFile({ connections }))),
  );
  const gateway = createGateway({
    liveConfig,
    fetch: (url, init) =>
      init.body === undefined
        ? Promise.resolve(Response.json({
          rate_limit: {
            primary_window: {
              used_percent: used,
              limit_window_seconds: 18_000,
              reset_after_seconds: 9000,
            },
          },
        }))
        : providers.fetch(url, init),
    log: createLogLines().log,
    clock: {
      now: () => NOW_MS + timers.elapsedMs(),
      elapsedMs: timers.elapsedMs,
    },
    timers,
    shared: {
      notices: {
        publish() {},
        onNotice: (listener) => void listeners.push(listener),
      },
    },
  });
  return {
    timers,
    connectionId: liveConfig.current().connections[0]?.id ?? "",
    hear: (notice: Notice) => {
      for (const listener of listeners) listener(notice);
    },
    setUsed: (percent: number) => void (used = percent),
    async serve(): Promise<number> {
      const request = new Request(
        `http://gateway${PATHS.chat}`,
        ask("chat", hello("chat", { model: "model-1" })),
      );
      const response = await gateway.handler(request);
      await response.text();
      return response.status;
    },
    async readLimits(): Promise<void> {
      const { headers = {} } = ask("chat", "");
      const request = new Request("http://gateway/v1/limits", { headers });
      const response = await gateway.handler(request);
      assert.equal(response.status, 200);
      assert.match(
        await response.text(),
        new RegExp(`"used_percent": ?${used}`),
      );
    },
  };
}

Deno.test("a quota reading for GET /limits ends a provider's wait only if the reading shows quota left", async () => {
  const scene = await openPolled();
  assert.equal(await scene.serve(), 429);
  scene.timers.advance(1000);
  await scene.readLimits();
  assert.equal(await scene.serve(), 429);
  scene.setUsed(20);
  scene.timers.advance(MINUTE_MS);
  await scene.readLimits();
  assert.equal(await scene.serve(), 200);
});

Deno.test("a quota reading with quota left ends a provider's wait in the other threads and replicas", (t) =>
  steps(t, ["polled", "harvested"] as const, async (kind) => {
    const { serve, hear, timers, connectionId } = await openPolled();
    assert.equal(await serve(), 429);
    const checkedAtMs = NOW_MS + timers.elapsedMs();
    const hearAt = (checkedAtMs: number) =>
      hear({
        ...{ kind, connectionId, ttlMs: MINUTE_MS },
        reading: { checkedAtMs, windows: [WINDOW] },
      });
    hearAt(checkedAtMs);
    assert.equal(await serve(), 429, "it is older than the wait");
    hearAt(checkedAtMs + 1);
    assert.equal(await serve(), 200);
  }));

/** A window with room. */
const WINDOW = {
  ...{ type: "USAGE_LIMIT", window: "5h", unit: "percent" },
  ...{ period_unit: null, period_count: null, resets_at: null },
  ...{ limit: 100, used: 20, remaining: 80, used_percent: 20 },
};
