import assert from "node:assert/strict";
import { type JsonObject, objectOf, objectsOf } from "../../src/core/json.ts";
import { ask, createFixedDemo } from "./harness.ts";

const HELLO = [{ role: "user", content: "Hello" }];

/** Sends `fields` to the demo itself, at the protocol of the family. */
async function askDemo(
  family: "A" | "B" | "C",
  fields: JsonObject,
  path = PATHS[family],
) {
  const model = `demo-${family.toLowerCase()}`;
  return await ask(family, path, { model, ...fields }, createFixedDemo());
}

const PATHS = {
  A: "/v1/chat/completions",
  B: "/v1/messages",
  C: "/v1/responses",
};

Deno.test("the demo rejects what it cannot answer, and names the field", async (t) => {
  const refused: readonly (readonly ["A" | "B" | "C", JsonObject, RegExp])[] = [
    ["A", {}, /messages/],
    ["A", { messages: [] }, /messages/],
    ["A", { messages: [{ role: "robot", content: "Hi" }] }, /role/],
    ["B", { max_tokens: 9 }, /messages/],
    ["B", { messages: HELLO }, /max_tokens/],
    ["C", {}, /input/],
    [
      "C",
      { input: "Hi", previous_response_id: "resp_1" },
      /previous_response_id/,
    ],
    ["C", { input: "Hi", background: true }, /background/],
  ];
  for (const [family, fields, message] of refused) {
    await t.step(`${family} ${JSON.stringify(fields)}`, async () => {
      const { status, answer } = await askDemo(family, fields);
      assert.equal(status, 400);
      assert.match(String(objectOf(answer.error).message), message);
    });
  }
});

Deno.test("the demo rejects a thread in the way that makes an SDK send it whole", async () => {
  const { status, answer } = await askDemo("B", {
    max_tokens: 500,
    messages: HELLO,
    thread: { type: "create" },
  });
  assert.equal(status, 400);
  assert.deepEqual(objectOf(answer.error).details, {
    error_code: "thread_unsupported_request",
  });
});

Deno.test("the demo counts the tokens that its answer reports", async () => {
  const counted = await askDemo(
    "B",
    { messages: HELLO },
    "/v1/messages/count_tokens",
  );
  const { answer } = await askDemo("B", { messages: HELLO, max_tokens: 9 });
  assert.deepEqual(counted.answer, {
    input_tokens: objectOf(answer.usage).input_tokens,
  });
});

Deno.test("the demo completes a prompt of a legacy completion", async () => {
  const { answer } = await askDemo("A", { prompt: "Hello" }, "/v1/completions");
  assert.match(
    String(objectsOf(answer.choices)[0]?.text),
    /^You said: "Hello"/,
  );
  assert.equal((await askDemo("A", {}, "/v1/completions")).status, 400);
});

Deno.test("the demo compacts a conversation to the user's messages and one sealed item, and goes on with it", async () => {
  const { answer } = await askDemo("C", {
    input: [...HELLO, { role: "assistant", content: "Hi" }],
  }, "/v1/responses/compact");
  const output = objectsOf(answer.output);
  assert.equal(answer.object, "response.compaction");
  assert.deepEqual(output.map(({ type }) => type), ["message", "compaction"]);
  assert.deepEqual(output[0]?.content, [{ type: "input_text", text: "Hello" }]);
  assert.ok(Number(objectOf(answer.usage).total_tokens) > 0);
  const next = await askDemo("C", {
    input: [...output, { role: "user", content: "Go on" }],
  });
  assert.match(JSON.stringify(next.answer.output), /You said: .*Go on/);
});
