import assert from "node:assert/strict";
import { isJsonObject } from "../../../../src/base/json.ts";
import type { Protocol } from "../../../../src/base/protocol.ts";
import { readLogLine } from "../../../../src/gateway/observe/logged_request.ts";
import {
  type CallerResponse,
  connectionTo,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import { good, status } from "../../../support/upstream/bad_provider.ts";

const TRANSLATED = { protocol: "chat", mode: "translated" } as const;
const NATIVE = { protocol: "chat", mode: "native" } as const;

/** A request for several choices, which no Messages connection can give. */
const CHOICES = { n: 2 };

function codeOf({ text }: CallerResponse): unknown {
  const { error } = JSON.parse(text);
  return error.code;
}

function failuresOf({ line }: CallerResponse): readonly unknown[] {
  const attempts = Array.isArray(line.attempts) ? line.attempts : [];
  return attempts.filter(isJsonObject).map(({ failure }) => failure);
}

Deno.test("a request that one connection cannot carry goes to another, natively or with dropped fields", async () => {
  const others = {
    native: connectionTo("two", NATIVE),
    lossy: connectionTo("two", { protocol: "chat", mode: "translated" }),
  };
  const strict = connectionTo("one", TRANSLATED, { strict: true });
  const cases = [
    [connectionTo("one", TRANSLATED), others.native, CHOICES],
    [strict, others.lossy, { seed: 1 }],
  ] as const;
  for (const [first, second, fields] of cases) {
    const scene = await openScene([first, second], {
      one: [good],
      two: [good],
    });
    const received = await scene.ask("chat", fields);
    assert.equal(received.status, 200, received.text);
    assert.deepEqual(scene.providers.hosts(), ["two"]);
    assert.deepEqual(failuresOf(received), ["untranslatable", undefined]);
  }
});

Deno.test("a Messages request with a provider's file goes to the connection that speaks Messages", async () => {
  const scene = await openScene([
    connectionTo("one", { protocol: "messages", mode: "translated" }),
    connectionTo("two", { protocol: "messages", mode: "native" }),
  ], { one: [good], two: [good] });
  const source = { type: "file", file_id: "file_1" };
  const content = [{ type: "document", source }];
  const received = await scene.ask("messages", {
    messages: [{ role: "user", content }],
  });
  assert.equal(received.status, 200, received.text);
  assert.deepEqual(scene.providers.hosts(), ["two"]);
});

Deno.test("a fallback serves a request that no connection of its model can carry", async () => {
  const scene = await openScene([
    connectionTo("one", TRANSLATED, {
      models: [{ id: "model-1", fallbacks: ["model-2"] }],
    }),
    connectionTo("two", NATIVE, { models: ["model-2"] }),
  ], { one: [good], two: [good] });
  const received = await scene.ask("chat", CHOICES);
  assert.equal(received.status, 200, received.text);
  assert.equal(received.headers.get("x-gateway-model"), "model-2");
});

Deno.test("a refusal by the translation does not count as one of the three attempts", async () => {
  const scene = await openScene([
    connectionTo("one", TRANSLATED),
    connectionTo("two", NATIVE),
    connectionTo("three", TRANSLATED, { strict: true }),
    connectionTo("four", NATIVE),
    connectionTo("five", NATIVE),
  ], {
    one: [good],
    two: [status(500)],
    three: [good],
    four: [status(500)],
    five: [good],
  });
  const received = await scene.ask("chat", CHOICES);
  assert.equal(received.status, 200, received.text);
  assert.deepEqual(scene.providers.hosts(), ["two", "four", "five"]);
});

Deno.test("the error asks for no changed request while the connection that can carry the request is unavailable", async (t) => {
  const pool = [connectionTo("one", TRANSLATED), connectionTo("two", NATIVE)];
  const fallback = [
    connectionTo("one", TRANSLATED, {
      models: [{ id: "model-1", fallbacks: ["model-2"] }],
    }),
    connectionTo("two", NATIVE, { models: ["model-2"] }),
  ];
  for (const [name, connections] of Object.entries({ pool, fallback })) {
    await t.step(`the connection cools down: ${name}`, async () => {
      const scene = await openScene(connections, {
        one: [good],
        two: [status(503)],
      });
      // The last of these requests begins the cool-down.
      for (let count = 0; count < 4; count++) {
        const failed = await scene.ask("chat", CHOICES);
        assert.equal(failed.status, 503);
        assert.notEqual(failed.line.failure, "untranslatable");
      }
      const { length } = scene.providers.asked;
      const cooling = await scene.ask("chat", CHOICES);
      assert.equal(cooling.status, 503, cooling.text);
      assert.equal(codeOf(cooling), "connection_cooling_down");
      assert.equal(cooling.headers.get("retry-after"), "2");
      assert.equal(cooling.line.connection, undefined);
      assert.equal(readLogLine(JSON.stringify(cooling.line)), "other");
      assert.equal(scene.providers.asked.length, length);
      assert.equal((await scene.ask("chat")).status, 200);
    });
  }
  await t.step("the connection's quota is used up", async () => {
    const scene = await openScene(pool, {
      one: [good],
      two: [status(429, { headers: { "retry-after": "600" } })],
    });
    for (let count = 0; count < 2; count++) {
      const limited = await scene.ask("chat", CHOICES);
      assert.equal(limited.status, 429, limited.text);
      assert.equal(limited.headers.get("retry-after"), "300");
    }
  });
});

Deno.test("a request that no connection can carry is the caller's error, even while a connection cools down", async () => {
  const scene = await openScene([
    connectionTo("one", TRANSLATED, { strict: true }),
    connectionTo("two", TRANSLATED),
  ], { one: [status(503)], two: [good] });
  for (let count = 0; count < 3; count++) await scene.ask("chat");
  const { length } = scene.providers.asked;
  const refused = await scene.ask("chat", CHOICES);
  assert.equal(refused.status, 400, refused.text);
  assert.equal(refused.line.failure, "untranslatable");
  assert.equal(refused.line.connection, "two");
  assert.equal(readLogLine(JSON.stringify(refused.line)), "other");
  assert.equal(scene.providers.asked.length, length);
  await scene.ask("chat");
  assert.deepEqual(scene.providers.hosts().slice(length), ["two"]);
});

Deno.test("connections that differ only in their key share one translation of a request", async () => {
  const scene = await openScene([
    connectionTo("one", TRANSLATED),
    connectionTo("two", TRANSLATED, {
      endpoints: { messages: "http://one/v1" },
    }),
    connectionTo("three", TRANSLATED, { strict: true }),
  ], { one: [good], three: [good] });
  const refused = await scene.ask("chat", CHOICES);
  assert.equal(refused.status, 400, refused.text);
  assert.deepEqual(failuresOf(refused), ["untranslatable", "untranslatable"]);
  assert.equal(refused.line.connection, "one");
  assert.equal(readLogLine(JSON.stringify(refused.line)), "other");
});

/** Returns tools in a protocol. */
function toolsOf(protocol: Protocol, count: number) {
  const schema = { type: "object", properties: {} };
  return Array.from({ length: count }, (_, index) => {
    const name = `tool_${index}`;
    if (protocol === "messages") return { name, input_schema: schema };
    const own = { name, parameters: schema };
    return protocol === "chat"
      ? { type: "function", function: own }
      : { type: "function", ...own };
  });
}

for (const protocol of ["chat", "messages", "responses"] as const) {
  Deno.test(`a ${protocol} request with too many tools for a provider goes to another provider, or is refused in its protocol`, async () => {
    const groq = {
      name: "one",
      service: "groq",
      auth: { key: "key" },
      models: ["model-1"],
    };
    const other = connectionTo("two", { protocol, mode: "translated" });
    const scripts = { "api.groq.com": [good], two: [good] };
    const both = await openScene([groq, other], scripts);
    const few = await both.ask(protocol, { tools: toolsOf(protocol, 128) });
    assert.equal(few.status, 200, few.text);
    const many = await both.ask(protocol, { tools: toolsOf(protocol, 129) });
    assert.equal(many.status, 200, many.text);
    assert.deepEqual(both.providers.hosts(), ["api.groq.com", "two"]);

    const alone = await openScene([groq], scripts);
    const refused = await alone.ask(protocol, {
      tools: toolsOf(protocol, 604),
    });
    assert.equal(refused.status, 400);
    assert.deepEqual(alone.providers.hosts(), []);
    const { error } = JSON.parse(refused.text);
    assert.match(
      error.message,
      /^Cannot send 604 tools to this model: its provider \(groq\) takes at most 128\./,
    );
    assert.equal(error.type, "invalid_request_error");
    if (protocol !== "messages") assert.equal(error.param, "tools");
  });
}
