import assert from "node:assert/strict";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import type { Protocol } from "../../../../src/base/protocol.ts";
import { tokenFile } from "../../../support/gateway/config.ts";
import {
  type CallerResponse,
  connectionTo,
  type Mode,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import {
  type Act,
  good,
  reset,
  status,
} from "../../../support/upstream/bad_provider.ts";
import {
  ask,
  credentials,
  hello,
  PATHS,
  PROTOCOLS,
} from "../../../support/wire/ask.ts";

/** The provider's message about the gateway's account, which no other caller may read. */
const CANARY = "canary-7c1d";

const WAYS: readonly { readonly protocol: Protocol; readonly mode: Mode }[] =
  PROTOCOLS.flatMap((protocol) =>
    (["native", "translated"] as const).map((mode) => ({ protocol, mode }))
  );

/** Failures that only an administrator can solve. */
const LASTING: Readonly<Record<string, Act>> = {
  "a refused key": status(401, { message: CANARY }),
  "a key without rights": status(403, {
    type: "permission_error",
    message: `The API key has no access, ${CANARY}`,
  }),
  "an account without credit": status(402, {
    type: "billing_error",
    message: CANARY,
  }),
  "an exhausted quota without a reset time": status(429, {
    type: "insufficient_quota",
    errorCode: "insufficient_quota",
    message: `You exceeded your current quota, check your billing: ${CANARY}`,
  }),
  "a redirect": () =>
    new Response(null, { status: 302, headers: { location: "http://x/" } }),
  "an invalid certificate": () => {
    throw new TypeError(
      "client error (Connect): invalid peer certificate: UnknownIssuer",
    );
  },
};

/** Asserts that a response has the headers at which Codex and opencode stop at once. */
function assertStops(received: CallerResponse, context: string): void {
  assert.equal(received.headers.get("x-should-retry"), "false", context);
  assert.equal(received.headers.get("retry-after"), "0", context);
  assert.equal(received.headers.get("retry-after-ms"), "1000", context);
}

for (const [name, act] of Object.entries(LASTING)) {
  Deno.test(`clients stop retrying after ${name}, also during the cool-down`, async (t) => {
    for (const way of WAYS) {
      await t.step(`${way.protocol} ${way.mode}`, async () => {
        const scene = await openScene([connectionTo("one", way)], {
          one: [act],
        });
        const first = await scene.ask(way.protocol);
        assertStops(first, first.text);
        for (let count = 0; count < 8; count++) {
          const later = await scene.ask(way.protocol);
          assert.equal(later.status, first.status, later.text);
          const words = first.status === 502
            ? first.line.error
            : "insufficient_quota";
          if (count >= 2) assert.equal(later.line.error, words);
          assertStops(later, later.text);
          assert.match(later.text, / the administrator|canary/);
        }
        assert.equal(scene.providers.asked.length, 3);
        const cooling = await scene.ask(way.protocol);
        assert.ok(!cooling.text.includes(CANARY), cooling.text);
        scene.timers.advance(1000);
        const probe = await scene.ask(way.protocol);
        assert.equal(probe.status, first.status, probe.text);
        assertStops(probe, probe.text);
        assert.equal(scene.providers.asked.length, 4);
      });
    }
  });
}

Deno.test("during a cool-down for all tokens, every caller gets the same error, even without an earlier refusal", async () => {
  const way = { protocol: "chat", mode: "native" } as const;
  const scene = await openScene(
    [connectionTo("one", way)],
    { one: [status(401)] },
    {
      tokens: ["alice", "bob", "carol"].map((name) =>
        tokenFile({ name, sha256: sha256Hex(name) })
      ),
    },
  );
  const send = (name: string) =>
    scene.gateway.handler(
      new Request(
        `http://gateway${PATHS.chat}`,
        ask(
          "chat",
          hello("chat", { model: "model-1" }),
          credentials("chat", name),
        ),
      ),
    );
  for (const name of ["alice", "bob", "alice"]) await send(name);
  const asked = scene.providers.asked.length;
  const received = await send("carol");
  assert.equal(scene.providers.asked.length, asked);
  assert.equal(received.status, 502);
  assert.equal((await received.json()).error.code, "upstream_authentication");
  assert.equal(received.headers.get("x-should-retry"), "false");
});

Deno.test("clients may retry while another connection may serve soon, in any order of failures", async (t) => {
  const refused = status(401);
  const down = status(503, { type: "overloaded_error" });
  const far = status(429, { headers: { "retry-after": "7200" } });
  for (const protocol of PROTOCOLS) {
    const way = { protocol, mode: "native" } as const;
    const pool = [connectionTo("one", way), connectionTo("two", way)];
    const fallback = [
      connectionTo("one", way, {
        models: [{ id: "model-1", fallbacks: ["model-2"] }],
      }),
      connectionTo("two", way, { models: ["model-2"] }),
    ];
    const cases = {
      "refused, then down": [pool, refused, down],
      "down, then refused": [pool, down, refused],
      "refused, and the fallback is down": [fallback, refused, down],
      "used up for hours, and the fallback is down": [fallback, far, down],
    } as const;
    for (const [name, [connections, one, two]] of Object.entries(cases)) {
      await t.step(`${protocol}: ${name}`, async () => {
        const scene = await openScene(connections, { one: [one], two: [two] });
        for (let count = 0; count < 10; count++) {
          const received = await scene.ask(protocol);
          assert.equal(received.status, 503, received.text);
          assert.equal(received.headers.get("x-should-retry"), null);
          assert.ok(Number(received.headers.get("retry-after") ?? 1) <= 15);
          assert.notEqual(received.line.error, "connection_overloaded");
        }
      });
    }
  }
});

Deno.test("clients stop when one connection rejects the key and the other has exhausted its quota", async () => {
  const way = { protocol: "responses", mode: "native" } as const;
  const scene = await openScene(
    [connectionTo("one", way), connectionTo("two", way)],
    {
      one: [status(401)],
      two: [status(429, { headers: { "retry-after": "7200" } })],
    },
  );
  for (let count = 0; count < 5; count++) {
    const received = await scene.ask("responses");
    assert.equal(received.status, 429, received.text);
    assert.equal(received.headers.get("x-should-retry"), "false");
  }
});

Deno.test("clients may retry during a cool-down that a temporary failure began", async () => {
  const way = { protocol: "chat", mode: "native" } as const;
  const scene = await openScene([connectionTo("one", way)], {
    one: [status(401), status(401), status(401), reset],
  });
  for (let count = 0; count < 3; count++) await scene.ask("chat");
  assert.equal((await scene.ask("chat")).status, 502);
  scene.timers.advance(1000);
  const probe = await scene.ask("chat");
  assert.match(probe.text, /closed the connection/);
  assert.equal(probe.headers.get("x-should-retry"), null);
  const received = await scene.ask("chat");
  assert.equal(received.status, 503);
  assert.equal(received.headers.get("x-should-retry"), null);
});

Deno.test("a 403 without a reason forbids a retry of its own request only", async () => {
  const way = { protocol: "chat", mode: "native" } as const;
  const scene = await openScene([connectionTo("one", way)], {
    one: [status(403, { message: "No" }), status(403), status(403), good],
  });
  for (let count = 0; count < 3; count++) {
    assertStops(await scene.ask("chat"), `${count}`);
  }
  const received = await scene.ask("chat");
  assert.equal(received.status, 503, received.text);
  assert.equal(received.headers.get("x-should-retry"), null);
  scene.timers.advance(1000);
  assert.equal((await scene.ask("chat")).status, 200);
});

Deno.test("clients may retry at an exhausted quota with a short retry time", async () => {
  const way = { protocol: "chat", mode: "native" } as const;
  const scene = await openScene([connectionTo("one", way)], {
    one: [
      status(429, {
        errorCode: "insufficient_quota",
        headers: { "retry-after": "30" },
      }),
    ],
  });
  const received = await scene.ask("chat");
  assert.equal(received.status, 429);
  assert.equal(received.headers.get("x-should-retry"), null);
  assert.equal((await scene.ask("chat")).status, 503);
});

Deno.test("clients may retry at an outage with a retry time of an hour", async (t) => {
  for (const way of WAYS) {
    await t.step(`${way.protocol} ${way.mode}`, async () => {
      const scene = await openScene([connectionTo("one", way)], {
        one: [
          status(503, {
            type: "overloaded_error",
            headers: { "retry-after": "3600" },
          }),
        ],
      });
      const received = await scene.ask(way.protocol);
      assert.equal(received.status, 503, received.text);
      assert.equal(received.headers.get("retry-after"), "3600");
      assert.equal(received.headers.get("x-should-retry"), null);
    });
  }
});

Deno.test("callers read the gateway's next try when a quota is exhausted for half an hour", async () => {
  const way = { protocol: "messages", mode: "translated" } as const;
  const scene = await openScene([connectionTo("one", way)], {
    one: [
      status(429, {
        errorCode: "insufficient_quota",
        headers: { "retry-after": "1800" },
      }),
    ],
  });
  for (let count = 0; count < 2; count++) {
    const received = await scene.ask("messages");
    assert.equal(received.headers.get("x-should-retry"), "false");
    assert.equal(received.headers.get("retry-after"), "300");
    assert.match(received.text, /tried again at 2026-01-01 00:05 UTC/);
  }
});

Deno.test("the unread body of a redirect is cancelled", async () => {
  for (const mode of ["native", "translated"] as const) {
    let isCancelled = false;
    const redirect = () =>
      new Response(
        new ReadableStream({ cancel: () => void (isCancelled = true) }),
        { status: 302, headers: { location: "http://x/" } },
      );
    const connection = connectionTo("one", { protocol: "chat", mode });
    const scene = await openScene([connection], { one: [redirect] });
    assert.equal((await scene.ask("chat")).status, 502);
    assert.equal(isCancelled, true, mode);
  }
});
