import assert from "node:assert/strict";
import type { Family } from "../../../../src/base/protocol.ts";
import type { createDemoUpstream } from "../../../../src/tools/demo/upstream.ts";
import {
  createFakeClock,
  createFixedDemo,
  demoRequest,
  NOON_MS,
} from "../harness.ts";
import { createCreditWindow } from "../../../../src/tools/demo/quota/quota.ts";

type DemoUpstream = ReturnType<typeof createDemoUpstream>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const PATHS: Readonly<Record<Family, string>> = {
  A: "/api/monitor/usage/quota/limit",
  B: "/api/oauth/usage",
  C: "/backend-api/wham/usage",
};

const CALLS: Readonly<Record<Family, Request>> = {
  A: demoRequest("A", "/v1/chat/completions", {
    body: {
      model: "demo-a",
      messages: [{ role: "user", content: "Write 2000 words" }],
    },
  }),
  B: demoRequest("B", "/v1/messages", {
    body: {
      model: "demo-b",
      max_tokens: 9000,
      messages: [{ role: "user", content: "Write 2000 words" }],
    },
  }),
  C: demoRequest("C", "/v1/responses", {
    body: { model: "demo-c", input: "Write 2000 words" },
  }),
};

async function quotaOf(demo: DemoUpstream, family: Family) {
  const response = await demo(demoRequest(family, PATHS[family]));
  assert.equal(response.status, 200);
  return await response.json();
}

/** Sends one request to the model of `family` and returns the response's headers. */
async function use(demo: DemoUpstream, family: Family): Promise<Headers> {
  const response = await demo(CALLS[family].clone());
  await response.body?.cancel();
  assert.equal(response.status, 200);
  return response.headers;
}

Deno.test("family A reports its quota in the format of a coding plan", async () => {
  const clock = createFakeClock();
  const demo = createFixedDemo({ clock });
  const fresh = await quotaOf(demo, "A");
  assert.deepEqual(fresh, {
    code: 200,
    msg: "Operation successful",
    success: true,
    data: {
      level: "lite",
      limits: [
        {
          type: "CREDIT_LIMIT",
          unit: 3,
          number: 5,
          usage: 2000,
          currentValue: 0,
          remaining: 2000,
          percentage: 0,
        },
        {
          type: "CREDIT_LIMIT",
          unit: 6,
          number: 1,
          usage: 10_000,
          currentValue: 2880,
          remaining: 7120,
          percentage: 28,
          nextResetTime: NOON_MS + 3 * DAY_MS,
        },
      ],
    },
  });
  await use(demo, "A");
  const { data: { limits: [fiveHour] } } = await quotaOf(demo, "A");
  assert.equal(fiveHour.nextResetTime, NOON_MS + 5 * HOUR_MS);
  assert(fiveHour.currentValue > 20);
  assert.equal(fiveHour.remaining, 2000 - fiveHour.currentValue - 1);
});

Deno.test("family B reports its quota in the format of OAuth usage", async () => {
  const clock = createFakeClock();
  const demo = createFixedDemo({ clock });
  const fresh = await quotaOf(demo, "B");
  assert.equal(fresh.five_hour, null);
  assert.deepEqual(fresh.seven_day, {
    utilization: 28.8,
    resets_at: "2026-11-25T12:00:00.000Z",
  });
  await use(demo, "B");
  const used = await quotaOf(demo, "B");
  assert.equal(used.five_hour.resets_at, "2026-11-20T17:00:00.000Z");
  assert(used.five_hour.utilization > 2);
});

Deno.test("family C reports its quota in the format of the Codex back end", async () => {
  const clock = createFakeClock();
  const demo = createFixedDemo({ clock });
  await use(demo, "C");
  clock.advance(HOUR_MS);
  const { rate_limit } = await quotaOf(demo, "C");
  assert.deepEqual(rate_limit.primary_window, {
    used_percent: 4,
    limit_window_seconds: 18_000,
    reset_after_seconds: 4 * 3600,
    reset_at: NOON_MS / 1000 + 5 * 3600,
  });
  assert.equal(rate_limit.secondary_window.limit_window_seconds, 604_800);
  assert.equal(
    rate_limit.secondary_window.reset_at,
    (NOON_MS + 2 * DAY_MS) / 1000,
  );
});

Deno.test("family C reports an unused five-hour window if no window has begun", async () => {
  const { rate_limit } = await quotaOf(createFixedDemo(), "C");
  assert.deepEqual(rate_limit.primary_window, {
    used_percent: 0,
    limit_window_seconds: 18_000,
    reset_after_seconds: 18_000,
    reset_at: NOON_MS / 1000 + 18_000,
  });
});

Deno.test("the quotas reset when their windows end", async () => {
  const clock = createFakeClock();
  const demo = createFixedDemo({ clock });
  await use(demo, "A");
  clock.advance(3 * DAY_MS);
  const { data: { limits } } = await quotaOf(demo, "A");
  assert.equal(limits[0].currentValue, 0);
  assert.equal(limits[0].nextResetTime, undefined);
  assert.equal(limits[1].currentValue, 0);
  assert.equal(limits[1].nextResetTime, NOON_MS + 10 * DAY_MS);
});

Deno.test("the demo reports an exhausted quota, and still serves", async () => {
  const demo = createFixedDemo();
  for (let call = 0; call < 100; call++) await use(demo, "A");
  const { data: { limits: [fiveHour] } } = await quotaOf(demo, "A");
  assert(fiveHour.currentValue > fiveHour.usage);
  assert.equal(fiveHour.remaining, 0);
  assert.equal(fiveHour.percentage, 100);
});

Deno.test("refusals and token counts use no quota", async () => {
  const demo = createFixedDemo();
  for (
    const [path, model] of [
      ["/v1/messages/count_tokens", "demo-b"],
      ["/v1/messages", "demo-b-error-500"],
    ] as const
  ) {
    const response = await demo(demoRequest("B", path, {
      body: { model, messages: [{ role: "user", content: "Hello" }] },
    }));
    await response.body?.cancel();
  }
  assert.equal((await quotaOf(demo, "B")).five_hour, null);
});

Deno.test("an answer of family B or C has the quota in its provider's headers", async (t) => {
  const clock = createFakeClock();
  const demo = createFixedDemo({ clock });

  await t.step("B: fractions", async () => {
    const headers = await use(demo, "B");
    const prefix = "anthropic-ratelimit-unified";
    assert.equal(headers.get(`${prefix}-status`), "allowed");
    assert.match(
      headers.get(`${prefix}-5h-utilization`) ?? "",
      /^0\.0\d{3}$/,
    );
    assert.equal(
      headers.get(`${prefix}-7d-reset`),
      `${NOON_MS / 1000 + 5 * 86_400}`,
    );
  });

  await t.step("C: percent", async () => {
    const headers = await use(demo, "C");
    assert.equal(headers.get("x-codex-primary-window-minutes"), "300");
    assert.equal(headers.get("x-codex-secondary-used-percent"), "48");
    assert.equal(headers.get("x-codex-primary-reset-after-seconds"), "18000");
    assert.equal(headers.get("openai-model"), "demo-c");
  });
});

Deno.test("a request for the quota without a key gets the provider's own error", async () => {
  const ask = async (family: Family, authorization: string) => {
    const headers = { authorization };
    const response = await createFixedDemo()(
      demoRequest(family, PATHS[family], { headers }),
    );
    return { status: response.status, body: await response.json() };
  };
  assert.deepEqual(await ask("A", "wrong"), {
    status: 200,
    body: { code: 401, msg: "token expired or incorrect", success: false },
  });
  assert.equal((await ask("A", "demo-key-a")).body.success, true);
  assert.deepEqual(await ask("B", "Bearer wrong"), {
    status: 401,
    body: {
      type: "error",
      error: { type: "authentication_error", message: "Invalid bearer token" },
      request_id: "req_1",
    },
  });
  assert.deepEqual(await ask("C", "Bearer wrong"), {
    status: 401,
    body: { detail: "Unauthorized" },
  });
});

const OPTIONS = { lengthMs: 5 * HOUR_MS, limit: 100, othersPerHour: 10 };

Deno.test("a meter's window begins with the first use", () => {
  const clock = createFakeClock();
  const meter = createCreditWindow({ ...OPTIONS, clock });
  assert.deepEqual(meter.read(), {
    limit: 100,
    used: 0,
    resetsAtMs: undefined,
  });
  clock.advance(HOUR_MS);
  meter.spend(7);
  assert.deepEqual(meter.read(), {
    limit: 100,
    used: 7,
    resetsAtMs: NOON_MS + 6 * HOUR_MS,
  });
});

Deno.test("a meter adds simulated use by others to the demo's own use", () => {
  const clock = createFakeClock();
  const meter = createCreditWindow({ ...OPTIONS, clock });
  meter.spend(7);
  clock.advance(2 * HOUR_MS);
  meter.spend(100);
  assert.equal(meter.read().used, 127);
});

Deno.test("a meter resets when its window ends", () => {
  const clock = createFakeClock();
  const meter = createCreditWindow({ ...OPTIONS, clock });
  meter.spend(7);
  clock.advance(5 * HOUR_MS);
  assert.equal(meter.read().used, 0);
  assert.equal(meter.read().resetsAtMs, undefined);
});

Deno.test("a meter that began earlier continues from window to window", () => {
  const clock = createFakeClock();
  const meter = createCreditWindow({ ...OPTIONS, clock, begunMsAgo: HOUR_MS });
  meter.spend(7);
  assert.deepEqual(meter.read(), {
    limit: 100,
    used: 17,
    resetsAtMs: NOON_MS + 4 * HOUR_MS,
  });
  clock.advance(10 * HOUR_MS);
  assert.deepEqual(meter.read(), {
    limit: 100,
    used: 10,
    resetsAtMs: NOON_MS + 14 * HOUR_MS,
  });
});
