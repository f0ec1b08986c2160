import { addressOf } from "../../../src/http1/client/client.ts";
import assert from "node:assert/strict";
import { nextTurn } from "../../support/settle.ts";
import {
  createScriptedDuplex,
  type ScriptedDuplex,
} from "../../support/upstream/scripted_duplex.ts";
import { within } from "../../support/within.ts";
import {
  answering,
  type ClientScene,
  createClientScene,
  OK,
  textOf,
} from "./scripted_dial.ts";
import { steps } from "../../support/steps.ts";

/** Sends a request, reads its response and lets its connection become idle. */
async function exchange(
  scene: ClientScene,
  url = "http://provider.example/v1",
): Promise<void> {
  assert.equal(await textOf(await scene.send({ url })), "ok");
  await nextTurn();
}

/** Opens `count` connections to the same origin at once, and makes them idle. */
async function openIdle(scene: ClientScene, count: number): Promise<void> {
  const sent = Array.from({ length: count }, () => scene.send());
  for (const response of await Promise.all(sent)) await textOf(response);
  await nextTurn();
}

/** The number of requests that each connection has served. */
function served({ opened }: ClientScene): readonly number[] {
  return opened.map(({ written }) => written.split("POST ").length - 1);
}

Deno.test("one connection serves one request after another", async () => {
  using scene = createClientScene();
  for (let count = 0; count < 3; count++) await exchange(scene);
  assert.deepEqual(served(scene), [3]);
});

Deno.test("each of several simultaneous requests has its own connection, and the newest connection serves the next request", async () => {
  using scene = createClientScene();
  await openIdle(scene, 3);
  assert.deepEqual(served(scene), [1, 1, 1]);
  await exchange(scene);
  await exchange(scene);
  assert.deepEqual(served(scene), [1, 1, 3]);
});

/** Creates a scene whose first connection is within a response. The test opens the later ones. */
async function createSlowScene(): Promise<{
  readonly scene: ClientScene;
  readonly dials: readonly PromiseWithResolvers<{ duplex: ScriptedDuplex }>[];
  readonly busy: ScriptedDuplex;
  /** Completes the response of the first connection. */
  readonly free: () => Promise<void>;
}> {
  const dials: PromiseWithResolvers<{ duplex: ScriptedDuplex }>[] = [];
  const scene = createClientScene({
    dial: () => {
      const dial = Promise.withResolvers<{ duplex: ScriptedDuplex }>();
      dials.push(dial);
      return dial.promise;
    },
  });
  const busy = createScriptedDuplex({ answers: [OK.slice(0, -2), OK, OK] });
  const first = scene.send();
  dials[0]?.resolve({ duplex: busy });
  const response = await first;
  const free = async () => {
    busy.give("ok");
    await textOf(response);
    await nextTurn();
  };
  return { scene, dials, busy, free };
}

Deno.test("requests whose new connections hang take turns on an idle connection", async () => {
  const { scene, dials, busy, free } = await createSlowScene();
  using _ = scene;
  const second = scene.send();
  const third = scene.send();
  await free();
  assert.equal(await textOf(await second), "ok");
  assert.equal(await textOf(await third), "ok");
  assert.equal(busy.written.split("POST ").length - 1, 3);
  assert.equal(dials.length, 3);
});

Deno.test("a connection that opens too late for its request serves a later request", async () => {
  const { scene, dials, free } = await createSlowScene();
  using _ = scene;
  const second = scene.send();
  await free();
  await textOf(await second);
  const late = answering();
  dials[1]?.resolve({ duplex: late });
  await nextTurn();
  await exchange(scene);
  assert.match(late.written, /^POST /);
});

Deno.test("a connection that opened too late and ended while idle makes no request fail", async () => {
  const { scene, dials, free } = await createSlowScene();
  using _ = scene;
  const second = scene.send();
  await free();
  await textOf(await second);
  const late = answering();
  late.breakWrites(new Error("Connection reset by peer"));
  dials[1]?.resolve({ duplex: late });
  await nextTurn();
  const next = scene.send();
  late.end();
  await nextTurn();
  dials[2]?.resolve({ duplex: answering() });
  assert.equal(await textOf(await next), "ok");
});

Deno.test("a request that uses another connection succeeds although its own connection cannot be opened", async () => {
  const { scene, dials, free } = await createSlowScene();
  using _ = scene;
  const second = scene.send();
  await free();
  dials[1]?.reject(new Error("Connection refused"));
  assert.equal(await textOf(await second), "ok");
});

Deno.test("a request that must have a new connection waits for it", async () => {
  const { scene, dials, busy, free } = await createSlowScene();
  using _ = scene;
  const second = scene.send({ overNewConnection: true });
  await free();
  assert.equal(busy.written.split("POST ").length - 1, 1);
  dials[1]?.resolve({ duplex: answering() });
  assert.equal(await textOf(await second), "ok");
});

Deno.test("only requests to the same origin share a connection", async () => {
  using scene = createClientScene();
  const urls = [
    "http://provider.example/v1",
    "http://provider.example:80/other?a=b",
    "https://provider.example/v1",
    "http://provider.example:8080/v1",
    "http://other.example/v1",
  ];
  for (const url of urls) await exchange(scene, url);
  assert.deepEqual(served(scene), [2, 1, 1, 1]);
  assert.deepEqual(scene.origins[1], {
    isSecure: true,
    hostname: "provider.example",
    port: 443,
  });
});

Deno.test("an idle connection is closed after 30 s, or a second before its provider would close it", async () => {
  const lasting = { "": 30_000, "timeout=60": 30_000, "timeout=5": 4000 };
  for (const [value, ms] of Object.entries(lasting)) {
    const answer = OK.replace("\r\n", `\r\nkeep-alive: ${value}\r\n`);
    using scene = createClientScene({
      open: () => createScriptedDuplex({ answers: [answer, answer, answer] }),
    });
    await exchange(scene);
    scene.timers.advance(ms - 1);
    await exchange(scene);
    scene.timers.advance(ms);
    await exchange(scene);
    assert.deepEqual(served(scene), [2, 1], value);
    assert.ok(scene.opened[0]?.isClosed);
  }
});

Deno.test("a connection serves no request five minutes after it was opened, however busy it is", async () => {
  using scene = createClientScene();
  for (let second = 0; second < 300; second += 20) {
    await exchange(scene);
    scene.timers.advance(20_000);
  }
  await exchange(scene);
  assert.deepEqual(served(scene), [15, 1]);
  assert.ok(scene.opened[0]?.isClosed);
});

Deno.test("a request that needs a new connection leaves idle connections alone", async () => {
  using scene = createClientScene();
  await openIdle(scene, 2);
  await textOf(await scene.send({ overNewConnection: true }));
  assert.deepEqual(served(scene), [1, 1, 1]);
  assert.ok(scene.opened.every(({ isClosed }) => !isClosed));
});

Deno.test("a reused connection that is lost before its response closes connections that have been idle since before its use", async (t) => {
  const losses: Readonly<
    Record<string, (lost: ScriptedDuplex, leaving: AbortController) => void>
  > = {
    "silence until a deadline or the caller's leaving": (_, leaving) =>
      leaving.abort(),
    "an end": (lost) => lost.end(),
    "a reset": (lost) => lost.breakReads(new Error("Connection reset by peer")),
  };
  await steps(t, Object.entries(losses), async ([, lose]) => {
    using scene = createClientScene({
      open: (number) =>
        number === 2 ? createScriptedDuplex({ answers: [OK] }) : answering(),
    });
    await openIdle(scene, 3);
    const leaving = new AbortController();
    scene.timers.advance(1000);
    const lost = scene.send({ signal: leaving.signal });
    await nextTurn();
    scene.timers.advance(1000);
    await exchange(scene);
    const [first, second, third] = scene.opened;
    assert.ok(first && second && third);
    lose(third, leaving);
    await assert.rejects(lost, { name: "Http1Failure" });
    // The second one has answered meanwhile.
    assert.deepEqual([first.isClosed, second.isClosed], [true, false]);
  });
});

Deno.test("a connection that ends within a response does not affect idle connections", async () => {
  using scene = createClientScene({
    open: (number) =>
      number === 1
        ? createScriptedDuplex({ answers: [OK, OK.slice(0, 20)] })
        : answering(),
  });
  await openIdle(scene, 2);
  const broken = scene.send();
  await nextTurn();
  scene.opened[1]?.end();
  await assert.rejects(broken, { name: "Http1Failure" });
  assert.equal(scene.opened[0]?.isClosed, false);
});

Deno.test("a connection that its provider closes within a second is not kept", async () => {
  for (const seconds of [0, 1]) {
    const answer = OK.replace("\r\n", `\r\nkeep-alive: timeout=${seconds}\r\n`);
    using scene = createClientScene({
      open: () => createScriptedDuplex({ answers: [answer, answer] }),
    });
    await exchange(scene);
    await exchange(scene);
    assert.deepEqual(served(scene), [1, 1]);
  }
});

Deno.test("an idle connection that its provider closes is not used again", async () => {
  using scene = createClientScene();
  await openIdle(scene, 2);
  scene.opened[1]?.end();
  await nextTurn();
  assert.ok(scene.opened[1]?.isClosed);
  await exchange(scene);
  assert.deepEqual(served(scene), [2, 1]);
});

Deno.test("an idle connection that receives bytes is not used again", async () => {
  using scene = createClientScene();
  await exchange(scene);
  scene.opened[0]?.give(OK);
  await nextTurn();
  assert.ok(scene.opened[0]?.isClosed);
  await exchange(scene);
  assert.deepEqual(served(scene), [1, 1]);
});

/** What a provider does before or after the next request takes its connection. */
interface Surplus {
  readonly before?: (duplex: ScriptedDuplex) => void;
  readonly after?: (duplex: ScriptedDuplex) => void;
}

Deno.test("a connection with bytes after its response serves no other request, not even a simultaneous one", async (t) => {
  const surplus = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nother";
  const ways: Readonly<Record<string, Surplus>> = {
    "before": { before: (duplex) => duplex.give(surplus) },
    "after": { after: (duplex) => duplex.give(surplus) },
    "its end": { after: (duplex) => duplex.end() },
  };
  await steps(t, Object.entries(ways), async ([, { before, after }]) => {
    using scene = createClientScene();
    await textOf(await scene.send());
    const [first] = scene.opened;
    assert.ok(first);
    before?.(first);
    let uploads = 0;
    const next = scene.send({ onUploaded: () => uploads++ });
    after?.(first);
    assert.equal(await textOf(await next), "ok");
    assert.ok(first.isClosed);
    assert.deepEqual(served(scene), [1, 1]);
    await nextTurn();
    assert.equal(uploads, 1);
  });
});

Deno.test("the oldest idle connection is closed when there are too many", async () => {
  for (const maxIdle of [1, 2]) {
    using scene = createClientScene({ maxIdle });
    await openIdle(scene, 3);
    const closed = scene.opened.map(({ isClosed }) => isClosed);
    assert.deepEqual(
      closed,
      maxIdle === 1 ? [true, true, false] : [true, false, false],
    );
    await exchange(scene);
    assert.deepEqual(served(scene), [1, 1, 2]);
    assert.equal(scene.timers.running <= 1, true);
  }
});

Deno.test("a client that keeps no idle connections closes each after its response", async () => {
  using scene = createClientScene({ maxIdle: 0 });
  await exchange(scene);
  await exchange(scene);
  assert.deepEqual(served(scene), [1, 1]);
  assert.ok(scene.opened.every(({ isClosed }) => isClosed));
});

Deno.test("a client that is disposed closes idle connections at once and others after their response", async () => {
  const scene = createClientScene({
    open: (number) => number === 0 ? answering() : createScriptedDuplex(),
  });
  const [first, busy] = [scene.send(), scene.send()];
  await textOf(await first);
  await nextTurn();
  scene[Symbol.dispose]();
  assert.ok(scene.opened[0]?.isClosed);
  scene.opened[1]?.give(OK);
  assert.equal(await textOf(await busy), "ok");
  const { closed } = scene.opened[1] ?? {};
  await within(closed ?? Promise.reject(), "the close");
  assert.equal(scene.timers.untilNextMs, undefined);
});

Deno.test("an unread response keeps its connection open, and cancelling the response closes the connection", async () => {
  using scene = createClientScene({
    open: () => createScriptedDuplex({ answers: [OK.slice(0, -1), OK] }),
  });
  const { body } = await scene.send();
  await scene.send();
  assert.deepEqual(served(scene), [1, 1]);
  await body?.cancel();
  assert.ok(scene.opened[0]?.isClosed);
});

Deno.test("a plain proxy gets whole URLs and its own headers, and any other connection only paths", async () => {
  const credentials = ["proxy-authorization", "Basic x"] as const;
  using scene = createClientScene({ proxyHeaders: [credentials] });
  const url = "http://provider.example:81/v1?a=b";
  await scene.send({ url, headers: [["a", "1"]] });
  assert.match(
    scene.opened[0]?.written ?? "",
    /^POST http:\/\/provider.example:81\/v1\?a=b HTTP\/1.1\r\nhost: provider.example:81\r\na: 1\r\nproxy-authorization: Basic x\r\n/,
  );
  using direct = createClientScene();
  await direct.send({ url, method: "GET", body: undefined });
  assert.equal(
    direct.opened[0]?.written,
    "GET /v1?a=b HTTP/1.1\r\nhost: provider.example:81\r\n\r\n",
  );
});

Deno.test("addressOf() parses an address as browsers do", () => {
  const addresses = {
    "http://A.example": [80, "a.example", "a.example", "/"],
    "https://a.example/b#c": [443, "a.example", "a.example", "/b"],
    "https://a.example:443/?b": [443, "a.example", "a.example", "/?b"],
    "http://[::1]:8080/b c": [8080, "::1", "[::1]:8080", "/b%20c"],
    "http://127.1/": [80, "127.0.0.1", "127.0.0.1", "/"],
    "http://b\u00fccher.example/": [
      80,
      "xn--bcher-kva.example",
      "xn--bcher-kva.example",
      "/",
    ],
  } as const;
  for (const [url, expected] of Object.entries(addresses)) {
    const { origin: { port, hostname }, host, path } = addressOf(url);
    assert.deepEqual([port, hostname, host, path], expected);
  }
  assert.throws(() => addressOf("nowhere"), TypeError);
});
