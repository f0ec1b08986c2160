import assert from "node:assert/strict";
import { createIdentity } from "../../src/relay/identity/identity.ts";
import { NoKeys } from "../../src/relay/identity/key_sets.ts";
import {
  createMainKeySets,
  createMainThread,
} from "../../src/shared/main_thread.ts";
import { createPoller } from "../../src/quotas/poller.ts";
import { createMemorySums } from "../../src/usage/memory_sums.ts";
import { createFakeClock } from "../support/fakes/fake_clock.ts";
import type { KeySet } from "../../src/relay/identity/key_sets.ts";
import {
  createSigner,
  GOOD_CLAIMS,
  identityFile,
  identityScene,
  ISSUER,
  KEYS_URL,
  keySetOf,
  type Serve,
} from "../support/gateway/identity_scene.ts";
import { minimalConfig, NOW_MS } from "../support/gateway/config.ts";

type MainThread = ReturnType<typeof createMainThread>;

const signer = await createSigner();
const NAME = `u-1 (${ISSUER})`;

const SOURCE = {
  issuer: ISSUER,
  keys: { kind: "url", url: KEYS_URL },
} as const;

/** The main thread of a process with these keys. */
function mainThread(
  { keySets, liveConfig, log }: Pick<
    Awaited<ReturnType<typeof identityScene>>,
    "keySets" | "liveConfig" | "log"
  >,
): MainThread {
  const clock = createFakeClock(NOW_MS);
  const fetch = () => Promise.reject(new Error("There are no quotas"));
  return createMainThread({
    ...{ keySets, liveConfig, clock },
    sums: createMemorySums(clock),
    poller: createPoller({ fetch, clock, log }),
  });
}

/** Two threads that ask for the keys of one process. Messages between them are copied, as between real threads. */
async function twoThreads(serve: Serve) {
  const scene = await identityScene(serve);
  const main = mainThread(scene);
  const createThread = () => {
    const keySets = createMainKeySets({
      keys: async (question) =>
        structuredClone(await main.keys(structuredClone(question))),
    });
    const identity = createIdentity({ ...scene, keySets });
    const callerOf = async (token: string) =>
      (await identity.callerOf(token, scene.liveConfig.current())).name;
    return { callerOf };
  };
  return { ...scene, one: createThread(), other: createThread() };
}

/** Returns the reason of a refusal, or its code. */
async function refusalOf(calling: Promise<unknown>): Promise<string> {
  try {
    await calling;
  } catch (error) {
    return String(Object(error).reason ?? Object(error).code);
  }
  throw new Error("The token was accepted.");
}

/** Signs tokens of different callers, so that none is remembered. */
function tokenOf(sub: string, by = signer): Promise<string> {
  return by.sign({ ...GOOD_CLAIMS, sub });
}

Deno.test("all threads share one reading of the keys", async () => {
  const { requested, one, other } = await twoThreads(
    keySetOf(signer),
  );
  const names = await Promise.all([
    one.callerOf(await tokenOf("u-1")),
    other.callerOf(await tokenOf("u-1")),
  ]);
  assert.deepEqual(names, [NAME, NAME]);
  await other.callerOf(await tokenOf("u-2"));
  assert.deepEqual(requested, [KEYS_URL]);
});

Deno.test("unknown keys cause one reading in 30 seconds, however many threads see them", async () => {
  const scene = await twoThreads(keySetOf(signer));
  const { requested, one, other } = scene;
  const [next, stranger] = await Promise.all(
    [createSigner("k2"), createSigner("k3")],
  );
  await one.callerOf(await tokenOf("u-1"));
  scene.serve(keySetOf(signer, next));
  scene.advance(20_000);
  // The reading of the first thread is the reason why the second may not read yet.
  assert.equal(
    await refusalOf(other.callerOf(await tokenOf("u-1", stranger))),
    "its issuer has no such key",
  );
  assert.equal(requested.length, 1);
  scene.advance(10_000);
  assert.equal(await one.callerOf(await tokenOf("u-1", next)), NAME);
  assert.equal(await other.callerOf(await tokenOf("u-1", next)), NAME);
  for (let count = 0; count < 5; count++) {
    scene.advance(5_000);
    for (const thread of [one, other]) {
      await refusalOf(thread.callerOf(await tokenOf(`${count}`, stranger)));
    }
  }
  assert.equal(requested.length, 2);
});

Deno.test("an absent issuer gets one request in five seconds, from any number of threads", async () => {
  const scene = await twoThreads(() => Promise.reject(new Error("away")));
  const { requested, one, other } = scene;
  for (const thread of [one, other]) {
    assert.equal(
      await refusalOf(thread.callerOf(await tokenOf("u-1"))),
      "identity_unavailable",
    );
  }
  assert.equal(requested.length, 1);
  assert.equal(scene.log.entries.length, 1);
  scene.serve(keySetOf(signer));
  scene.advance(5_000);
  assert.equal(await other.callerOf(await tokenOf("u-1")), NAME);
  assert.equal(await one.callerOf(await tokenOf("u-1")), NAME);
  assert.equal(requested.length, 2);
});

Deno.test("keys that another thread has just read need no further reading", async () => {
  const next = await createSigner("k2");
  const { keySets, requested, advance, serve } = await identityScene(
    keySetOf(signer),
  );
  const old = await keySets.of(SOURCE);
  serve(keySetOf(next));
  advance(30_000);
  const renewed = await keySets.renewed(SOURCE, old);
  assert.equal(renewed?.keys[0]?.kid, "k2");
  assert.equal(await keySets.renewed(SOURCE, old), renewed);
  assert.equal(
    await keySets.renewed(SOURCE, { id: renewed?.id ?? 0 }),
    undefined,
  );
  assert.equal(requested.length, 2);
});

Deno.test("a thread uses keys that it received after a token was checked with older ones", async () => {
  const scene = await identityScene(keySetOf(signer));
  const keySets = createMainKeySets(mainThread(scene));
  const old = await keySets.of(SOURCE);
  scene.serve(keySetOf(await createSigner("k2")));
  scene.advance(30_000);
  const renewed = await keySets.renewed(SOURCE, old);
  assert.equal(renewed?.keys[0]?.kid, "k2");
  // Another request of the thread began with the old keys, too.
  assert.equal(await keySets.renewed(SOURCE, old), renewed);
  assert.equal(scene.requested.length, 2);
});

Deno.test("a thread keeps one object of each reading, until its issuer leaves the configuration", async () => {
  const copies: (KeySet | undefined)[] = [];
  const keySets = createMainKeySets({
    keys: () => Promise.resolve({ set: { id: 7, keys: [] } }),
  });
  const { identity } = await minimalConfig({ identity: [identityFile()] });
  copies.push(await keySets.of(SOURCE));
  keySets.retain(identity);
  copies.push(await keySets.of(SOURCE));
  keySets.retain([]);
  copies.push(await keySets.of(SOURCE));
  assert.equal(copies[1], copies[0]);
  assert.notEqual(copies[2], copies[0]);
});

Deno.test("a thread gets the time until the next reading with the refusal", async () => {
  const keySets = createMainKeySets({
    keys: () => Promise.resolve({ retryAfterMs: 1234 }),
  });
  await assert.rejects(
    keySets.of(SOURCE),
    (error) => error instanceof NoKeys && error.retryAfterMs === 1234,
  );
});
