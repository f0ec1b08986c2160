import assert from "node:assert/strict";
import type { JsonObject } from "../../src/core/json.ts";
import { conversationOf } from "../../src/relay/conversation.ts";
import { minimalConfig, tokenFile } from "../support/config.ts";

const config = await minimalConfig({
  tokens: [tokenFile(), tokenFile({ name: "bob", sha256: "b".repeat(64) })],
});
const [alice, bob] = config.callers.values();

function nameOf(
  body: JsonObject | string,
  headers: Readonly<Record<string, string>> = {},
  caller = alice,
): string | undefined {
  assert.ok(caller);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const request = new Request("http://gateway/", { headers });
  return conversationOf(
    { caller, request },
    new TextEncoder().encode(text),
  );
}

const HI = { role: "user", content: "Hi" };
const HELLO = { role: "assistant", content: "Hello" };
const SYSTEM = { role: "system", content: "Be brief" };

Deno.test("conversationOf() is the same for every turn of a conversation", async (t) => {
  const cases: Readonly<Record<string, readonly [JsonObject, JsonObject]>> = {
    "Chat": [
      { messages: [SYSTEM, HI] },
      { model: "m", messages: [SYSTEM, HI, HELLO, HI] },
    ],
    "Messages": [{ messages: [HI] }, { messages: [HI, HELLO, HI] }],
    "Responses": [{ input: [HI] }, { input: [HI, HELLO], stream: true }],
    "Responses of one text": [{ input: "Hi" }, { input: "Hi" }],
  };
  for (const [name, [first, later]] of Object.entries(cases)) {
    await t.step(name, () => {
      assert.ok(nameOf(first));
      assert.equal(nameOf(first), nameOf(later));
    });
  }
});

Deno.test("conversationOf() tells conversations apart", () => {
  const other = { role: "user", content: "Hi there" };
  assert.notEqual(
    nameOf({ messages: [SYSTEM, HI] }),
    nameOf({ messages: [SYSTEM, other] }),
  );
  assert.notEqual(nameOf({ input: "Hi" }), nameOf({ input: "Hi there" }));
});

Deno.test("conversationOf() tells callers apart, whatever ids they send", () => {
  const headers = { "session-id": "1" };
  assert.notEqual(
    nameOf({ messages: [HI] }),
    nameOf({ messages: [HI] }, {}, bob),
  );
  assert.notEqual(nameOf({}, headers), nameOf({}, headers, bob));
});

Deno.test("conversationOf() goes by the name that an agent gives, before the messages", () => {
  for (
    const header of [
      "x-claude-code-session-id",
      "session-id",
      "session_id",
      "x-session-affinity",
    ]
  ) {
    assert.equal(
      nameOf({ messages: [HI] }, { [header]: "s-1" }),
      nameOf({ messages: [HELLO] }, { [header]: "s-1" }),
    );
    assert.notEqual(
      nameOf({ messages: [HI] }, { [header]: "s-1" }),
      nameOf({ messages: [HI] }, { [header]: "s-2" }),
    );
  }
});

Deno.test("conversationOf() reads no more of a long beginning than it needs", () => {
  const long = "x".repeat(100_000);
  assert.equal(
    nameOf({ messages: [{ role: "user", content: `${long}a` }] }),
    nameOf({ messages: [{ role: "user", content: `${long}b` }] }),
  );
});

Deno.test("conversationOf() bears bodies without a conversation", () => {
  assert.equal(nameOf({ prompt: "Hi" }), undefined);
  assert.equal(nameOf(`{"messages":[],"messages":[]}`), undefined);
  for (const messages of [[], [1], [[HI]], {}, null, "Hi", [SYSTEM]]) {
    assert.ok(nameOf({ messages }));
  }
});
