import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
} from "../../../../src/base/json.ts";
import type { Protocol } from "../../../../src/base/protocol.ts";
import { createLessonBook } from "../../../../src/gateway/relay/translated/lesson_book.ts";
import type { Notice } from "../../../../src/gateway/shared/notice.ts";
import { createFakeClock } from "../../../support/fakes/fake_clock.ts";
import { createMemoryLog } from "../../../support/fakes/memory_log.ts";
import { minimalConfig } from "../../../support/gateway/config.ts";
import { openLessonScene } from "../../../support/gateway/lesson_scene.ts";

// A lesson never lets one caller change another's requests.

const NAMES = [
  ...["strict", "temperature", "top_p", "reasoning_effort", "metadata"],
  ...["parallel_tool_calls", "prompt_cache_key", "user", "reasoning.effort"],
];

/** A name that reads like a provider's refusal of every field. */
const HOSTILE = `x ${
  NAMES.map((name) => `Unsupported parameter: ${name}`).join(" ")
}`;

/** Returns the fields of a request with a tool and its schema. */
type AskWith = (tool: JsonObject, schema: JsonObject) => JsonObject;

const USER = { role: "user", content: "Hello" };

const ASKS: Readonly<Record<Protocol, AskWith>> = {
  chat: (tool, parameters) => ({
    messages: [USER],
    ...{ temperature: 0.5, top_p: 0.5, reasoning_effort: "high", user: "u" },
    ...{ parallel_tool_calls: false, metadata: { a: "b" } },
    tools: [{ type: "function", function: { ...tool, parameters } }],
  }),
  messages: (tool, input_schema) => ({
    ...{ messages: [USER], max_tokens: 100, temperature: 0.5, top_p: 0.5 },
    ...{ metadata: { user_id: "u" }, output_config: { effort: "high" } },
    tools: [{ ...tool, input_schema }],
  }),
  responses: (tool, parameters) => ({
    ...{ input: "Hello", temperature: 0.5, top_p: 0.5, metadata: { a: "b" } },
    ...{ reasoning: { effort: "high" }, parallel_tool_calls: false },
    tools: [{ type: "function", ...tool, parameters }],
  }),
};

const ROUTES: readonly (readonly [Protocol, Protocol])[] = [
  ["messages", "chat"],
  ["responses", "chat"],
  ["chat", "responses"],
  ["messages", "responses"],
  ["chat", "messages"],
  ["responses", "messages"],
];

function schemaOf(...names: readonly string[]): JsonObject {
  return {
    type: "object",
    properties: Object.fromEntries(
      names.map((name) => [name, { type: "string" }]),
    ),
    required: names.slice(0, 1),
    additionalProperties: false,
  };
}

/** Returns the names of the properties of all tools. */
function propertiesIn(body: JsonObject): readonly string[] {
  return objectsOf(body.tools).flatMap((tool) => {
    const holder = isJsonObject(tool.function) ? tool.function : tool;
    const schema = holder.parameters ?? holder.input_schema;
    return isJsonObject(schema) && isJsonObject(schema.properties)
      ? Object.keys(schema.properties)
      : [];
  });
}

/** The ways in which providers quote a name of the request. */
const QUOTES: readonly ((name: string) => JsonValue)[] = [
  (name) =>
    `Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing '${name}'.`,
  (name) => `tools.0: ${name}`,
  (name) => `Invalid tool: ${JSON.stringify(JSON.stringify(name))}`,
  (name) => `${name.slice(0, 150)}…`,
  (name) => name.toUpperCase(),
  (name) => ({
    error: { message: `Missing '${name}'`, param: "tools[0].parameters" },
  }),
];

for (const [from, to] of ROUTES) {
  Deno.test(`a tool's name that reads like a refusal changes no request: ${from} to ${to}`, async () => {
    for (const quote of QUOTES) {
      const scene = await openLessonScene(
        (body) => {
          const name = propertiesIn(body).find((one) => /^x/i.test(one));
          // Any changed request without the temperature is accepted.
          const isAccepted = body.temperature === undefined;
          return name === undefined || isAccepted ? undefined : quote(name);
        },
        { to, service: "gateway", connection: { paths: [from] } },
      );
      const plain = ASKS[from]({ name: "f" }, schemaOf("a"));
      const before = await scene.ask(from, plain, "bob");
      const hostile = ASKS[from](
        { name: "f", strict: true },
        schemaOf("a", HOSTILE),
      );
      for (const caller of ["alice", "carol"] as const) {
        const { status, text } = await scene.ask(from, hostile, caller);
        assert.equal(status, 400, text);
      }
      const after = await scene.ask(from, plain, "bob");
      assert.deepEqual(after.sent, before.sent);
      assert.equal(after.line.lesson, undefined);
      assert.deepEqual(scene.learned(), []);
    }
  });
}

Deno.test("a metadata key that reads like a refusal changes no request", async () => {
  const scene = await openLessonScene(
    ({ metadata, temperature }) => {
      const [key = ""] = isJsonObject(metadata) ? Object.keys(metadata) : [];
      return key.startsWith("x") && temperature !== undefined
        ? `Invalid 'metadata.${key}': string too long.`
        : undefined;
    },
    { to: "responses", service: "gateway", connection: { paths: ["chat"] } },
  );
  const plain = ASKS.chat({ name: "f" }, schemaOf("a"));
  const before = await scene.ask("chat", plain, "bob");
  const hostile = { ...plain, metadata: { [HOSTILE]: "b" } };
  assert.equal((await scene.ask("chat", hostile)).status, 400);
  assert.equal((await scene.ask("chat", hostile, "carol")).status, 400);
  assert.deepEqual((await scene.ask("chat", plain, "bob")).sent, before.sent);
});

/** Refuses every request with a temperature. */
function cold({ temperature }: JsonObject) {
  return temperature === undefined
    ? undefined
    : "Unsupported parameter: 'temperature' is not supported with this model.";
}

const WARM = { messages: [USER], max_tokens: 100, temperature: 0.5 };

Deno.test("a refusal changes only its caller's requests until a second caller is refused too", async () => {
  const scene = await openLessonScene(cold);
  const attempts = async (caller: "alice" | "bob" | "carol") =>
    (await scene.ask("messages", WARM, caller)).sent.length;
  assert.equal(await attempts("alice"), 2);
  assert.equal(await attempts("alice"), 1);
  assert.deepEqual(
    scene.learned().map(({ token, config }) => [token, config]),
    [
      ["alice", undefined],
    ],
  );
  assert.equal(await attempts("bob"), 2);
  assert.equal(await attempts("carol"), 1);
  assert.deepEqual(
    scene.learned().slice(1).map(({ token, config }) => [token, config]),
    [[undefined, "omit: [temperature]"]],
  );
  scene.clock.advance(86_400_000);
  assert.equal(await attempts("carol"), 2, "a day later it is asked");
});

Deno.test("refusals of two callers at two replicas confirm each other, and the notices hide the callers' names", async () => {
  const notices: Notice[] = [];
  const listeners: ((notice: Notice) => void)[] = [];
  const open = (at: number) =>
    openLessonScene(cold, {
      notices: {
        publish(notice) {
          notices.push(notice);
          listeners.filter((_, index) => index !== at)
            .forEach((listener) => listener(structuredClone(notice)));
        },
        onNotice: (listener) => void listeners.push(listener),
      },
    });
  const [one, two] = [await open(0), await open(1)];
  assert.equal((await one.ask("messages", WARM, "alice")).sent.length, 2);
  assert.equal((await two.ask("messages", WARM, "alice")).sent.length, 1);
  assert.equal((await two.ask("messages", WARM, "bob")).sent.length, 2);
  assert.equal((await one.ask("messages", WARM, "carol")).sent.length, 1);
  assert.equal((await two.ask("messages", WARM, "carol")).sent.length, 1);
  const lessons = notices.filter(({ kind }) => kind === "lesson");
  assert.equal(lessons.length, 2);
  assert.doesNotMatch(JSON.stringify(lessons), /alice|bob/);
  assert.equal(two.learned().at(-1)?.config, "omit: [temperature]");
});

/** Returns `strict` of each tool that a provider received. */
function strictIn(body: JsonObject | undefined): readonly unknown[] {
  return objectsOf(body?.tools).map((tool) =>
    isJsonObject(tool.function) ? tool.function.strict : tool.strict
  );
}

for (const [from, to] of ROUTES) {
  Deno.test(`refused strict tools change no ordinary tool: ${from} to ${to}`, async () => {
    const scene = await openLessonScene(
      (body) =>
        strictIn(body).includes(true)
          ? {
            error: {
              message: "Unsupported parameter: 'strict' is not supported.",
            },
          }
          : undefined,
      { to, service: "gateway", connection: { paths: [from] } },
    );
    const ask = (isStrict: boolean, caller: "alice" | "bob" | "carol") =>
      scene.ask(
        from,
        ASKS[from]({ name: "f", strict: isStrict }, schemaOf("a")),
        caller,
      );
    const before = await ask(false, "carol");
    for (const caller of ["alice", "bob"] as const) {
      const refused = await ask(true, caller);
      assert.equal(refused.status, 200, refused.text);
      assert.equal(refused.sent.length, 2);
    }
    const after = await ask(false, "carol");
    assert.deepEqual(after.sent, before.sent);
    assert.equal(after.line.lesson, undefined);
    assert.equal((await ask(true, "carol")).sent.length, 1);
  });
}

Deno.test("ordinary schemas keep a keyword that is refused in strict schemas", async () => {
  const scene = await openLessonScene(
    (body) =>
      strictIn(body).includes(true) && /"minLength":/.test(JSON.stringify(body))
        ? "Invalid schema for function 'f': 'minLength' is not permitted."
        : undefined,
    { service: "gateway" },
  );
  const schema = {
    ...schemaOf("a"),
    properties: { a: { type: "string", minLength: 3 } },
  };
  const ask = (isStrict: boolean, caller: "alice" | "bob" | "carol") =>
    scene.ask(
      "responses",
      ASKS.responses({ name: "f", strict: isStrict }, schema),
      caller,
    );
  const before = await ask(false, "carol");
  for (const caller of ["alice", "bob"] as const) {
    assert.equal((await ask(true, caller)).sent.length, 2);
  }
  assert.deepEqual((await ask(false, "carol")).sent, before.sent);
});

Deno.test("a third caller gets only the lessons that two callers share", async () => {
  const scene = await openLessonScene(({ reasoning_effort: effort, user }) => {
    const list = user === "poison" ? "'none'" : "'low' or 'high'";
    const isKnown = typeof effort !== "string" || list.includes(effort);
    return isKnown
      ? undefined
      : `reasoning_effort: Input should be ${list}, received '${effort}'`;
  }, { service: "gateway" });
  const ask = async (user: string, caller: "alice" | "bob" | "carol") => {
    const { sent } = await scene.ask("messages", {
      ...{ messages: [USER], max_tokens: 100, metadata: { user_id: user } },
      output_config: { effort: "max" },
    }, caller);
    return sent.map(({ reasoning_effort }) => reasoning_effort);
  };
  assert.equal((await ask("poison", "alice")).length, 2);
  assert.deepEqual(await ask("bob", "bob"), ["max", "high"]);
  assert.deepEqual(await ask("carol", "carol"), ["high"]);
});

Deno.test("a caller with many lessons displaces no lesson of another caller", async () => {
  const { connections: [connection], callers } = await minimalConfig();
  const [caller] = callers.values();
  const [model] = connection?.models ?? [];
  assert.ok(connection && model && caller);
  const deployment = { connection, model };
  const book = createLessonBook({
    clock: createFakeClock(0),
    log: createMemoryLog(),
  });
  const omit = (field: string) => ({ move: "omit" as const, field, words: [] });
  const [alice, bob] = ["alice", "bob"].map((name) => ({ ...caller, name }));
  assert.ok(alice && bob);
  book.keep(deployment, bob, [omit("temperature")]);
  for (let count = 0; count < 100; count++) {
    book.keep(deployment, alice, [omit(`field-${count}`)]);
  }
  assert.equal(book.known(deployment, alice).length, 64);
  assert.deepEqual(book.known(deployment, bob), [omit("temperature")]);
  for (let count = 0; count < 100; count++) {
    const name = `caller-${count}`;
    book.keep(deployment, { ...caller, name }, [omit("top_p")]);
  }
  assert.deepEqual(book.known(deployment, bob).map(({ field }) => field), [
    "temperature",
    "top_p",
  ]);
});
