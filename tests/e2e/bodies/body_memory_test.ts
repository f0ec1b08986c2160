import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { createGateway } from "../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import {
  createTranslationPool,
  type TranslationPool,
} from "../../../src/gateway/relay/translated/translation_pool.ts";
import { noAnswer } from "../../support/wire/answers.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import {
  configOf,
  loadFile,
  minimalFile,
} from "../../support/gateway/config.ts";
import { readError } from "../../support/wire/error_answer.ts";
import {
  connectionTo,
  type Mode,
} from "../../support/gateway/failover_scene.ts";
import {
  createFakeThreads,
  type FakeThread,
} from "../../support/fakes/fake_translation_threads.ts";
import { createLogLines } from "../../support/gateway/log_lines.ts";
import { settle } from "../../support/settle.ts";
import { sseBytes } from "../../support/wire/sse_bytes.ts";
import { steps } from "../../support/steps.ts";

type Gateway = ReturnType<typeof createGateway>;

/**
 * Opens a gateway with so little memory for bodies that a test can fill it. The test controls its
 * provider.
 */
async function openGateway(
  {
    protocol,
    mode,
    maxBytes = 1_000_000,
    fetch,
    providers = ["one"],
    translationPool,
  }: {
    readonly protocol: Protocol;
    readonly mode: Mode;
    readonly maxBytes?: number;
    readonly fetch: Fetch;
    readonly providers?: readonly string[];
    readonly translationPool?: TranslationPool;
  },
): Promise<Gateway> {
  const connections = providers.map((name) =>
    connectionTo(name, { protocol, mode })
  );
  const config = configOf(await loadFile(minimalFile({ connections })));
  return createGateway({
    liveConfig: createLiveConfig({
      ...config,
      server: { ...config.server, maxBodyMemoryBytes: maxBytes },
    }),
    fetch,
    log: createLogLines().log,
    translationPool,
  });
}

function request(protocol: Protocol, body: BodyInit): Request {
  const init = ask(protocol, body);
  const sent = new Request(`http://gateway${PATHS[protocol]}`, init);
  if (typeof body === "string") {
    sent.headers.set("content-length", String(body.length));
  }
  return sent;
}

function bodyOf(protocol: Protocol, length = 0): string {
  return hello(protocol, { model: "model-1", stream: true }).padEnd(length);
}

/** A provider that never answers, and records the length of each body. */
function silentProvider() {
  const bodies: Promise<number>[] = [];
  const fetch: Fetch = (_url, init) => {
    bodies.push(new Response(init.body).bytes().then(({ length }) => length));
    return noAnswer(init);
  };
  return { fetch, bodies };
}

Deno.test("a body that does not fit into memory is 503 with Retry-After in each protocol, before it is read", (t) =>
  steps(t, PROTOCOLS, async (protocol) => {
    const { fetch } = silentProvider();
    const gateway = await openGateway({
      protocol,
      mode: "native",
      maxBytes: 1000,
      fetch,
    });
    const leaver = new AbortController();
    const running = gateway.handler(
      new Request(request(protocol, bodyOf(protocol, 900)), {
        signal: leaver.signal,
      }),
    );
    await settle();
    assert.equal(gateway.state().bodyMemoryBytes, 900);
    const refused = request(protocol, bodyOf(protocol, 200));
    const error = await readError(await gateway.handler(refused), protocol);
    assert.equal(error.status, 503);
    assert.equal(error.type, "overloaded_error");
    assert.equal(error.headers.get("retry-after"), "1");
    assert.equal(refused.bodyUsed, false);
    assert.equal(gateway.state().bodyMemoryBytes, 900);
    leaver.abort();
    await (await running).body?.cancel();
    assert.equal(gateway.state().bodyMemoryBytes, 0);
  }));

/** Streams of both protocols: a beginning and an end. */
const STREAMS = {
  chat: {
    output: sseBytes({
      id: "c",
      choices: [{ index: 0, delta: { role: "assistant", content: "Hi" } }],
    }),
    type: "text/event-stream",
  },
  messages: {
    output: sseBytes(
      { type: "message_start", message: { id: "m", model: "x", usage: {} } },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "text", text: "" },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: "Hi" },
      },
    ),
    type: "text/event-stream",
  },
} as const;

/** The modes of a Chat caller, each with the provider's protocol. */
const CASES = [
  { mode: "native", upstream: "chat" },
  { mode: "translated", upstream: "messages" },
] as const;

for (const { mode, upstream } of CASES) {
  Deno.test(`a ${mode} body is released after the first output, while the stream continues`, async () => {
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<Response>();
    let sentBytes = 0;
    const gateway = await openGateway({
      protocol: "chat",
      mode,
      async fetch(_url, init) {
        sentBytes = (await new Response(init.body).bytes()).length;
        asked.resolve();
        return await answered.promise;
      },
    });
    const body = bodyOf("chat", 10_000);
    const responding = gateway.handler(request("chat", body));
    await asked.promise;
    // Another connection may still serve, so the caller's own body stays.
    const translated = mode === "translated" ? sentBytes : 0;
    assert.equal(gateway.state().bodyMemoryBytes, body.length + translated);
    const { output, type } = STREAMS[upstream];
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        controller.enqueue(output);
      },
    });
    answered.resolve(
      new Response(stream, { headers: { "content-type": type } }),
    );
    const response = await responding;
    assert.equal(response.status, 200);
    assert.equal(gateway.admission.active, 1);
    assert.equal(gateway.state().bodyMemoryBytes, 0);
    await response.body?.cancel();
    assert.equal(gateway.admission.active, 0);
  });

  Deno.test(`a ${mode} body is kept while another connection may need it, and is sent again completely`, async () => {
    const sent: number[] = [];
    const held: number[] = [];
    const gateway = await openGateway({
      protocol: "chat",
      mode,
      providers: ["one", "two", "three"],
      async fetch(_url, init) {
        sent.push((await new Response(init.body).bytes()).length);
        held.push(gateway.state().bodyMemoryBytes);
        return Response.json({ error: { message: "down" } }, { status: 500 });
      },
    });
    const body = bodyOf("chat", 10_000);
    const response = await gateway.handler(request("chat", body));
    await response.body?.cancel();
    assert.equal(response.status, 500);
    const [first = 0] = sent;
    assert.deepEqual(sent, [first, first, first]);
    // The gateway learns from the refusals, and translates the third request again.
    const each = mode === "native" ? 10_000 : 10_000 + first;
    assert.deepEqual(held, [each, each, each]);
    assert.equal(gateway.state().bodyMemoryBytes, 0);
  });
}

Deno.test("any ending of a request frees its memory", async (t) => {
  const answers = {
    "an answer": () => Response.json({}),
    "an error": () => Response.json({}, { status: 400 }),
    "no answer": () => {
      throw new TypeError("connection refused");
    },
  };
  for (const mode of ["native", "translated"] as const) {
    for (const [name, answer] of Object.entries(answers)) {
      await t.step(`${mode}, ${name}`, async () => {
        const gateway = await openGateway({
          protocol: "chat",
          mode,
          fetch: async () => await answer(),
        });
        const response = await gateway.handler(
          request("chat", bodyOf("chat", 5000)),
        );
        await response.text();
        assert.equal(gateway.state().bodyMemoryBytes, 0);
      });
    }
  }
  await t.step("a body that is not JSON", async () => {
    const { fetch } = silentProvider();
    const gateway = await openGateway({
      protocol: "chat",
      mode: "native",
      fetch,
    });
    const response = await gateway.handler(request("chat", "[".padEnd(900)));
    assert.equal(response.status, 400);
    await response.body?.cancel();
    assert.equal(gateway.state().bodyMemoryBytes, 0);
  });
});

/** The length of a body that a thread translates. */
const LONG_BODY_BYTES = 256 * 1024 + 1000;

async function openThreaded(protocol: Protocol) {
  const fake = createFakeThreads();
  const translationPool = createTranslationPool({
    startThread: fake.start,
    maxThreads: 1,
    deadlines: createDeadlines(),
  });
  const { fetch, bodies } = silentProvider();
  const gateway = await openGateway({
    protocol,
    mode: "translated",
    maxBytes: 10_000_000,
    fetch,
    translationPool,
  });
  return { ...fake, bodies, gateway, translationPool };
}

/** Waits until a thread has begun a translation, for a limited time. */
async function ordered(threads: readonly FakeThread[], index: number) {
  for (let turn = 0; turn < 1000; turn++) {
    if ((threads[index]?.orders.length ?? 0) > 0) return;
    await settle();
  }
  throw new Error(`Waited in vain for an order to thread ${index}`);
}

Deno.test("a caller that leaves while a thread translates a long body ends the thread, and the next body gets a new thread", async () => {
  const { threads, bodies, gateway, translationPool } = await openThreaded(
    "chat",
  );
  const leaver = new AbortController();
  const body = bodyOf("chat", LONG_BODY_BYTES);
  const leaving = gateway.handler(
    new Request(request("chat", body), { signal: leaver.signal }),
  );
  const next = gateway.handler(request("chat", body));
  await ordered(threads, 0);
  assert.ok(gateway.state().bodyMemoryBytes > 7 * 256 * 1024);
  leaver.abort();
  assert.equal((await leaving).status, 499);
  assert.equal(threads[0]?.isEnded, true);
  await ordered(threads, 1);
  threads[1]?.report({ kind: "died" });
  assert.equal((await next).status, 500);
  assert.equal(bodies.length, 0);
  assert.equal(gateway.admission.active, 0);
  assert.equal(gateway.state().bodyMemoryBytes, 0);
  translationPool.close();
});

Deno.test("a request whose translating thread dies is 500 in each protocol", (t) =>
  steps(t, PROTOCOLS, async (protocol) => {
    const { threads, gateway, translationPool } = await openThreaded(protocol);
    const responding = gateway.handler(
      request(protocol, bodyOf(protocol, LONG_BODY_BYTES)),
    );
    await ordered(threads, 0);
    threads[0]?.report({ kind: "died" });
    const error = await readError(await responding, protocol);
    assert.equal(error.status, 500);
    assert.equal(gateway.state().bodyMemoryBytes, 0);
    translationPool.close();
  }));

Deno.test("the body of a request that is rejected after it was read is freed at once", (t) =>
  steps(t, PROTOCOLS, async (protocol) => {
    const gateway = await openGateway({
      protocol,
      mode: "native",
      fetch: silentProvider().fetch,
    });
    const unknown = hello(protocol, { model: "unknown" }).padEnd(100_000);
    const chunk = new TextEncoder().encode(unknown);
    const rejected = request(protocol, ReadableStream.from([chunk]));
    rejected.headers.set("content-length", String(unknown.length));
    const { status } = await readError(
      await gateway.handler(rejected),
      protocol,
    );
    assert.equal(status, 404);
    assert.ok(chunk.buffer.detached);
    assert.equal(gateway.state().bodyMemoryBytes, 0);
  }));
