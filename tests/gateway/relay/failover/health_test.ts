import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../../src/base/json.ts";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import { ask, credentials, hello, PATHS } from "../../../support/wire/ask.ts";
import {
  type Act,
  good,
  longEventAfterOutput,
  longJson,
  reset,
  silent,
  status,
} from "../../../support/upstream/bad_provider.ts";
import { tokenFile } from "../../../support/gateway/config.ts";
import {
  connectionTo,
  openScene,
  type Scene,
} from "../../../support/gateway/failover_scene.ts";
import { settle } from "../../../support/settle.ts";
import { WORDS } from "../../../support/wire/wire.ts";
import { steps } from "../../../support/steps.ts";

const CHAT = { protocol: "chat", mode: "native" } as const;

/** Fails until `untilMs`, then answers. */
function downUntil(untilMs: number, act: Act = status(503)): Act {
  return (asked) => asked.atMs < untilMs ? act(asked) : good(asked);
}

function withFallback() {
  return [
    connectionTo("one", CHAT, {
      models: [{ id: "model-1", fallbacks: ["model-2"] }],
    }),
    connectionTo("two", CHAT, { models: ["model-2"] }),
  ];
}

/** Returns two connections with the same model. */
function pool(overrides: Readonly<Record<string, unknown>> = {}) {
  return [
    connectionTo("one", CHAT, overrides),
    connectionTo("two", CHAT, overrides),
  ];
}

/** Returns a message that makes a request begin its own conversation, at the first connection of the file. */
function newConversation(count: number) {
  return { messages: [{ role: "user", content: `Hello ${count}` }] };
}

Deno.test("a primary that is down for a minute gets few requests, and serves within 15 s of its recovery", async () => {
  const scene = await openScene(withFallback(), {
    one: [downUntil(60_000)],
    two: [good],
  });
  let backAtMs: number | undefined;
  for (let count = 0; count < 160; count++) {
    scene.timers.advance(Math.max(0, count * 500 - scene.timers.elapsedMs()));
    const received = await scene.ask("chat");
    assert.equal(received.status, 200);
    const isPrimary = received.headers.get("x-gateway-model") === null;
    if (isPrimary) backAtMs ??= received.atMs;
  }
  const asked = scene.providers.asked.filter(({ host, atMs }) =>
    host === "one" && atMs < 60_000
  );
  // Cool-downs that double up to 30 s make it eleven.
  assert.ok(asked.length <= 12, `${asked.length} requests while it was down`);
  assert.ok(backAtMs !== undefined && backAtMs >= 60_000 && backAtMs <= 75_000);
});

Deno.test("a connection that fails with 503 for 17 s serves within 15 s of its recovery", async () => {
  const scene = await openScene(pool(), {
    one: [downUntil(17_000)],
    two: [good],
  });
  const served: [atMs: number, host: unknown][] = [];
  for (let count = 0; count < 60; count++) {
    scene.timers.advance(1000);
    const { atMs, line } = await scene.ask("chat", newConversation(count));
    served.push([atMs, line.connection]);
  }
  const back = served.find(([, host]) => host === "one")?.[0];
  assert.ok(back !== undefined && back <= 17_000 + 15_000, `back at ${back}`);
});

/** Returns an act that answers after `ms` milliseconds on the scene's clock. */
function slow(scene: () => Scene, ms: number): Act {
  return async (asked) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    scene().timers.schedule(ms, resolve);
    await promise;
    return good(asked);
  };
}

Deno.test("an upstream whose answers take 12 s gets all requests again within two seconds of its first probe", async () => {
  const scene: Scene = await openScene([connectionTo("one", CHAT)], {
    one: [
      (asked) =>
        asked.atMs < 2000
          ? status(500)(asked)
          : slow(() => scene, 12_000)(asked),
    ],
  });
  const received: { readonly atMs: number; readonly status: number }[] = [];
  const running: Promise<void>[] = [];
  for (let count = 0; count < 400; count++) {
    const atMs = scene.timers.elapsedMs();
    running.push(
      scene.gateway.handler(scene.request("chat")).then((answer) => {
        received.push({ atMs, status: answer.status });
        return answer.body?.cancel();
      }),
    );
    scene.timers.advance(25);
    await settle();
  }
  await scene.pass(Promise.all(running));
  const recovered = scene.providers.asked.filter(({ atMs }) => atMs >= 2000);
  const probeAtMs = recovered[0]?.atMs ?? Infinity;
  assert.ok(probeAtMs < 6000, `probed at ${probeAtMs}`);
  const turnedAway = received.filter(({ status }) => status === 503);
  assert.ok(turnedAway.length > 0);
  assert.ok(turnedAway.every(({ atMs }) => atMs < probeAtMs + 2000));
  const early = recovered.filter(({ atMs }) => atMs < probeAtMs + 250);
  assert.equal(early.length, 1, "more than one probe at once");
});

Deno.test("only probes, and attempts after a silent or broken connection, use a new socket", async (t) => {
  const sentOver = async (ask: (scene: Scene) => Promise<void>, act: Act) => {
    const sent: (boolean | undefined)[] = [];
    const scene = await openScene(
      [connectionTo("one", CHAT)],
      { one: [act] },
      {},
      ({ overNewConnection }) => sent.push(overNewConnection),
    );
    await ask(scene);
    return sent;
  };
  const once = async (scene: Scene) => void await scene.ask("chat");
  await t.step("an error of the provider", async () => {
    assert.deepEqual(await sentOver(once, status(500)), [false, false, false]);
  });
  await t.step("a break", async () => {
    assert.deepEqual(await sentOver(once, reset), [false, true, true]);
  });
  await t.step("a probe", async () => {
    const untilProbe = async (scene: Scene) => {
      for (let count = 0; count < 3; count++) await once(scene);
      scene.timers.advance(1000);
      await once(scene);
      await once(scene);
    };
    const sent = await sentOver(untilProbe, downUntil(4000));
    assert.deepEqual(sent.slice(-2), [true, false]);
  });
});

Deno.test("200 requests a second to a dead provider make at most 1.2 attempts each", async () => {
  const scene = await openScene([connectionTo("one", CHAT)], {
    one: [status(503)],
  });
  const statuses = new Map<number, number>();
  const running: Promise<void>[] = [];
  for (let count = 0; count < 1000; count++) {
    running.push(
      scene.gateway.handler(scene.request("chat")).then((answer) => {
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        return answer.body?.cancel();
      }),
    );
    scene.timers.advance(5);
    if (count % 20 === 0) await new Promise((go) => setTimeout(go, 0));
  }
  await scene.pass(Promise.all(running));
  assert.deepEqual([...statuses.keys()], [503]);
  assert.ok(
    scene.providers.asked.length <= 1200,
    `${scene.providers.asked.length} attempts`,
  );
});

Deno.test("a burst to a failing provider makes at most 1.2 attempts per request", async () => {
  const scene = await openScene([connectionTo("one", CHAT)], { one: [reset] });
  const burst = Array.from({ length: 100 }, () => scene.ask("chat"));
  await scene.pass(Promise.all(burst));
  assert.ok(
    scene.providers.asked.length <= 120,
    `${scene.providers.asked.length} attempts`,
  );
});

Deno.test("a request gets a 503 with the time to wait while every connection of its model cools down", async () => {
  const scene = await openScene([connectionTo("one", CHAT)], {
    one: [status(500)],
  });
  // Three requests fail, and one probe.
  for (let count = 0; count < 4; count++) {
    assert.equal((await scene.ask("chat")).status, 500);
  }
  const before = scene.providers.asked.length;
  const received = await scene.ask("chat");
  assert.equal(received.status, 503);
  assert.equal(received.headers.get("retry-after"), "2");
  const { error } = JSON.parse(received.text);
  assert.equal(error.type, "overloaded_error");
  assert.equal(error.code, "connection_cooling_down");
  assert.equal(scene.providers.asked.length, before);
});

Deno.test("other requests go to another connection while one request waits out a 429", async () => {
  const limited = status(429, { headers: { "retry-after": "60" } });
  const scene = await openScene(pool(), { one: [limited], two: [good] });
  for (let count = 0; count < 5; count++) {
    assert.equal((await scene.ask("chat")).status, 200);
  }
  assert.deepEqual(scene.providers.hosts(), [
    "one",
    ...Array.from({ length: 5 }, () => "two"),
  ]);
});

Deno.test("a 429 without Retry-After cools the connection down until its exhausted window resets", async () => {
  const exhausted = status(429, {
    headers: {
      "x-codex-primary-used-percent": "100",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-after-seconds": "1200",
    },
  });
  const way = { protocol: "responses", mode: "native" } as const;
  const scene = await openScene([
    connectionTo("one", way, { quota: { kind: "codex" } }),
    connectionTo("two", way),
  ], { one: [exhausted, good], two: [good] });
  for (const [count, ms] of [0, 1_190_000, 11_000].entries()) {
    scene.timers.advance(ms);
    await scene.ask("responses", { input: `Hello ${count}` });
  }
  assert.deepEqual(scene.providers.hosts(), ["one", "two", "two", "one"]);
});

Deno.test("a 429 with an implausible wait, in a header, a window or its body, causes no cool-down", async (t) => {
  const way = { protocol: "responses", mode: "native" } as const;
  const window = {
    "x-codex-primary-used-percent": "100",
    "x-codex-primary-window-minutes": "300",
  };
  const acts = {
    "retry-after": status(429, { headers: { "retry-after": "9".repeat(30) } }),
    "retry-after as a date": status(429, {
      headers: { "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" },
    }),
    "retry-after-ms": status(429, {
      headers: { "retry-after-ms": "9".repeat(30) },
    }),
    "a window": status(429, {
      headers: { ...window, "x-codex-primary-reset-at": "253402300799" },
    }),
    "the message": status(429, {
      message: `Please try again in ${"9".repeat(30)}s.`,
    }),
  };
  await steps(t, Object.entries(acts), async ([, act]) => {
    const scene = await openScene([
      connectionTo("one", way, { quota: { kind: "codex" } }),
      connectionTo("two", way),
    ], { one: [act, good], two: [good] });
    await scene.ask("responses", { input: "Hello" });
    await scene.ask("responses", { input: "Another" });
    assert.deepEqual(scene.providers.hosts(), ["one", "two", "one"]);
  });
});

Deno.test("after a 429, a request is repeated on the same connection if only 30 % of the window is used", async () => {
  const burst = status(429, {
    headers: {
      "retry-after": "1",
      "x-codex-primary-used-percent": "30",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-after-seconds": "1200",
    },
  });
  const way = { protocol: "responses", mode: "native" } as const;
  const scene = await openScene([
    connectionTo("one", way, { quota: { kind: "codex" } }),
    connectionTo("two", way),
  ], { one: [burst, good], two: [good] });
  await scene.ask("responses");
  assert.deepEqual(scene.providers.hosts(), ["one", "one"]);
});

Deno.test("a pool is tried in the file's order, without a pause after a failing connection", async () => {
  const scene = await openScene(pool(), { one: [status(500)], two: [good] });
  const received = await scene.ask("chat");
  assert.deepEqual(scene.providers.hosts(), ["one", "two"]);
  assert.equal(received.atMs, 0);
  assert.equal(received.headers.get("x-gateway-model"), null);
});

Deno.test("an answer that is too long to translate never counts against its connection", async (t) => {
  const way = { protocol: "chat", mode: "translated" } as const;
  const cases = [
    ["before any output", longJson, false],
    ["after output", longEventAfterOutput, true],
  ] as const;
  await steps(t, cases, async ([, act, stream]) => {
    const scene = await openScene([
      connectionTo("one", way),
      connectionTo("two", way),
    ], { one: [act], two: [good] });
    for (let count = 0; count < 4; count++) {
      const received = await scene.ask("chat", { stream });
      assert.equal(received.line.ended, "error");
    }
    assert.deepEqual(scene.providers.hosts(), ["one", "one", "one", "one"]);
  });
});

Deno.test("the response names the model that served, and the log names every attempt", async () => {
  const way = { protocol: "messages", mode: "translated" } as const;
  const scene = await openScene([
    connectionTo("one", way, {
      models: [{ id: "model-1", fallbacks: ["model-2"] }],
    }),
    connectionTo("two", way, {
      models: [{ id: "model-2", upstream: "upstream-2" }],
    }),
  ], { one: [status(401)], two: [good] });
  const received = await scene.ask("messages");
  assert.equal(JSON.parse(received.text).model, "model-2");
  assert.equal(received.headers.get("x-gateway-model"), "model-2");
  assert.equal(scene.providers.asked[1]?.model, "upstream-2");
  assert.equal(received.line.model, "model-1");
  assert.equal(received.line.upstream_model, "upstream-2");
  assert.deepEqual(received.line.attempts, [
    {
      connection: "one",
      model: "model-1",
      status: 401,
      failure: "misconfigured",
      ms: 0,
    },
    { connection: "two", model: "model-2", status: 200, ms: 0 },
  ]);
  assert.ok(isJsonObject(received.line.usage));
});

Deno.test("a fallback that is not assigned to the caller is not used", async () => {
  const scene = await openScene(withFallback(), {
    one: [status(401)],
    two: [good],
  }, { tokens: [tokenFile({ models: ["model-1"] })] });
  const received = await scene.ask("chat");
  assert.equal(received.status, 502);
  assert.deepEqual(scene.providers.hosts(), ["one"]);
});

Deno.test("fallbacks serve in the order of the file", async () => {
  const scene = await openScene([
    connectionTo("one", CHAT, {
      models: [{ id: "model-1", fallbacks: ["model-2", "model-3"] }],
    }),
    connectionTo("two", CHAT, { models: ["model-3"] }),
    connectionTo("three", CHAT, { models: ["model-2"] }),
  ], { one: [status(401)], two: [good], three: [status(500)] });
  const received = await scene.ask("chat");
  assert.deepEqual(scene.providers.hosts(), ["one", "three", "two"]);
  assert.equal(received.headers.get("x-gateway-model"), "model-3");
  assert.ok(received.text.includes(WORDS));
});

Deno.test("a full connection is passed over, and a failed attempt frees its slot", async () => {
  const scene = await openScene(pool({ max_concurrent: 1 }), {
    one: [silent],
    two: [good],
  });
  const controller = new AbortController();
  const first = scene.gateway.handler(
    new Request(scene.request("chat"), { signal: controller.signal }),
  );
  const second = await scene.ask("chat");
  assert.equal(second.line.connection, "two");
  controller.abort();
  await scene.pass(first);
  assert.equal(scene.gateway.admission.active, 0);
});

Deno.test("one token's hundred failures a second do not affect 1,000 requests of another token", async (t) => {
  const acts = {
    "500": status(500),
    "403 without a reason": status(403, { message: "No" }),
    "403 for the content": status(403, { errorCode: "content_filter" }),
    "a reset": reset,
    "429": status(429, { headers: { "retry-after": "30" } }),
  };
  await steps(t, Object.entries(acts), async ([, act]) => {
    const scene = await openScene([connectionTo("one", CHAT)], {
      one: [(asked) => isPoison(asked.body) ? act(asked) : good(asked)],
    }, {
      tokens: ["alice", "bob"].map((caller) =>
        tokenFile({ name: caller, sha256: sha256Hex(`token of ${caller}`) })
      ),
    });
    const send = (caller: string, content: string) =>
      scene.gateway.handler(
        new Request(
          `http://gateway${PATHS.chat}`,
          ask(
            "chat",
            hello("chat", {
              model: "model-1",
              messages: [{ role: "user", content }],
            }),
            credentials("chat", `token of ${caller}`),
          ),
        ),
      );
    const poisoned: Promise<unknown>[] = [];
    const statuses = new Map<number, number>();
    for (let count = 0; count < 1000; count++) {
      poisoned.push(
        send("alice", POISON).then((answer) => answer.body?.cancel()),
      );
      const answer = await send("bob", "Hello");
      await answer.body?.cancel();
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      scene.timers.advance(10);
    }
    await scene.pass(Promise.all(poisoned));
    assert.deepEqual([...statuses], [[200, 1000]]);
  });
});

const POISON = "words over which the provider falls";

function isPoison(body: JsonObject): boolean {
  return JSON.stringify(body).includes(POISON);
}
