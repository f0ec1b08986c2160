import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { chatCodec } from "../../src/protocols/chat/mod.ts";
import { translateRequest } from "../support/translate_request.ts";

type RequestTranslation = Parameters<typeof translateRequest>[1];

const BODY: JsonObject = {
  model: "public",
  messages: [{ role: "user", content: "Hi" }],
};

function translate(body: JsonObject, rest: Partial<RequestTranslation> = {}) {
  return translateRequest({ ...BODY, ...body }, {
    from: chatCodec,
    to: chatCodec,
    target: {
      service: "custom",
      connectionId: "c",
      model: "upstream",
      maxOutputTokens: 100,
    },
    strict: false,
    streamOnly: false,
    force: {},
    omit: [],
    ...rest,
  });
}

Deno.test("translateRequest() writes the upstream's body and keeps the caller's request", () => {
  const { body, request, dropped } = translate({ temperature: 1 });
  assert.deepEqual(body, {
    model: "upstream",
    messages: BODY.messages,
    temperature: 1,
  });
  assert.equal(request.model, "public");
  assert.equal(dropped.size, 0);
});

Deno.test("translateRequest() names dropped fields in the caller's spelling", () => {
  const { dropped } = translate({
    top_k: 3,
    verbosity: "low",
    max_completion_tokens: 5000,
  });
  assert.deepEqual([...dropped], [
    "max_completion_tokens",
    "top_k",
    "verbosity",
  ]);
});

Deno.test("translateRequest() names dropped fields in the spelling of the request, when there are several", () => {
  const { dropped } = translate({ max_tokens: 5000 });
  assert.deepEqual([...dropped], ["max_tokens"]);
  assert.throws(
    () => translate({ max_tokens: 5000 }, { strict: true }),
    (error) => error instanceof GatewayError && error.param === "max_tokens",
  );
});

Deno.test("translateRequest() recognizes omitted fields in all spellings", () => {
  const { dropped } = translate(
    { max_completion_tokens: 5 },
    { omit: ["max_tokens", "max_completion_tokens"] },
  );
  assert.deepEqual([...dropped], ["max_completion_tokens"]);
});

Deno.test("translateRequest() rejects a loss on a strict connection", () => {
  assert.throws(
    () => translate({ top_k: 3 }, { strict: true }),
    (error) => error instanceof GatewayError && error.param === "top_k",
  );
});

Deno.test("translateRequest() sets forced fields and names omitted ones", () => {
  const { body, dropped } = translate(
    { temperature: 1, seed: 2 },
    { force: { store: false, seed: 9 }, omit: ["temperature", "top_p"] },
  );
  assert.deepEqual(body, {
    model: "upstream",
    messages: BODY.messages,
    seed: 9,
    store: false,
  });
  assert.deepEqual([...dropped], ["temperature"]);
});

Deno.test("translateRequest() names a field that only the upstream has in its spelling", () => {
  const { dropped } = translate({ stream: true }, { omit: ["stream_options"] });
  assert.deepEqual([...dropped], ["stream_options"]);
});

Deno.test("translateRequest() requests a stream from an upstream that only streams", () => {
  const { body, request } = translate({}, { streamOnly: true });
  assert.equal(body.stream, true);
  assert.equal(request.stream, false);
});

Deno.test("translateRequest() bridges the tools that the target cannot spell", () => {
  const tools = [{ type: "custom", custom: { name: "patch" } }];
  const { body, aliases } = translate({ tools });
  assert.match(
    JSON.stringify(body.tools),
    /"type":"function","function":\{"name":"patch"/,
  );
  assert.deepEqual(aliases.get("patch"), { kind: "custom", name: "patch" });
});

Deno.test("translateRequest() lets the relay change the request before it is written", () => {
  const { body } = translate({}, {
    prepare: (request) => ({ ...request, turns: [] }),
  });
  assert.deepEqual(body.messages, []);
});

Deno.test("translateRequest() rejects a request that is nested too deeply, and forwards bugs", () => {
  let schema: JsonObject = {};
  for (let depth = 0; depth < 200_000; depth++) schema = { items: schema };
  const response_format = {
    type: "json_schema",
    json_schema: { name: "x", schema },
  };
  assert.throws(
    () => translate({ response_format }),
    (error) =>
      error instanceof GatewayError && /nested too deep/.test(error.message),
  );
  const prepare = () => {
    throw new TypeError("bug");
  };
  assert.throws(() => translate({}, { prepare }), TypeError);
});
