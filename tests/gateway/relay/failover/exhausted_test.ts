import assert from "node:assert/strict";
import type { Protocol } from "../../../../src/base/protocol.ts";
import { NOW_MS } from "../../../support/gateway/config.ts";
import {
  connectionTo,
  type Mode,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import { good, reset, status } from "../../../support/upstream/bad_provider.ts";
import { steps } from "../../../support/steps.ts";

/** A 429 of a window that resets in four minutes, before the gateway's first probe. */
const WAIT_SECONDS = 240;

const exhausted = status(429, {
  headers: { "retry-after": `${WAIT_SECONDS}` },
});

const UNTIL = NOW_MS / 1000 + WAIT_SECONDS;

function exhaustedScene(protocol: Protocol, mode: Mode) {
  return openScene([connectionTo("one", { protocol, mode })], {
    one: [exhausted],
  });
}

Deno.test("callers of Responses get an exhausted quota as Codex's error, also during the cool-down", async () => {
  const scene = await exhaustedScene("responses", "translated");
  for (let count = 0; count < 3; count++) {
    const received = await scene.ask("responses");
    assert.equal(received.status, 429, received.text);
    assert.equal(received.headers.get("x-should-retry"), "false");
    assert.equal(received.headers.get("retry-after"), `${WAIT_SECONDS}`);
    const { error } = JSON.parse(received.text);
    assert.equal(error.type, "usage_limit_reached");
    assert.equal(error.resets_at, UNTIL);
  }
  assert.equal(scene.providers.asked.length, 1);
});

Deno.test("an exhausted quota reaches callers of Messages and Chat with its reset time, and forbids a retry", (t) =>
  steps(t, ["messages", "chat"] as const, async (protocol) => {
    const scene = await exhaustedScene(protocol, "translated");
    for (let count = 0; count < 2; count++) {
      const received = await scene.ask(protocol);
      assert.equal(received.status, 429, received.text);
      assert.equal(received.headers.get("x-should-retry"), "false");
      assert.equal(received.headers.get("retry-after"), `${WAIT_SECONDS}`);
      const { error } = JSON.parse(received.text);
      assert.equal(error.type, "rate_limit_error");
      const end = new Date(UNTIL * 1000).toISOString();
      assert.ok(error.message.includes(end.slice(11, 16)), error.message);
      assert.equal(error.resets_at, undefined);
      // Qwen Code stops at this message, opencode at this header.
      assert.match(error.message, /exhausted quota will reset/);
      assert.equal(received.headers.get("retry-after-ms"), "1000");
    }
    assert.equal(scene.providers.asked.length, 1);
  }));

Deno.test("a native 429 of an exhausted quota passes unchanged, with the header that stops clients", async () => {
  const scene = await exhaustedScene("messages", "native");
  const plain = await openScene(
    [connectionTo("one", { protocol: "messages", mode: "native" })],
    { one: [status(429)] },
  );
  const received = await scene.ask("messages");
  const burst = await plain.ask("messages");
  assert.equal(received.status, 429);
  assert.equal(received.text, burst.text);
  assert.equal(received.headers.get("x-should-retry"), "false");
  assert.equal(received.headers.get("retry-after"), `${WAIT_SECONDS}`);
  assert.equal(received.headers.get("retry-after-ms"), "1000");
  assert.equal(burst.headers.get("x-should-retry"), null);
  assert.equal(burst.headers.get("retry-after-ms"), null);
});

Deno.test("a native 429 keeps the provider's headers about retries", async () => {
  const scene = await openScene(
    [connectionTo("one", { protocol: "messages", mode: "native" })],
    {
      one: [status(429, {
        headers: { "retry-after": "240", "x-should-retry": "true" },
      })],
    },
  );
  const received = await scene.ask("messages");
  assert.equal(received.headers.get("x-should-retry"), "true");
});

Deno.test("a wait of less than a minute is no exhausted quota", async () => {
  const short = status(429, { headers: { "retry-after": "59" } });
  const scene = await openScene(
    [connectionTo("one", { protocol: "responses", mode: "translated" })],
    { one: [short] },
  );
  const asked = await scene.ask("responses");
  assert.equal(JSON.parse(asked.text).error.type, "rate_limit_error");
  assert.equal(asked.headers.get("x-should-retry"), null);
  const unasked = await scene.ask("responses");
  assert.equal(unasked.status, 503);
  assert.equal(JSON.parse(unasked.text).error.code, "connection_cooling_down");
});

Deno.test("an exhausted quota ends at the provider's retry time when its window resets at an implausible time", async () => {
  const farOff = status(429, {
    headers: {
      "retry-after": `${WAIT_SECONDS}`,
      "x-codex-primary-used-percent": "100",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-at": "253402300799",
    },
  });
  const scene = await openScene([
    connectionTo("one", { protocol: "responses", mode: "translated" }, {
      quota: { kind: "codex" },
    }),
  ], { one: [farOff] });
  for (let count = 0; count < 2; count++) {
    const received = await scene.ask("responses");
    assert.equal(received.headers.get("retry-after"), `${WAIT_SECONDS}`);
    assert.equal(JSON.parse(received.text).error.resets_at, UNTIL);
  }
});

const HOUR_SECONDS = 3600;

/** The time from one try of the gateway to the next, while a long wait of the provider lasts. */
const TRY_SECONDS = 300;

Deno.test("an error names the provider's retry time or the gateway's next try, the earlier one, during the whole wait", async (t) => {
  const days = 86_400;
  const waits: readonly [string, number][] = [
    ["299", 299],
    [`${2 * HOUR_SECONDS}`, TRY_SECONDS],
    [new Date(NOW_MS + 5 * HOUR_SECONDS * 1000).toUTCString(), TRY_SECONDS],
    [`${30 * days}`, TRY_SECONDS],
  ];
  for (const protocol of ["responses", "messages", "chat"] as const) {
    for (const [wait, seconds] of waits) {
      await t.step(`${protocol} ${wait}`, async () => {
        const scene = await openScene(
          [connectionTo("one", { protocol, mode: "translated" })],
          { one: [status(429, { headers: { "retry-after": wait } })] },
        );
        const until = NOW_MS / 1000 + seconds;
        for (const passed of [0, 60, 175]) {
          scene.timers.advance(passed * 1000);
          const received = await scene.ask(protocol);
          assert.equal(received.status, 429, received.text);
          assert.equal(received.headers.get("x-should-retry"), "false");
          const { error } = JSON.parse(received.text);
          if (protocol === "responses") assert.equal(error.resets_at, until);
          assert.match(error.message, /at 2026-01-01 00:05 UTC/);
          const left = until - (NOW_MS + scene.timers.elapsedMs()) / 1000;
          assert.equal(received.headers.get("retry-after"), `${left}`);
        }
        assert.equal(scene.providers.asked.length, 1);
      });
    }
  }
});

Deno.test("the retry headers of a native 429 are shortened to the gateway's next try", async () => {
  const scene = await openScene(
    [connectionTo("one", { protocol: "messages", mode: "native" })],
    {
      one: [
        status(429, {
          headers: { "retry-after": "1587827", "retry-after-ms": "1587827000" },
        }),
      ],
    },
  );
  const { headers } = await scene.ask("messages");
  assert.equal(headers.get("retry-after"), `${TRY_SECONDS}`);
  assert.equal(headers.get("retry-after-ms"), `${TRY_SECONDS * 1000}`);
});

Deno.test("an error names the earliest try among several exhausted connections, even if it is seconds away", async () => {
  const RESPONSES = { protocol: "responses", mode: "translated" } as const;
  const month = status(429, { headers: { "retry-after": "1587827" } });
  const later = status(429, { headers: { "retry-after": "3000" } });
  const scene = await openScene(
    [connectionTo("one", RESPONSES), connectionTo("two", RESPONSES)],
    { one: [month, later], two: [later] },
  );
  await scene.ask("responses");
  scene.timers.advance((TRY_SECONDS - 10) * 1000);
  const received = await scene.ask("responses");
  assert.equal(received.status, 429, received.text);
  const { error } = JSON.parse(received.text);
  assert.equal(error.resets_at, NOW_MS / 1000 + TRY_SECONDS);
  assert.match(
    error.message,
    /tried again at 2026-01-01 00:05 UTC, before the exhausted quota will reset/,
  );
});

Deno.test("a usage limit is exhausted until the reset in the error's body, natively and translated", async (t) => {
  const resets = NOW_MS / 1000 + WAIT_SECONDS;
  const limit = (resets_at: number) => () =>
    Response.json({
      error: { type: "usage_limit_reached", message: "Used up.", resets_at },
    }, { status: 429 });
  await steps(t, ["responses", "chat"] as const, async (protocol) => {
    const way = { protocol: "responses", mode: "native" } as const;
    const scene = await openScene([connectionTo("one", way)], {
      one: [limit(resets), limit(253_402_300_799), good],
    });
    for (const asked of [1, 1]) {
      const received = await scene.ask(protocol);
      assert.equal(received.status, 429, received.text);
      assert.equal(received.headers.get("x-should-retry"), "false");
      assert.equal(scene.providers.asked.length, asked);
    }
    scene.timers.advance(WAIT_SECONDS * 1000);
    // An implausible reset is ignored.
    await scene.ask(protocol);
    assert.equal((await scene.ask(protocol)).status, 200);
  });
});

Deno.test("an exhausted connection gets a probe within an hour, before the provider's retry time", async () => {
  const scene = await openScene(
    [connectionTo("one", { protocol: "responses", mode: "translated" })],
    {
      one: [
        status(429, { headers: { "retry-after": `${2 * HOUR_SECONDS}` } }),
        good,
      ],
    },
  );
  await scene.ask("responses");
  scene.timers.advance(HOUR_SECONDS * 1000);
  assert.equal((await scene.ask("responses")).status, 200);
});

Deno.test("an error names the provider's retry time rounded up to a minute", async () => {
  const scene = await openScene(
    [connectionTo("one", { protocol: "chat", mode: "translated" })],
    { one: [status(429, { headers: { "retry-after": "241" } })] },
  );
  const { error } = JSON.parse((await scene.ask("chat")).text);
  assert.match(error.message, /available again at 2026-01-01 00:05 UTC/);
});

Deno.test("an exhausted quota ignores the reset of a window for another model", async () => {
  const headers = {
    "retry-after": `${WAIT_SECONDS}`,
    "x-codex-bengalfox-primary-used-percent": "100",
    "x-codex-bengalfox-primary-window-minutes": "10080",
    "x-codex-bengalfox-primary-reset-at": `${NOW_MS / 1000 + 400_000}`,
    "x-codex-primary-used-percent": "10",
    "x-codex-primary-window-minutes": "300",
    "x-codex-primary-reset-at": `${NOW_MS / 1000 + 9000}`,
  };
  const scene = await openScene([
    connectionTo("one", { protocol: "responses", mode: "translated" }, {
      quota: { kind: "codex" },
    }),
  ], { one: [status(429, { headers })] });
  for (let count = 0; count < 2; count++) {
    const received = await scene.ask("responses");
    assert.equal(JSON.parse(received.text).error.resets_at, UNTIL);
  }
});

Deno.test("no response forbids a retry while another connection is available soon", async () => {
  const RESPONSES = { protocol: "responses", mode: "translated" } as const;
  const scene = await openScene(
    [connectionTo("one", RESPONSES), connectionTo("two", RESPONSES)],
    { one: [exhausted], two: [reset] },
  );
  for (let count = 0; count < 8; count++) {
    const received = await scene.ask("responses");
    assert.notEqual(received.headers.get("x-should-retry"), "false");
    assert.ok(!received.text.includes("usage_limit_reached"), received.text);
  }
});

Deno.test("with several exhausted connections, the one that resets first gets the next request", async () => {
  const RESPONSES = { protocol: "responses", mode: "translated" } as const;
  const later = status(429, { headers: { "retry-after": "3000" } });
  const scene = await openScene(
    [connectionTo("one", RESPONSES), connectionTo("two", RESPONSES)],
    { one: [later], two: [exhausted, good] },
  );
  const received = await scene.ask("responses");
  assert.equal(JSON.parse(received.text).error.resets_at, UNTIL);
  scene.timers.advance(WAIT_SECONDS * 1000);
  assert.equal((await scene.ask("responses")).status, 200);
});
