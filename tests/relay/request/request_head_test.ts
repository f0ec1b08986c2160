import assert from "node:assert/strict";
import { GatewayError } from "../../../src/core/error.ts";
import {
  createRequestHeadReader,
  type RequestHead,
} from "../../../src/relay/request/request_head.ts";
import { createInputEstimate } from "../../../src/relay/request/input_estimate.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Reads a body in one chunk. */
function read(body: Uint8Array): RequestHead {
  const reader = createRequestHeadReader({
    operation: "chat_completions",
  });
  reader.push(body);
  return reader.end();
}

Deno.test("A RequestHeadReader finds the model and its position", () => {
  const body = bytes(' {"x":{"model":"no"}, "model" : "glm-5é" ,"y":1} ');
  const { model, modelSpan, stream } = read(body);
  assert.equal(model, "glm-5é");
  assert.equal(stream, false);
  assert.ok(modelSpan);
  const { start, end } = modelSpan;
  assert.equal(new TextDecoder().decode(body.subarray(start, end)), '"glm-5é"');
});

Deno.test("A RequestHeadReader reads a model however it is escaped", () => {
  const { model } = read(bytes('{"mod\\u0065l":"a\\/b\\u0063\\n"}'));
  assert.equal(model, "a/bc\n");
});

Deno.test("A RequestHeadReader reads whether to stream", () => {
  const cases = [
    ['{"model":"m"}', false],
    ['{"model":"m","stream":true}', true],
    ['{"stream":false,"model":"m"}', false],
    ['{"model":"m","stream":null}', false],
  ] as const;
  for (const [text, stream] of cases) {
    assert.equal((read(bytes(text))).stream, stream, text);
  }
});

Deno.test("A RequestHeadReader reports whether a body for Chat Completions has an input", () => {
  const cases = [
    ['{"model":"m"}', false],
    ['{"model":"m","input":null}', false],
    ['{"model":"m","input":"Hi"}', true],
    ['{"model":"m","input":[]}', true],
    [`{"model":"m","input":"${"x".repeat(10_000)}"}`, true],
    ['{"model":"m","x":{"input":"Hi"}}', false],
  ] as const;
  for (const [text, hasInput] of cases) {
    assert.equal(read(bytes(text)).hasInput, hasInput, text);
  }
});

function refusal(text: string): GatewayError {
  try {
    read(bytes(text));
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.kind, "invalid_request");
    return error;
  }
  return assert.fail(`${text} was taken`);
}

Deno.test("A RequestHeadReader rejects a model that is missing or no name", () => {
  assert.match((refusal('{"messages":[]}')).message, /is missing/);
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
    const { message, param } = refusal(`{"model":${value}}`);
    assert.equal(param, "model");
    assert.match(message, /is not a non-empty string/);
    assert.ok(!message.includes("xxx"));
  }
});

Deno.test("A RequestHeadReader takes names of up to 4094 bytes", () => {
  const name = "x".repeat(4094);
  assert.equal((read(bytes(`{"model":"${name}"}`))).model, name);
});

Deno.test("A RequestHeadReader rejects a stream that is no truth value", () => {
  for (const value of ['"true"', "1", "0", "[]", "{}", '""']) {
    const { message, param } = refusal(`{"model":"m","stream":${value}}`);
    assert.equal(param, "stream");
    assert.match(message, /Send true or false/);
  }
});

Deno.test("A RequestHeadReader rejects to choose between two values", () => {
  assert.equal((refusal('{"model":"a","model":"a"}')).param, "model");
  assert.equal(
    (refusal('{"model":"a","\\u006dodel":"b"}')).param,
    "model",
  );
  const { param } = refusal('{"model":"a","stream":true,"stream":false}');
  assert.equal(param, "stream");
});

Deno.test("A RequestHeadReader rejects anything but one JSON object, and quotes none of it", () => {
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
    const { message, param } = refusal(body);
    assert.equal(param, undefined);
    assert.ok(!message.includes("secret"), message);
  }
});

Deno.test("A RequestHeadReader rejects bytes that are no UTF-8", () => {
  const body = Uint8Array.of(...bytes('{"model":"'), 0xff, ...bytes('"}'));
  assert.throws(() => read(body), GatewayError);
});

Deno.test("A head is read from pieces as it is from the whole, and nothing of them is needed afterwards", () => {
  const body = bytes('{"x":"é","mod\\u0065l" : "glm-5é" ,"stream":true}');
  for (let size = 1; size <= body.length; size++) {
    const reader = createRequestHeadReader({
      operation: "chat_completions",
    });
    for (let start = 0; start < body.length; start += size) {
      const piece = body.slice(start, start + size);
      reader.push(piece);
      piece.buffer.transfer();
    }
    assert.deepEqual(reader.end(), read(body), `pieces of ${size} bytes`);
  }
});

Deno.test("A fault is reported after the whole body, and it is the first one", () => {
  const reader = createRequestHeadReader({
    operation: "chat_completions",
  });
  reader.push(bytes('{"model":"a",'));
  reader.push(bytes("]"));
  reader.push(bytes('"model":"b"}'));
  assert.throws(() => reader.end(), /the byte at offset 13 is not allowed/);
});

function estimate(text: string, pieceBytes = Infinity): number {
  const bytes = new TextEncoder().encode(text);
  const input = createInputEstimate();
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    input.push(bytes.subarray(start, start + pieceBytes));
  }
  return input.tokens();
}

const PROSE = "It was a bright cold day in April, and the clocks were. ";

const PICTURE = "iVBORw0KGgo+/AAAASUVORK5".repeat(12_500);

Deno.test("createInputEstimate() counts a token for four bytes of text, however long it is", () => {
  assert.equal(estimate("Hello, world"), 3);
  const text = PROSE.repeat(5000);
  assert.equal(estimate(text), Math.ceil(text.length / 4));
  assert.equal(estimate(text, 64 * 1024), Math.ceil(text.length / 4));
});

Deno.test("createInputEstimate() counts a picture in base64 as one, not as text of that length", () => {
  const tokens = estimate(
    JSON.stringify({ text: PROSE, data: PICTURE }),
    64 * 1024,
  );
  assert.ok(tokens > 1000 && tokens < 4000, String(tokens));
});

Deno.test("createInputEstimate() counts text without spaces, code and other scripts as text", () => {
  for (
    const line of [
      "一个明亮而寒冷的四月天钟敲了十三下",
      '{"a":{"b":[1,2,3]},"path":"/usr/local/bin"},',
      "a_long_identifier(another_one);\\n",
    ]
  ) {
    const text = line.repeat(2000);
    const bytes = new TextEncoder().encode(text).length;
    assert.equal(estimate(text), Math.ceil(bytes / 4), line);
  }
});
