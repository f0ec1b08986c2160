import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import { type Question, readQuestion } from "../../src/relay/question.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Reads a body that is too short for a pause. */
function read(body: Uint8Array): Promise<Question> {
  return readQuestion(body, () => assert.fail("paused"));
}

Deno.test("readQuestion() finds the model and where it stands", async () => {
  const body = bytes(' {"x":{"model":"no"}, "model" : "glm-5é" ,"y":1} ');
  const { model, modelSpan, stream } = await read(body);
  assert.equal(model, "glm-5é");
  assert.equal(stream, false);
  const { start, end } = modelSpan;
  assert.equal(new TextDecoder().decode(body.subarray(start, end)), '"glm-5é"');
});

Deno.test("readQuestion() reads a model however it is escaped", async () => {
  const { model } = await read(bytes('{"mod\\u0065l":"a\\/b\\u0063\\n"}'));
  assert.equal(model, "a/bc\n");
});

Deno.test("readQuestion() reads whether to stream", async () => {
  const cases = [
    ['{"model":"m"}', false],
    ['{"model":"m","stream":true}', true],
    ['{"stream":false,"model":"m"}', false],
    ['{"model":"m","stream":null}', false],
  ] as const;
  for (const [text, stream] of cases) {
    assert.equal((await read(bytes(text))).stream, stream, text);
  }
});

async function refusal(text: string): Promise<GatewayError> {
  try {
    await read(bytes(text));
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.kind, "invalid_request");
    return error;
  }
  return assert.fail(`${text} was taken`);
}

Deno.test("readQuestion() refuses a model that is missing or no name", async () => {
  assert.match((await refusal('{"messages":[]}')).message, /it is missing/);
  const wrong = [
    '""',
    "null",
    "1",
    "true",
    "[]",
    '["m"]',
    '{"id":"m"}',
    `"${"x".repeat(4096)}"`,
  ];
  for (const value of wrong) {
    const { message, param } = await refusal(`{"model":${value}}`);
    assert.equal(param, "model");
    assert.match(message, /it is not a non-empty string/);
    assert.ok(!message.includes("xxx"));
  }
});

Deno.test("readQuestion() takes names of up to 4094 bytes", async () => {
  const name = "x".repeat(4094);
  assert.equal((await read(bytes(`{"model":"${name}"}`))).model, name);
});

Deno.test("readQuestion() refuses a stream that is no truth value", async () => {
  for (const value of ['"true"', "1", "0", "[]", "{}", '""']) {
    const { message, param } = await refusal(`{"model":"m","stream":${value}}`);
    assert.equal(param, "stream");
    assert.match(message, /send true or false/);
  }
});

Deno.test("readQuestion() refuses to choose between two values", async () => {
  assert.equal((await refusal('{"model":"a","model":"a"}')).param, "model");
  assert.equal(
    (await refusal('{"model":"a","\\u006dodel":"b"}')).param,
    "model",
  );
  const { param } = await refusal('{"model":"a","stream":true,"stream":false}');
  assert.equal(param, "stream");
});

Deno.test("readQuestion() refuses what is not exactly one JSON object, and quotes none of it", async () => {
  const secret = "my secret prompt";
  const bodies = [
    "",
    secret,
    `"${secret}"`,
    `["${secret}"]`,
    "null",
    `{"model":"m","x":"${secret}"`,
    `{"model":"m"} "${secret}"`,
    `{"model":"m","x":${secret}}`,
    `{"model":"m",}`,
    `\ufeff{"model":"m"}`,
  ];
  for (const body of bodies) {
    const { message, param } = await refusal(body);
    assert.equal(param, undefined);
    assert.ok(!message.includes("secret"), message);
  }
});

Deno.test("readQuestion() refuses bytes that are no UTF-8", async () => {
  const body = Uint8Array.of(...bytes('{"model":"'), 0xff, ...bytes('"}'));
  await assert.rejects(read(body), GatewayError);
});

Deno.test("readQuestion() lets others have their turn while it reads a long body, and ends when that is told", async () => {
  const body = bytes(`{"x":[${"1,".repeat(2_000_000)}1],"model":"m"}`);
  let pauses = 0;
  const { model } = await readQuestion(body, () => {
    pauses++;
    return Promise.resolve();
  });
  assert.equal(model, "m");
  assert.ok(pauses > 2);
  const left = new Error("left");
  await assert.rejects(
    readQuestion(body, () => Promise.reject(left)),
    (error) => error === left,
  );
});
