import assert from "node:assert/strict";
import { configChanges } from "../../../../src/gateway/config/changes.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import {
  ALICE_TOKEN,
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  problemsOf,
} from "../../../support/gateway/config.ts";
import { startGateway } from "../../../support/gateway/gateway.ts";

const KEYS = [{ key: "key-1" }, { key: "key-2" }, { key: "key-3", weight: 2 }];

/** Opens a gateway with one connection of three keys. A key with a status is refused with it. */
async function open(statuses: Record<string, number> = {}, keys = KEYS) {
  const used: string[] = [];
  const gateway = await startGateway(
    minimalFile({
      connections: [connectionFile({ auth: { scheme: "bearer", keys } })],
    }),
    {
      fetch(_url, init) {
        const header = new Headers(init.headers).get("authorization") ?? "";
        const key = header.replace("Bearer ", "");
        used.push(key);
        const status = statuses[key];
        if (status === undefined) {
          return Promise.resolve(Response.json({ choices: [] }));
        }
        const error = { message: `No ${key}`, code: "x" };
        const headers = { "retry-after": "60" };
        return Promise.resolve(Response.json({ error }, { status, headers }));
      },
    },
  );
  return {
    ...gateway,
    used,
    async turn(session: string | undefined, content = "Hi.") {
      const response = await gateway.call("/v1/chat/completions", {
        method: "POST",
        headers: {
          authorization: `Bearer ${ALICE_TOKEN}`,
          "content-type": "application/json",
          ...session === undefined ? {} : { "session-id": session },
        },
        body: JSON.stringify({
          ...{ model: "model-a", messages: [{ role: "user", content }] },
        }),
      });
      const text = await response.text();
      return { status: response.status, text, key: used.at(-1) };
    },
  };
}

Deno.test("new conversations are spread over a connection's keys by weight, and keep their key", async () => {
  for (const isNamed of [true, false]) {
    await using gateway = await open();
    const counts: Record<string, number> = {};
    const turn = (index: number) =>
      isNamed
        ? gateway.turn(`session-${index}`)
        : gateway.turn(undefined, `Question ${index}`);
    for (let index = 0; index < 200; index++) {
      const { key = "" } = await turn(index);
      counts[key] = (counts[key] ?? 0) + 1;
      if (index % 10 === 0) assert.equal((await turn(index)).key, key);
    }
    const [one = 0, two = 0, three = 0] = KEYS.map(({ key }) => counts[key]);
    assert.equal(one + two + three, 200);
    assert.ok(one > 30 && one < 70, `${one} of 50`);
    assert.ok(two > 30 && two < 70, `${two} of 50`);
    assert.ok(three > 80 && three < 120, `${three} of 100`);
  }
});

Deno.test("every gateway gives a conversation the same key", async () => {
  const keys: (string | undefined)[][] = [];
  for (let replica = 0; replica < 2; replica++) {
    await using gateway = await open();
    const of = [];
    for (let index = 0; index < 20; index++) {
      of.push((await gateway.turn(`session-${index}`)).key);
    }
    keys.push(of);
  }
  assert.equal(new Set(keys[0]).size, 3);
  assert.deepEqual(keys[0], keys[1]);
});

for (const status of [429, 401, 403, 503]) {
  Deno.test(`a key with the status ${status} cools down alone, and another key serves its conversations`, async () => {
    await using gateway = await open({ "key-1": status });
    for (let index = 0; index < 30; index++) {
      const turn = await gateway.turn(`session-${index}`);
      assert.equal(turn.status, 200, turn.text);
      assert.notEqual(turn.key, "key-1");
    }
    const refused = gateway.used.filter((key) => key === "key-1");
    assert.ok(refused.length > 0);
    assert.ok(refused.length <= 3, `${refused.length} attempts with its key`);
    assert.equal(new Set(gateway.used).size, 3);
  });
}

Deno.test("a conversation that moved from a refused key stays with the new key", async () => {
  const statuses: Record<string, number> = {};
  await using gateway = await open(statuses);
  const { key: first = "" } = await gateway.turn("session-1");
  statuses[first] = 401;
  const { key: second, status } = await gateway.turn("session-1");
  assert.equal(status, 200);
  assert.notEqual(second, first);
  delete statuses[first];
  assert.equal((await gateway.turn("session-1")).key, second);
});

Deno.test("the log, /limits and /usage name each key by its connection and number", async () => {
  await using gateway = await open({ "key-1": 401 }, [
    { key: "key-1" },
    { key: "key-2" },
  ]);
  const ask = async (path: string) => {
    const headers = { authorization: `Bearer ${ALICE_TOKEN}` };
    return await (await gateway.call(path, { headers })).text();
  };
  for (let index = 0; index < 8; index++) {
    await gateway.turn(`session-${index}`);
  }
  const limits = await ask("/v1/limits");
  const usage = await ask("/v1/usage");
  for (const text of [limits, usage]) {
    assert.match(text, /"main#1"/);
    assert.match(text, /"main#2"/);
    assert.doesNotMatch(text, /key-\d/);
  }
  const served = gateway.lines.requests.items
    .filter(({ connection }) => connection === "main#2");
  assert.equal(served.length, 8);
  assert.doesNotMatch(gateway.lines.text(), /key-\d/);
});

/** Loads a file whose connection `main` has these keys. */
async function load(
  keys: readonly JsonObject[],
  more: Record<string, unknown> = {},
  file: Record<string, unknown> = {},
) {
  return await loadFile(
    minimalFile({
      connections: [connectionFile({ auth: { keys }, ...more })],
      ...file,
    }),
    { readFile: (path) => Promise.resolve(`${path}-content\n`) },
  );
}

Deno.test("each key is a connection with its own name and id, and the configured name means all keys", async () => {
  const config = configOf(
    await load([{ name: "a", key_file: "keys/a" }, { key: "k2", weight: 3 }], {
      id: "00000000-0000-4000-8000-00000000000A",
    }, {
      tokens: [{
        name: "alice",
        sha256: "a".repeat(64),
        connections: ["main"],
      }],
    }),
  );
  const [one, two] = config.connections;
  assert.deepEqual([one?.name, two?.name], ["main#a", "main#2"]);
  assert.notEqual(one?.id, two?.id);
  assert.equal(one?.auth.scheme !== "none" && one?.auth.key, "keys/a-content");
  assert.deepEqual(two?.keyOf, { connection: "main", weight: 3 });
  assert.notEqual(one?.models[0], two?.models[0]);
  const [alice] = config.callers.values();
  assert.deepEqual([...alice?.connectionIds ?? []], [one?.id, two?.id]);
  assert.equal(config.pools.get("model-a")?.length, 2);
});

Deno.test("a changed key file changes only its own key", async () => {
  const read = async (second: string) =>
    configOf(
      await loadFile(
        minimalFile({
          connections: [connectionFile({
            auth: { keys: [{ key_file: "one" }, { key_file: "two" }] },
          })],
        }),
        { readFile: (path) => Promise.resolve(path === "two" ? second : "k1") },
      ),
    );
  const before = await read("k2");
  const after = await read("k3");
  assert.deepEqual(configChanges(before, after), {
    ...{ added: [], removed: [] },
    changed: ["connections[main#2].auth.key"],
  });
  assert.equal(before.connections[1]?.id, after.connections[1]?.id);
});

Deno.test("a token and a limit may name one key", async () => {
  const config = configOf(
    await load([{ key: "k1" }, { key: "k2" }], {}, {
      tokens: [{
        ...{ name: "alice", sha256: "a".repeat(64), connections: ["main#2"] },
        limits: [
          { requests: 5, window: "day", connections: ["main"] },
          { requests: 5, window: "hour", connections: ["main#1"] },
        ],
      }],
    }),
  );
  const [alice] = config.callers.values();
  assert.deepEqual([...alice?.connectionIds ?? []], [
    config.connections[1]?.id,
  ]);
  assert.deepEqual(
    alice?.limits.map((limit) =>
      limit.kind === "amount" ? limit.connections : limit
    ),
    [["main#1", "main#2"], ["main#1"]],
  );
});

Deno.test("problems with keys name their path in the file, never the key", async () => {
  const cases: [ReturnType<typeof load>, RegExp][] = [
    [load([]), /auth\.keys/],
    [load([{ key: "a", key_file: "b" }]), /auth\.keys\[0\]\.key_file/],
    [load([{ key: "k1" }, {}]), /auth\.keys\[1\]\.key/],
    [load([{ key: "with space" }]), /auth\.keys\[0\]\.key/],
    [
      load([{ name: "x", key: "k1" }, { name: "x", key: "k2" }]),
      /keys\[1\]\.name/,
    ],
    [load([{ key: "k1", weight: 0 }]), /keys\[0\]\.weight/],
    [load([{ name: "a b", key: "k1" }]), /keys\[0\]\.name/],
    [
      load([{ key: "k1" }], { auth: { key: "k", keys: [{ key: "k1" }] } }),
      /auth\.keys.*key, key_file or exchange/,
    ],
    [
      load([{ key: "k1" }], {}, {
        connections: [
          connectionFile({ auth: { keys: [{ key: "k1" }] } }),
          connectionFile(),
        ],
      }),
      /also the name of/,
    ],
  ];
  for (const [result, problem] of cases) {
    const words = problemsOf(await result).join("\n");
    assert.match(words, problem);
    assert.doesNotMatch(words, /\bk[12]\b/);
  }
});
