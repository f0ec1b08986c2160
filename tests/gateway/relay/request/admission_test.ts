import { createDeadlines } from "../../../../src/base/time/deadlines.ts";
import assert from "node:assert/strict";
import type {
  Caller,
  Config,
  Connection,
} from "../../../../src/gateway/config/config.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import {
  type Admission,
  createAdmission,
} from "../../../../src/gateway/relay/request/admission.ts";
import { followCaller } from "../../../../src/gateway/relay/exchange.ts";
import { minimalConfig, tokenFile } from "../../../support/gateway/config.ts";
import {
  type OpenRecord,
  openTestRecord,
} from "../../../support/gateway/open_record.ts";
import { createRandom } from "../../../support/fakes/random.ts";

type Admitted = Parameters<Admission["enter"]>[0] & Pick<OpenRecord, "end">;

/** The caller of a request, and its limits. */
interface Scene {
  readonly admission: Admission;
  readonly config: Config;
  readonly alice: Caller;
  readonly bob: Caller;
  readonly connection: Connection;
}

async function begin(
  { most = 100, mostOfAlice = 100, mostOfConnection = 100 } = {},
): Promise<Scene> {
  const { connections: [first] } = await minimalConfig();
  const config = await minimalConfig({
    server: { max_concurrent_requests: most },
    tokens: [
      tokenFile({ max_concurrent: mostOfAlice }),
      tokenFile({ name: "bob", sha256: "b".repeat(64), max_concurrent: 100 }),
    ],
  });
  const [alice, bob] = config.callers.values();
  assert.ok(alice && bob && first);
  return {
    admission: createAdmission(),
    config,
    alice,
    bob,
    connection: { ...first, maxConcurrent: mostOfConnection },
  };
}

function request(fields: Record<string, string> = {}): Admitted {
  const opened = openTestRecord();
  const headers = new Headers(fields);
  return {
    ...opened,
    headers,
    control: followCaller(new Request("http://gateway/"), opened, {
      deadlines: createDeadlines(),
      afterMs: 0,
    }),
  };
}

function enter({ admission, config }: Scene, caller: Caller): Admitted {
  const admitted = request();
  admission.enter(admitted, caller, config);
  return admitted;
}

/** Returns true for an error that rejects a request with this kind and code. */
function refuses(kind: string, code: string, text: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.kind, kind);
    assert.equal(error.code, code);
    assert.equal(error.headers["retry-after"], "1");
    assert.match(error.message, text);
    return true;
  };
}

Deno.test("createAdmission() does not count a refused request against its caller", async () => {
  const scene = await begin({ most: 1, mostOfAlice: 1 });
  const first = enter(scene, scene.bob);
  assert.throws(() => enter(scene, scene.alice), GatewayError);
  first.end("complete");
  enter(scene, scene.alice);
});

Deno.test("createAdmission() admits as many requests to a connection as it has slots", async () => {
  const { admission, connection } = await begin({ mostOfConnection: 1 });
  const leave = admission.occupy(connection);
  assert.ok(leave);
  assert.equal(admission.occupy(connection), undefined);
  leave();
  leave();
  assert.ok(admission.occupy(connection));
  assert.equal(admission.occupy(connection), undefined);
});

Deno.test("createAdmission() admits any number of requests to a connection without a limit", async () => {
  const { admission, connection } = await begin();
  const free = { ...connection, maxConcurrent: undefined };
  for (let count = 0; count < 5000; count++) {
    assert.ok(admission.occupy(free));
  }
});

Deno.test("createAdmission() keeps no slot for a request that has already ended", async () => {
  const scene = await begin({ mostOfAlice: 1 });
  const ended = request();
  ended.end("client_abort");
  scene.admission.enter(ended, scene.alice, scene.config);
  assert.equal(scene.admission.active, 0);
  enter(scene, scene.alice);
});

Deno.test("createAdmission() keeps the counts of callers and connections over a reload", async () => {
  const scene = await begin({ mostOfAlice: 1, mostOfConnection: 1 });
  enter(scene, scene.alice);
  scene.admission.occupy(scene.connection);
  const reloaded = { ...scene.alice };
  assert.throws(() => enter(scene, reloaded), GatewayError);
  const same = { ...scene.connection };
  assert.equal(scene.admission.occupy(same), undefined);
});

Deno.test("Admission.drain() refuses new requests and waits for the running ones", async () => {
  const scene = await begin();
  const { admission } = scene;
  const running = [enter(scene, scene.alice), enter(scene, scene.bob)];
  assert.equal(admission.draining, false);
  let drained = false;
  const draining = admission.drain().then(() => drained = true);
  assert.equal(admission.draining, true);
  assert.throws(
    () => enter(scene, scene.alice),
    refuses("overloaded", "gateway_overloaded", /shutting down/),
  );
  for (const { end } of running) {
    await Promise.resolve();
    assert.equal(drained, false);
    end("complete");
  }
  await draining;
  await admission.drain();
});

Deno.test("Admission.drain() resolves at once when nothing runs", async () => {
  const { admission } = await begin();
  await admission.drain();
  assert.equal(admission.draining, true);
});

Deno.test("Admission.cut() aborts every running request, but no finished one", async () => {
  const scene = await begin();
  const running = [enter(scene, scene.alice), enter(scene, scene.bob)];
  const ended = enter(scene, scene.bob);
  ended.end("complete");
  scene.admission.cut();
  for (const { control } of running) {
    const { reason } = control.controller.signal;
    assert.ok(reason instanceof GatewayError);
    assert.equal(reason.kind, "overloaded");
  }
  assert.equal(ended.control.controller.signal.aborted, false);
});

Deno.test("Admission.endTokens() aborts only the requests with the removed tokens, in either header", async () => {
  const scene = await begin();
  const begun = [
    { authorization: "Bearer mg_gone" },
    { "x-api-key": "mg_gone" },
    { authorization: "Bearer mg_stays" },
    {},
  ].map((headers) => {
    const one = request(headers);
    scene.admission.enter(one, scene.bob, scene.config);
    return one;
  });
  scene.admission.endTokens(new Set([sha256Hex("mg_gone"), "unused"]));
  assert.deepEqual(
    begun.map(({ control }) => control.controller.signal.aborted),
    [true, true, false, false],
  );
  const reason = begun[0]?.control.controller.signal.reason;
  assert.ok(reason instanceof GatewayError);
  assert.deepEqual([reason.kind, reason.code, reason.headers], [
    ...["unauthenticated", "token_removed", { "www-authenticate": "Bearer" }],
  ]);
});

Deno.test("Admission.cut() tolerates requests that end while it aborts them", async () => {
  const scene = await begin();
  const { admission } = scene;
  for (let count = 0; count < 10; count++) {
    const { end, control } = enter(scene, scene.bob);
    const { signal } = control.controller;
    signal.addEventListener("abort", () => end("error"));
  }
  const drained = admission.drain();
  admission.cut();
  await drained;
  assert.equal(admission.active, 0);
});

Deno.test("Admission.cut() aborts every request, even if another one ends meanwhile", async () => {
  const scene = await begin();
  const [first, second, third] = [1, 2, 3].map(() => enter(scene, scene.bob));
  assert.ok(first && second && third);
  first.control.controller.signal.addEventListener("abort", () => {
    first.end("error");
    second.end("error");
  });
  scene.admission.cut();
  assert.equal(third.control.controller.signal.aborted, true);
  assert.equal(scene.admission.active, 1);
});

Deno.test("createAdmission() never exceeds its limits, and forgets all finished requests", async () => {
  const scene = await begin({ most: 7, mostOfAlice: 3, mostOfConnection: 4 });
  const { admission, alice, bob, connection } = scene;
  const random = createRandom(3);
  const running = new Set<{
    readonly one: Admitted;
    readonly caller: Caller;
    readonly occupies: boolean;
  }>();
  const count = (
    test: (one: { caller: Caller; occupies: boolean }) => boolean,
  ) => [...running].filter(test).length;
  for (let step = 0; step < 5000; step++) {
    if (random.below(2) === 0 && running.size > 0) {
      const ending = random.pick([...running]);
      ending.one.end("complete");
      running.delete(ending);
    } else {
      const caller = random.pick([alice, bob]);
      const isFull = running.size >= 7;
      const isOver = caller === alice &&
        count((other) => other.caller === alice) >= 3;
      try {
        const one = enter(scene, caller);
        assert.ok(!isFull && !isOver);
        const isTaken = count(({ occupies }) => occupies) >= 4;
        const leave = admission.occupy(connection);
        const occupies = leave !== undefined;
        assert.equal(occupies, !isTaken);
        if (leave !== undefined) one.holds.slot = { leave };
        running.add({ one, caller, occupies });
      } catch (error) {
        const isExpected = isFull
          ? refuses(
            "overloaded",
            "gateway_overloaded",
            /as many requests as it may/,
          )
          : refuses("rate_limited", "token_concurrency_exceeded", /this token/);
        assert.ok((isFull || isOver) && isExpected(error));
      }
    }
    assert.equal(admission.active, running.size);
  }
  for (const { one } of running) one.end("complete");
  assert.equal(admission.active, 0);
  for (let place = 0; place < 4; place++) {
    assert.ok(admission.occupy(connection));
  }
  assert.ok(!admission.occupy(connection));
});
