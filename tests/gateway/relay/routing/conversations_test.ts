import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import { PROTOCOLS } from "../../../../src/base/protocol.ts";
import { minimalConfig, tokenFile } from "../../../support/gateway/config.ts";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import { ownerOf } from "../../../../src/gateway/relay/request/conversation.ts";
import type { Notice, Notices } from "../../../../src/gateway/shared/notice.ts";
import {
  connectionTo,
  openScene,
  type Scene,
} from "../../../support/gateway/failover_scene.ts";
import {
  type Act,
  good,
  status,
} from "../../../support/upstream/bad_provider.ts";
import { steps } from "../../../support/steps.ts";

const HOUR_MS = 3_600_000;

const CHAT = { protocol: "chat", mode: "native" } as const;

const MODEL = { id: "model-1" };

/** Opens a gateway with connections of these names, in this order. */
async function openPool(
  scripts: Readonly<Record<string, readonly Act[]>>,
  { way = CHAT, models = [MODEL], limits = {}, notices, ...overrides }: {
    readonly way?: Parameters<typeof connectionTo>[1];
    readonly models?: readonly Record<string, unknown>[];
    readonly limits?: Readonly<Record<string, Record<string, unknown>>>;
    readonly notices?: Notices;
    readonly [key: string]: unknown;
  } = {},
): Promise<Scene> {
  const connections = Object.keys(scripts)
    .map((name) => connectionTo(name, way, { models, ...limits[name] }));
  return await openScene(connections, scripts, overrides, undefined, notices);
}

interface Turn {
  /** Default: the client names none. */
  readonly session?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocol?: "chat" | "messages" | "responses";
  readonly body?: Parameters<Scene["request"]>[1];
}

/** Sends a turn and returns the connection that answered it. */
async function turn(scene: Scene, one: Turn = {}): Promise<unknown> {
  return (await lineOf(scene, one)).connection;
}

/** Sends a turn and returns its log line. */
async function lineOf(
  scene: Scene,
  { session, headers = {}, protocol = "chat", body }: Turn = {},
): Promise<JsonObject> {
  const request = scene.request(protocol, body);
  if (session !== undefined) request.headers.set("session-id", session);
  for (const [name, value] of Object.entries(headers)) {
    request.headers.set(name, value);
  }
  const response = await scene.pass(scene.gateway.handler(request));
  await scene.pass(response.text());
  return await scene.lines.of(response);
}

/** Sends turns and returns the connection of each. */
async function turns(scene: Scene, count: number, one: Turn = {}) {
  const served = [];
  for (let index = 0; index < count; index++) {
    served.push(await turn(scene, one));
  }
  return served;
}

/** A connection that answers once, fails twice and recovers. */
const RECOVERS = [good, status(503), status(503), good];

Deno.test("a moved conversation stays after its first connection recovers, on every path and in every mode", async (t) => {
  for (const protocol of PROTOCOLS) {
    for (const mode of ["native", "translated"] as const) {
      for (const quota_routing of [false, true]) {
        for (const session of ["s-1", undefined]) {
          const name = `${protocol} ${mode}, quota_routing: ${quota_routing}, ${
            session ?? "named by its first messages"
          }`;
          await t.step(name, async () => {
            const scene = await openPool({ a: RECOVERS, b: [good] }, {
              way: { protocol, mode },
              models: [{ ...MODEL, quota_routing }],
            });
            assert.deepEqual(
              await turns(scene, 4, { protocol, ...session && { session } }),
              ["a", "b", "b", "b"],
            );
          });
        }
      }
    }
  }
});

Deno.test("a new conversation starts at the first available connection of the file, whatever others use", async () => {
  const scene = await openPool({ a: RECOVERS, b: [good] });
  assert.deepEqual(await turns(scene, 2, { session: "s-1" }), ["a", "b"]);
  assert.equal(await turn(scene, { session: "s-2" }), "b");
  assert.equal(await turn(scene, { session: "s-3" }), "a");
  const body = { messages: [{ role: "user", content: "Another" }] };
  assert.equal(await turn(scene, { body }), "a");
  assert.equal(await turn(scene, { session: "s-2" }), "b");
});

Deno.test("a conversation moves again only when its new connection fails", async () => {
  const scene = await openPool({
    a: [status(503), good],
    b: [good, status(503), good],
    c: [good],
  });
  assert.deepEqual(await turns(scene, 4, { session: "s-1" }), [
    ...["b", "a", "a", "a"],
  ]);
});

Deno.test("a conversation that began at the second connection stays there after the first one's cool-down", async (t) => {
  for (const session of ["s-1", undefined]) {
    await t.step(session ?? "named by its first messages", async () => {
      const scene = await openPool({
        a: [...Array(3).fill(status(503)), good],
        b: [good],
      });
      await turns(scene, 3, { session: "other" });
      for (const other of ["x", "y"]) await turn(scene, { session: other });
      const own = session === undefined ? {} : { session };
      assert.equal(await turn(scene, own), "b");
      scene.timers.advance(60_000);
      assert.equal(await turn(scene, { session: "new" }), "a");
      assert.equal(await turn(scene, own), "b");
    });
  }
});

Deno.test("a conversation moves once when its connection is full", async () => {
  let release = () => {};
  const held: Act = (asked) =>
    new Promise((resolve) => release = () => resolve(good(asked)));
  const scene = await openPool({ a: [good, held, good], b: [good] }, {
    limits: { a: { max_concurrent: 1 } },
  });
  assert.equal(await turn(scene, { session: "s-1" }), "a");
  const slow = turn(scene, { session: "s-2" });
  assert.equal(await turn(scene, { session: "s-1" }), "b");
  release();
  await slow;
  assert.equal(await turn(scene, { session: "s-1" }), "b");
  assert.equal(await turn(scene, { session: "s-2" }), "a");
});

Deno.test("a conversation stays until an hour after its last answer", async (t) => {
  for (const session of ["s-1", undefined]) {
    await t.step(session ?? "named by its first messages", async () => {
      const scene = await openPool({ a: [status(503), good], b: [good] });
      const own = session === undefined ? {} : { session };
      assert.equal(await turn(scene, own), "b");
      scene.timers.advance(HOUR_MS - 1000);
      assert.equal(await turn(scene, own), "b");
      scene.timers.advance(HOUR_MS - 1000);
      assert.equal(await turn(scene, own), "b");
      scene.timers.advance(HOUR_MS);
      assert.equal(await turn(scene, own), "a");
    });
  }
});

Deno.test("a conversation returns to its own model after a fallback served one turn", async () => {
  const other = connectionTo("c", CHAT, { models: ["model-2"] });
  const models = [{ ...MODEL, fallbacks: ["model-2"] }];
  const scene = await openScene(
    [
      ...["a", "b"].map((name) => connectionTo(name, CHAT, { models })),
      other,
    ],
    { a: [good, status(503), good], b: [status(503), good], c: [good] },
  );
  assert.deepEqual(await turns(scene, 3, { session: "s-1" }), ["a", "c", "a"]);
});

Deno.test("counting tokens uses the conversation's connection, and does not move it", async () => {
  const models = [MODEL];
  const way = { protocol: "messages", mode: "native" } as const;
  const scene = await openPool(
    { a: [status(503), good], b: [good, good, status(503), good] },
    { way, models },
  );
  const one = { session: "s-1", protocol: "messages" } as const;
  const count = async () => {
    const request = scene.request("messages");
    const counting = new Request(`${request.url}/count_tokens`, request);
    counting.headers.set("session-id", "s-1");
    const response = await scene.pass(scene.gateway.handler(counting));
    await scene.pass(response.text());
    return (await scene.lines.of(response)).connection;
  };
  assert.equal(await turn(scene, one), "b");
  assert.equal(await count(), "b");
  assert.equal(await count(), "a");
  assert.equal(await turn(scene, one), "b");
});

Deno.test("a slower concurrent request does not move a conversation back", async () => {
  let release = () => {};
  const held: Act = (asked) =>
    new Promise((resolve) => release = () => resolve(good(asked)));
  const scene = await openPool({
    a: [good, held, status(503), good],
    b: [good],
  });
  assert.equal(await turn(scene, { session: "s-1" }), "a");
  const slow = turn(scene, { session: "s-1" });
  assert.equal(await turn(scene, { session: "s-1" }), "b");
  release();
  assert.equal(await slow, "a");
  assert.equal(await turn(scene, { session: "s-1" }), "b");
});

Deno.test("each model of a session begins at the session's connection, and moves independently", async () => {
  const models = ["model-1", "model-2"].map((id) => ({ id }));
  const scene = await openPool(
    { a: [status(503), good], b: [good, good, status(503), good] },
    { models },
  );
  const session = "s-1";
  const other = { session, body: { model: "model-2" } };
  assert.equal(await turn(scene, { session }), "b");
  assert.equal(await turn(scene, other), "b");
  assert.equal(await turn(scene, other), "a");
  assert.equal(await turn(scene, { session }), "b");
  assert.equal(await turn(scene, other), "a");
});

/** A session of each client, and a subagent of it. */
const AGENTS: Readonly<
  Record<string, readonly [Record<string, string>, Record<string, string>]>
> = {
  "Claude Code": [
    { "x-claude-code-session-id": "s-1" },
    { "x-claude-code-session-id": "s-1", "x-claude-code-agent-id": "a-1" },
  ],
  "Codex": [
    { "session-id": "s-1", "thread-id": "s-1" },
    { "session-id": "s-1", "thread-id": "t-2" },
  ],
  "Codex before its threads shared a session": [
    { session_id: "s-1" },
    { session_id: "s-2", "x-codex-parent-thread-id": "s-1" },
  ],
  "opencode": [
    { "x-session-id": "s-1" },
    { "x-session-id": "s-2", "x-parent-session-id": "s-1" },
  ],
};

Deno.test("subagents use their parent's connection if the client names the parent", (t) =>
  steps(t, Object.entries(AGENTS), async ([, [parent, agent]]) => {
    const scene = await openPool({ a: [status(503), good], b: [good] });
    const body = { messages: [{ role: "user", content: "Look" }] };
    assert.equal(await turn(scene, { headers: parent }), "b");
    assert.equal(await turn(scene, { headers: agent, body }), "b");
    assert.equal(await turn(scene, { session: "s-3" }), "a");
  }));

/** Sends a turn and returns its connection and move. */
async function moveOf(scene: Scene, one: Turn = {}): Promise<unknown> {
  const line = await lineOf(scene, one);
  return [line.connection, line.moved_from, line.moved_for];
}

Deno.test("the log names the move of a conversation once, with its reason", async (t) => {
  const [stayed, own] = [[undefined, undefined], { session: "s-1" }];
  await t.step("a failure", async () => {
    const scene = await openPool({ a: RECOVERS, b: [good] });
    assert.deepEqual(await moveOf(scene, own), ["a", ...stayed]);
    assert.deepEqual(await moveOf(scene, own), ["b", "a", "trouble"]);
    assert.deepEqual(await moveOf(scene, own), ["b", ...stayed]);
    assert.deepEqual(await moveOf(scene, { session: "s-2" }), ["b", ...stayed]);
  });
  for (const mode of ["native", "translated"] as const) {
    for (const stream of [false, true]) {
      await t.step(`a failure, ${mode}, stream: ${stream}`, async () => {
        const way = { protocol: "chat", mode } as const;
        const scene = await openPool({ a: RECOVERS, b: [good] }, { way });
        const one = { session: "s-1", body: { stream } };
        assert.deepEqual(await moveOf(scene, one), ["a", ...stayed]);
        assert.deepEqual(await moveOf(scene, one), ["b", "a", "trouble"]);
      });
    }
  }
  await t.step("a failure, for a conversation without a name", async () => {
    const scene = await openPool({ a: RECOVERS, b: [good] });
    const said = [{ role: "user", content: "Hello" }];
    const body = {
      messages: [...said, { role: "assistant", content: "Hi" }, ...said],
    };
    assert.deepEqual(await moveOf(scene), ["a", ...stayed]);
    assert.deepEqual(await moveOf(scene, { body }), ["b", "a", "trouble"]);
    assert.deepEqual(await moveOf(scene, { body }), ["b", ...stayed]);
  });
  await t.step("a quota", async () => {
    const usedUp = status(429, { headers: { "retry-after": "900" } });
    const scene = await openPool({ a: [good, usedUp], b: [good] });
    await turn(scene, own);
    await turn(scene, { session: "s-2" });
    assert.deepEqual(await moveOf(scene, own), ["b", "a", "cooling_down"]);
    assert.deepEqual(await moveOf(scene, { session: "s-2" }), ["b", ...stayed]);
  });
  await t.step("a cool-down that ends before the answer comes", async () => {
    const down = status(503);
    const slow: Act = (asked) => {
      scene.timers.advance(5000);
      return good(asked);
    };
    const scene = await openPool({
      a: [good, down, down, down, good],
      b: [good, good, good, slow],
    });
    await turn(scene, own);
    for (const session of ["s-2", "s-3", "s-4"]) await turn(scene, { session });
    assert.deepEqual(await moveOf(scene, own), ["b", "a", "cooling_down"]);
  });
  await t.step("a full connection", async () => {
    let release = () => {};
    const held: Act = (asked) =>
      new Promise((resolve) => release = () => resolve(good(asked)));
    const scene = await openPool({ a: [good, held], b: [good] }, {
      limits: { a: { max_concurrent: 1 } },
    });
    await turn(scene, own);
    const slow = turn(scene, { session: "s-2" });
    assert.deepEqual(await moveOf(scene, own), ["b", "a", "full"]);
    release();
    await slow;
  });
  await t.step("a limit of the token", async () => {
    const limits = [{ window: "day", requests: 1, connections: ["a"] }];
    const scene = await openPool({ a: [good], b: [good] }, {
      tokens: [tokenFile({ limits })],
    });
    await turn(scene, own);
    assert.deepEqual(await moveOf(scene, own), ["b", "a", "full"]);
  });
  await t.step("a reload", async () => {
    const scene = await openPool({ a: [good], b: [good], c: [good] });
    await turn(scene, own);
    const { connections, ...config } = scene.liveConfig.current();
    const changed = await minimalConfig({
      connections: ["b", "c"].map((name) => connectionTo(name, CHAT)),
    });
    assert.equal(connections.length, 3);
    scene.liveConfig.swap({ ...config, ...changed });
    assert.deepEqual(await moveOf(scene, own), ["b", undefined, "removed"]);
    assert.deepEqual(await moveOf(scene, own), ["b", ...stayed]);
  });
});

/** Opens the channels of two gateways that share notices, like threads and replicas. */
function channels(count: number) {
  const listeners: ((notice: Notice) => void)[] = [];
  const sent: Notice[] = [];
  const list = Array.from({ length: count }, (_, own): Notices => ({
    publish(notice) {
      sent.push(structuredClone(notice));
      listeners.forEach((listener, index) => index !== own && listener(notice));
    },
    onNotice: (listener) => void (listeners[own] = listener),
  }));
  return { list, sent };
}

/** Opens two gateways that share notices. */
async function openReplicas(
  first: Parameters<typeof openPool>[0],
  second: Parameters<typeof openPool>[0],
  options: Parameters<typeof openPool>[1] = {},
) {
  const { list: [one, other], sent } = channels(2);
  assert.ok(one && other);
  const scenes = [
    await openPool(first, { ...options, notices: one }),
    await openPool(second, { ...options, notices: other }),
  ] as const;
  const share = () => scenes.forEach(({ timers }) => timers.advance(1000));
  /** Sends a notice to the second gateway. */
  const send = (notice: Notice) => one.publish(notice);
  return { scenes, sent, share, send };
}

Deno.test("threads and replicas share the connection of a conversation, with and without a name", async (t) => {
  for (const quota_routing of [false, true]) {
    for (const own of [{ session: "s-1" }, {}]) {
      await t.step(JSON.stringify({ ...own, quota_routing }), async () => {
        const { scenes: [one, other], share } = await openReplicas(
          { a: [status(503), good], b: [good, status(503), good] },
          { a: [good], b: [good] },
          { models: [{ ...MODEL, quota_routing }] },
        );
        assert.equal(await turn(one, own), "b");
        share();
        assert.equal(await turn(other, own), "b");
        assert.equal(await turn(one, own), "a");
        share();
        assert.equal(await turn(other, own), "a");
        assert.equal(await turn(other, { session: "s-2" }), "a");
      });
    }
  }
});

Deno.test("an old notice that arrives after a move does not move the conversation back", async () => {
  const { scenes: [one, other], sent, share, send } = await openReplicas(
    { a: [status(503), good], b: [good] },
    { a: [good], b: [status(503), good] },
  );
  const own = { session: "s-1" };
  assert.equal(await turn(one, own), "b");
  share();
  const [placed] = sent;
  assert.ok(placed?.kind === "placed");
  other.timers.advance(30_000);
  assert.equal(await turn(other, own), "a");
  other.timers.advance(30_000);
  // The gateway reads the notices again after an outage of the store.
  send({ ...placed, ms: placed.ms - 60_000 });
  assert.equal(await turn(other, own), "a");
});

Deno.test("a caller with too many sessions to remember moves no conversation of another caller", async () => {
  const bob = "token-of-bob";
  const { scenes: [one, other], sent, share, send } = await openReplicas(
    { a: [status(503), good], b: [good] },
    { a: [good], b: [good] },
    {
      tokens: [tokenFile(), tokenFile({ name: "bob", sha256: sha256Hex(bob) })],
    },
  );
  const alice = { session: "s-1" };
  const headers = { authorization: `Bearer ${bob}` };
  assert.equal(await turn(one, alice), "b");
  await turn(one, { ...alice, headers });
  share();
  const [placed, ofBob] = sent;
  assert.ok(placed?.kind === "placed" && ofBob?.kind === "placed");
  assert.notEqual(ownerOf(placed.conversation), ownerOf(ofBob.conversation));
  for (let count = 0; count < 10_001; count++) {
    const number = String(count).padStart(6, "0");
    const conversation = ofBob.conversation.slice(0, -6) + number;
    send({ ...ofBob, conversation });
  }
  assert.equal(await turn(other, alice), "b");
});

Deno.test("other gateways remember a conversation until an hour after its last answer", async () => {
  const { scenes: [one, other], sent, share } = await openReplicas(
    { a: [status(503), good], b: [good] },
    { a: [good], b: [good] },
  );
  const own = { session: "s-1" };
  for (let count = 0; count < 18; count++) {
    assert.equal(await turn(one, own), "b");
    one.timers.advance(300_000);
    other.timers.advance(300_000);
  }
  share();
  assert.ok(sent.length <= 10, `${sent.length} notices`);
  for (const { timers } of [one, other]) timers.advance(HOUR_MS - 302_000);
  assert.equal(await turn(other, own), "b");
});

Deno.test("notices hide the session's name, and an unnamed conversation at the first connection sends no notice", async () => {
  const { scenes: [one], sent, share } = await openReplicas(
    { a: [good], b: [good] },
    { a: [good], b: [good] },
  );
  for (let count = 0; count < 5; count++) await turn(one);
  share();
  assert.deepEqual(sent, []);
  for (const session of ["secret-1", "secret-2"]) {
    await turn(one, { session });
    await turn(one, { session });
  }
  share();
  assert.equal(sent.length, 2);
  assert.doesNotMatch(JSON.stringify(sent), /secret|alice/);
});
