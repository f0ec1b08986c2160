import assert from "node:assert/strict";
import { startTranslationThread } from "../../../../src/gateway/process/threads/thread.ts";
import { createDeadlines } from "../../../../src/base/time/deadlines.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import {
  isJsonObject,
  type JsonValue,
  parseJson,
} from "../../../../src/base/json.ts";
import { randomIds } from "../../../../src/base/ids.ts";
import type { Operation, Protocol } from "../../../../src/base/protocol.ts";
import { runStage } from "../../../../src/base/stage.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import { UpstreamFailure } from "../../../../src/codecs/canonical/failure/failure.ts";
import { unfoldAnswer } from "../../../../src/codecs/canonical/answer/fold.ts";
import { keptRequest } from "../../../../src/codecs/kept_request.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { createBodyMemory } from "../../../../src/gateway/relay/request/body_memory.ts";
import {
  createTranslation,
  type Translation,
} from "../../../../src/gateway/relay/translated/translation.ts";
import {
  type AnswerJob,
  translateWhole,
} from "../../../../src/codecs/jobs/answer_job.ts";
import type { Answer } from "../../../../src/codecs/canonical/answer/answer.ts";
import { call } from "../../../support/wire/turns.ts";
import type { RequestJob } from "../../../../src/codecs/jobs/request_job.ts";
import {
  createTranslationPool,
  type TranslationPool,
} from "../../../../src/gateway/relay/translated/translation_pool.ts";
import { LongBytes } from "../../../../src/base/streams/bytes.ts";
import { ANSWERS } from "../../../contract/answers.ts";
import { answerContext } from "../../../contract/codec_contract.ts";
import { hello } from "../../../support/wire/ask.ts";
import { createFakeThreads } from "../../../support/fakes/fake_translation_threads.ts";
import { FEATURES } from "../../../support/dialects/features.ts";
import { requestOf } from "../../../support/wire/requests.ts";
import { settle } from "../../../support/settle.ts";
import {
  connectionFile,
  minimalConfig,
} from "../../../support/gateway/config.ts";
import { targetOf as deploymentTarget } from "../../../../src/gateway/relay/routing/candidate.ts";
import { targetOf } from "../../../support/dialects/targets.ts";

/** The longest body that is translated without a thread, in bytes. */
const LONG_BYTES = 256 * 1024;

type RequestOptions = Parameters<Translation["request"]>[2];

const OPERATIONS: readonly (readonly [Operation, Protocol])[] = [
  ["chat_completions", "messages"],
  ["chat_completions", "responses"],
  ["messages", "chat"],
  ["responses", "chat"],
];

const PROTOCOL_OF = {
  chat_completions: "chat",
  completions: "chat",
  messages: "messages",
  count_tokens: "messages",
  responses: "responses",
  compact: "responses",
} as const;

/** Returns a body that is long enough for a thread, with the same JSON. */
function longBody(value: string | JsonValue): Uint8Array<ArrayBuffer> {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return new TextEncoder().encode(text + " ".repeat(LONG_BYTES));
}

function jobOf(
  body: Uint8Array<ArrayBuffer>,
  parts: Partial<RequestJob> = {},
): RequestJob {
  return {
    body,
    operation: "chat_completions",
    model: "m",
    stream: false,
    to: "messages",
    target: targetOf("custom", "upstream-model"),
    strict: false,
    streamOnly: false,
    force: { store: false },
    omit: ["top_p"],
    lessons: [],
    recallable: new Set(),
    refused: new Set(),
    ...parts,
  };
}

const SHAPE = { values: 10, depth: 3 };

function wanted(parts: Partial<RequestOptions> = {}): RequestOptions {
  return {
    memory: createBodyMemory().open(Infinity, "alice"),
    signal: new AbortController().signal,
    recall: () => new Map(),
    ...parts,
  };
}

/** Runs real threads while `use` runs. */
async function withThreads(
  use: (elsewhere: Translation, pool: TranslationPool) => Promise<void>,
): Promise<void> {
  const pool = createTranslationPool({
    startThread: startTranslationThread,
    maxThreads: 1,
    deadlines: createDeadlines(),
  });
  try {
    await use(createTranslation(pool, randomIds), pool);
  } finally {
    pool.close();
  }
}

const here = createTranslation(undefined, randomIds);

/** Returns the result of a job, or its error, in a comparable form. */
async function outcome(work: Promise<object>): Promise<unknown> {
  try {
    return plainOf(await work);
  } catch (error) {
    if (error instanceof UpstreamFailure) return error.failure;
    assert.ok(error instanceof GatewayError, `${error}`);
    const { kind, message, param, type, code, details, headers } = error;
    return { kind, message, param, type, code, details, headers };
  }
}

function plainOf(result: object): unknown {
  const entries = Object.entries(result).map(([key, value]) => {
    if (typeof value === "function") return [key, undefined];
    if (value instanceof Uint8Array) return [key, textOf(value)];
    return [key, value];
  });
  return Object.fromEntries(entries);
}

/** Returns the text, with `ID` in place of each random id. */
function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replaceAll(/[0-9a-f]{32}/g, "ID");
}

Deno.test("a thread translates a request exactly like the main thread, refusals included", async (t) => {
  await withThreads(async (elsewhere) => {
    for (const [operation, to] of OPERATIONS) {
      const from = PROTOCOL_OF[operation];
      await t.step(`${operation} to ${to}`, async () => {
        for (const { name, asked } of FEATURES) {
          if (asked[from] === undefined) continue;
          for (const strict of [false, true]) {
            const body = longBody(hello(from, asked[from]));
            const job = jobOf(body, { operation, to, strict });
            assert.deepEqual(
              await outcome(elsewhere.request(job, SHAPE, wanted())),
              await outcome(here.request(job, SHAPE, wanted())),
              name,
            );
          }
        }
      });
    }
  });
});

Deno.test("a thread gets the ability that the file sets for the model", async () => {
  const { connections } = await minimalConfig({
    connections: [connectionFile({
      ability: { settings: { seed: false }, names: false },
      models: [{
        id: "m",
        ability: { settings: { seed: true, top_p: false } },
      }],
    })],
  });
  const [connection] = connections;
  const [model] = connection?.models ?? [];
  assert.ok(connection && model);
  const target = deploymentTarget({ connection, model });
  const body = longBody(hello("chat", {
    ...{ seed: 5, top_p: 0.5, temperature: 0.5 },
    messages: [{ role: "user", name: "n", content: "Hello" }],
  }));
  const job = jobOf(body, { to: "chat", target, omit: [] });
  await withThreads(async (elsewhere) => {
    const received = await elsewhere.request(job, SHAPE, wanted());
    const { seed, top_p, temperature } = JSON.parse(textOf(received.body));
    assert.deepEqual([seed, top_p, temperature], [5, undefined, 0.5]);
    assert.deepEqual([...received.dropped], ["top_p", "messages[].name"]);
    assert.deepEqual(
      await outcome(elsewhere.request(job, SHAPE, wanted())),
      await outcome(here.request(job, SHAPE, wanted())),
    );
  });
});

Deno.test("a thread translates an answer exactly like the main thread, failures included", async (t) => {
  await withThreads(async (elsewhere) => {
    for (const [operation, to] of OPERATIONS) {
      await t.step(`${to} to ${operation}`, async () => {
        const bodies = [
          ...ANSWERS.map(({ answer }) =>
            CODECS[to].encodeAnswer(answer, answerContext(requestOf()))
          ),
          { error: { message: "The upstream is unwell", type: "api_error" } },
          [],
        ];
        for (const body of bodies) {
          for (const stream of [false, true]) {
            const job = () => answerJob(longBody(body), operation, to, stream);
            const { memory, signal } = wanted();
            const run = (translation: Translation) =>
              outcome(
                translation.answer(job(), LONG_BYTES + 1, { memory, signal }),
              );
            assert.deepEqual(await run(elsewhere), await run(here));
          }
        }
        const folded = ANSWERS.map(({ answer }) => answer);
        for (const answer of folded) {
          const job = answerJob(answer, operation, to, true);
          assert.deepEqual(
            await outcome(elsewhere.answer(job, LONG_BYTES + 1, wanted())),
            await outcome(here.answer(job, LONG_BYTES + 1, wanted())),
          );
        }
      });
    }
  });
});

Deno.test("a JSON answer with a field that is nested too deeply is a broken answer", async () => {
  const encoder = new TextEncoder();
  for (const depth of [990, 1001]) {
    const deep = `${"[".repeat(depth)}"]"${"]".repeat(depth)}`;
    for (const [operation, to] of OPERATIONS) {
      const [{ answer } = { answer: undefined }] = ANSWERS;
      assert.ok(answer);
      const whole = CODECS[to].encodeAnswer(answer, answerContext(requestOf()));
      const text = JSON.stringify(whole).replace("{", `{"x":${deep},`);
      const job = answerJob(encoder.encode(text), operation, to, false);
      const result = await outcome(here.answer(job, text.length, wanted()));
      const isBroken = /nested too deeply/.test(JSON.stringify(result));
      assert.equal(isBroken, depth > 1000, `${to} ${depth}`);
    }
  }
});

function answerJob(
  answer: AnswerJob["answer"],
  operation: Operation,
  to: Protocol,
  stream: boolean,
): AnswerJob {
  return {
    answer,
    operation,
    to,
    request: requestOf({ stream }),
    aliases: new Map(),
    cuts: [],
    isTagged: false,
    nowMs: 1_700_000_000_000,
    model: "public-model",
    estimatedInputTokens: 7,
    requestId: "req_1",
    connectionId: "connection-1",
  };
}

Deno.test("translateWhole() restores the caller's tools, and accepts calls of any size", () => {
  const json = `{"a":[${"0,".repeat(70_000)}0]}`;
  const answer: Answer = {
    id: "1",
    model: "m",
    blocks: [call("1", "p", '{"input":"*** Begin"}'), call("2", "f", json)],
    stop: { reason: "tool_calls" },
  };
  const job = answerJob(answer, "responses", "chat", false);
  const aliases = new Map([["p", { kind: "custom", name: "p" } as const]]);
  const { bytes } = translateWhole({ ...job, aliases }, randomIds);
  const { output } = JSON.parse(textOf(bytes));
  assert.deepEqual(
    [output[0].type, output[0].input, output[1].arguments],
    ["custom_tool_call", "*** Begin", json],
  );
});

Deno.test("a thread translates a body in one or several pieces, and the body stays readable", async () => {
  const body = longBody(hello("chat"));
  await withThreads(async (elsewhere) => {
    const parts = [body.subarray(0, 1000), body.subarray(1000)];
    for (const one of [body, new LongBytes(parts), body]) {
      const job = { ...jobOf(body), body: one };
      const received = await elsewhere.request(job, SHAPE, wanted());
      assert.match(textOf(received.body), /"model":"upstream-model"/);
    }
  });
  assert.ok(body.length > LONG_BYTES);
});

Deno.test("a thread gets only the sealed reasoning that its request needs", async () => {
  const call = { id: "call_1", function: { name: "f", arguments: "{}" } };
  const body = longBody({
    model: "m",
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", tool_calls: [{ type: "function", ...call }] },
      { role: "tool", tool_call_id: "call_1", content: "ok" },
    ],
  });
  const thoughts = {
    pieces: [{
      kind: "reasoning",
      parts: [{ form: "raw", text: "I must call" }],
      sealed: {
        protocol: "messages",
        form: "signature",
        value: "seal-1",
        origin: "connection-1",
      },
    }, { kind: "call", id: "call_1" }],
  } as const;
  const asked: (readonly string[])[] = [];
  const options = wanted({
    recall(callIds) {
      asked.push(callIds);
      return new Map([["call_1", thoughts]]);
    },
  });
  const job = jobOf(body, { recallable: new Set(["call_0", "call_1"]) });
  await withThreads(async (elsewhere) => {
    const received = await elsewhere.request(job, SHAPE, options);
    assert.match(textOf(received.body), /"signature":"seal-1"/);
    assert.deepEqual(
      await outcome(elsewhere.request(job, SHAPE, options)),
      await outcome(here.request(job, SHAPE, options)),
    );
  });
  assert.deepEqual(asked, [["call_1"], ["call_1"], ["call_1"]]);
});

Deno.test("a thread returns the same reasoning and binding as the main thread", async () => {
  const body = longBody({
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
  });
  const target = { ...jobOf(body).target, model: "claude-fable-5-1" };
  const job = jobOf(body, { target, refused: new Set(["a"]) });
  await withThreads(async (elsewhere) => {
    const received = await elsewhere.request(job, SHAPE, wanted());
    const { bound } = await here.request(job, SHAPE, wanted());
    assert.match(bound?.prefix ?? "", /^[\w-]{22}$/);
    assert.deepEqual(received.bound, bound);
    assert.deepEqual(received.reasoning, []);
  });
});

Deno.test("a translation thread has no permissions", async () => {
  const reports: unknown[] = [];
  const module = `data:text/javascript,${
    encodeURIComponent(`
      globalThis.addEventListener("message", async ({ ports: [port] }) => {
        const names = ["net", "read", "write", "env", "run", "sys", "ffi"];
        const states = await Promise.all(names.map(async (name) =>
          (await Deno.permissions.query({ name })).state));
        port.postMessage(states.filter((state) => state === "granted"));
      }, { once: true });
    `)
  }`;
  const reported = Promise.withResolvers<void>();
  const thread = startTranslationThread((report) => {
    reports.push(report);
    reported.resolve();
  }, new URL(module));
  await reported.promise;
  thread.end();
  assert.deepEqual(reports, [[]]);
});

Deno.test("a thread that dies is reported and does not end the program", async () => {
  const reported = Promise.withResolvers<unknown>();
  const thread = startTranslationThread(
    reported.resolve,
    new URL(
      `data:text/javascript,${
        encodeURIComponent(`
          globalThis.addEventListener("message", ({ ports: [port] }) => {
            port.close();
            throw new Error("canary");
          });
        `)
      }`,
    ),
  );
  assert.deepEqual(await reported.promise, { kind: "died" });
  thread.end();
});

/** Returns a translation whose threads the test controls. */
function withFakeThreads() {
  const fake = createFakeThreads();
  const pool = createTranslationPool({
    startThread: fake.start,
    maxThreads: 1,
    deadlines: createDeadlines(),
  });
  const memory = createBodyMemory();
  return {
    ...fake,
    pool,
    memory,
    share: memory.open(100_000_000, "alice"),
    translation: createTranslation(pool, randomIds),
  };
}

Deno.test("a short body is translated on the main thread, a longer one in another thread", async () => {
  const { threads, pool, translation } = withFakeThreads();
  const text = hello("chat");
  const bodyOf = (length: number) =>
    new TextEncoder().encode(text.padEnd(length));
  await translation.request(jobOf(bodyOf(LONG_BYTES)), SHAPE, wanted());
  assert.equal(threads.length, 0);
  const leaver = new AbortController();
  const long = translation.request(
    jobOf(bodyOf(LONG_BYTES + 1)),
    SHAPE,
    wanted({ signal: leaver.signal }),
  );
  await settle();
  assert.equal(threads.length, 1);
  leaver.abort("left");
  await assert.rejects(long, (reason) => reason === "left");
  pool.close();
});

Deno.test("a translation takes 5 times its body's bytes and 1,100 bytes per value, then its result's size", async () => {
  const { threads, pool, memory, share, translation } = withFakeThreads();
  const body = longBody(hello("chat"));
  const shape = { values: 1000, depth: 3 };
  const working = translation.request(
    jobOf(body),
    shape,
    wanted({ memory: share }),
  );
  await settle();
  assert.equal(memory.usedBytes, 5 * body.length + 1100 * 1000);
  threads[0]?.report({
    kind: "request_done",
    result: {
      body: new Uint8Array(5000),
      stream: false,
      request: requestOf(),
      aliases: new Map(),
      cuts: [],
      isTagged: false,
      estimatedInputTokens: 7,
      dropped: new Set(),
      lessons: [],
      learned: [],
      probe: [],
      reasoning: [],
    },
  });
  const { release } = await working;
  assert.equal(memory.usedBytes, 5000);
  release();
  release();
  assert.equal(memory.usedBytes, 0);
  pool.close();
});

Deno.test("the release of a translated body frees its memory at once if it is long", async () => {
  for (const [length, isFreed] of [[64 * 1024, false], [70_000, true]]) {
    const { threads, pool, share, translation } = withFakeThreads();
    const working = translation.request(
      jobOf(longBody(hello("chat"))),
      SHAPE,
      wanted({ memory: share }),
    );
    await settle();
    const body = new Uint8Array(Number(length));
    threads[0]?.report({
      kind: "request_done",
      result: {
        body,
        stream: false,
        request: requestOf(),
        aliases: new Map(),
        cuts: [],
        isTagged: false,
        estimatedInputTokens: 7,
        dropped: new Set(),
        lessons: [],
        learned: [],
        probe: [],
        reasoning: [],
      },
    });
    (await working).release();
    assert.equal(body.buffer.detached, isFreed);
    pool.close();
  }
});

Deno.test("a short translated body counts against the memory until it is released", async () => {
  const { pool, memory, share, translation } = withFakeThreads();
  const body = new TextEncoder().encode(hello("chat"));
  const options = wanted({ memory: share });
  const received = await translation.request(jobOf(body), SHAPE, options);
  assert.equal(memory.usedBytes, received.body.length);
  received.release();
  received.release();
  assert.equal(memory.usedBytes, 0);
  pool.close();
});

Deno.test("a failed translation frees its memory and its thread", async (t) => {
  const { threads, pool, memory, share, translation } = withFakeThreads();
  const begin = (signal: AbortSignal, length = LONG_BYTES + 1) =>
    translation.answer(
      answerJob(new Uint8Array(), "chat_completions", "messages", false),
      length,
      { memory: share, signal },
    );
  await t.step("the translation throws", async () => {
    const failing = begin(new AbortController().signal);
    await settle();
    assert.equal(memory.usedBytes, 8 * (LONG_BYTES + 1));
    threads.at(-1)?.report({
      kind: "failed",
      error: { type: "unforeseen", name: "TypeError" },
    });
    await assert.rejects(failing, isBroken);
  });
  await t.step("its thread dies", async () => {
    const failing = begin(new AbortController().signal);
    await settle();
    threads.at(-1)?.report({ kind: "died" });
    await assert.rejects(failing, isBroken);
  });
  await t.step("its caller disconnects", async () => {
    const leaver = new AbortController();
    const failing = begin(leaver.signal);
    await settle();
    leaver.abort("left");
    await assert.rejects(failing, (reason) => reason === "left");
  });
  await t.step("the memory is full", async () => {
    await assert.rejects(
      begin(new AbortController().signal, 100_000_000),
      (error) =>
        error instanceof GatewayError && error.kind === "overloaded" &&
        error.headers["retry-after"] === "1",
    );
  });
  assert.equal(memory.usedBytes, 0);
  (await pool.enter(new AbortController().signal)).leave();
  pool.close();
});

function isBroken(error: unknown): boolean {
  return error instanceof GatewayError && error.status === 500 &&
    error.code === "translation_failed";
}

Deno.test("a body with too many or too deep values is a 400 before its translation", async () => {
  const { threads, pool, translation } = withFakeThreads();
  const job = jobOf(new TextEncoder().encode(hello("chat")));
  const refusals = [
    [{ values: 250_001, depth: 3 }, /more than 250,000 objects/],
    [{ values: 10, depth: 1001 }, /more than 1,000 levels/],
  ] as const;
  for (const [shape, words] of refusals) {
    await assert.rejects(translation.request(job, shape, wanted()), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.status, 400);
      assert.match(error.message, words);
      return true;
    });
  }
  const most = { values: 250_000, depth: 1000 };
  assert.ok(await translation.request(job, most, wanted()));
  assert.equal(threads.length, 0);
  pool.close();
});

Deno.test("an answer is the same if the gateway keeps only a part of its request", async (t) => {
  for (const [operation] of OPERATIONS) {
    const codec = CODECS[PROTOCOL_OF[operation]];
    await t.step(codec.protocol, () => {
      for (const { name, asked } of FEATURES) {
        const fields = asked[codec.protocol];
        if (fields === undefined) continue;
        const body = parseJson(hello(codec.protocol, fields));
        assert.ok(isJsonObject(body));
        const request = accepted(() => codec.decodeRequest(body));
        if (request === undefined) continue;
        const kept = keptRequest(request, codec);
        for (const { answer } of ANSWERS) {
          const whole = answerContext(request);
          const less = answerContext(kept);
          const events: AnswerEvent[] = [];
          unfoldAnswer(answer, (event) => {
            events.push(event);
          });
          assert.deepEqual(
            codec.encodeAnswer(answer, less),
            codec.encodeAnswer(answer, whole),
            name,
          );
          assert.deepEqual(
            runStage(codec.createStreamEncoder(less), events),
            runStage(codec.createStreamEncoder(whole), events),
            name,
          );
        }
      }
    });
  }
});

/** Returns `undefined` for a request that is invalid by itself. */
function accepted<Value>(decode: () => Value): Value | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

Deno.test("an answer's tool calls never reuse ids of the history, even if the history is not kept", () => {
  const call = ANSWERS.find(({ name }) => name === "one call")?.answer;
  assert.ok(call);
  const history = call.blocks.filter(({ kind }) => kind === "function_call");
  const request = requestOf({
    turns: [
      { role: "user", blocks: [{ kind: "text", text: "x".repeat(1000) }] },
      { role: "assistant", blocks: history },
    ],
  });
  const kept = keptRequest(request, CODECS.messages);
  assert.ok(JSON.stringify(kept).length < 500);
  const encode = (context: ReturnType<typeof answerContext>) =>
    CODECS.messages.encodeAnswer(call, context);
  const received = encode(answerContext(kept));
  assert.deepEqual(received, encode(answerContext(request)));
  assert.notDeepEqual(received, encode(answerContext(requestOf())));
});

Deno.test("a request with too many tools or settings is a 400", () => {
  const tool = (values: number) => ({
    kind: "function" as const,
    name: "f",
    parameters: { enum: Array.from({ length: values }, (_, index) => index) },
  });
  keptRequest(requestOf({ tools: [tool(99_000)] }), CODECS.chat);
  const tooMuch = [
    requestOf({ tools: [tool(100_001)] }),
    requestOf({ user: "x".repeat(8 * 1024 * 1024 + 1) }),
  ];
  for (const request of tooMuch) {
    assert.throws(() => keptRequest(request, CODECS.chat), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.status, 400);
      return /more than 100,000 values/.test(error.message);
    });
  }
});
