import assert from "node:assert/strict";
import { GatewayError } from "../../src/base/error.ts";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { received, userRequest } from "../support/dialects/upstream_request.ts";
import { runStage } from "../../src/base/stage.ts";
import type { AnswerEvent } from "../../src/codecs/canonical/stream/event.ts";
import {
  foldAnswer,
  unfoldAnswer,
} from "../../src/codecs/canonical/answer/fold.ts";
import { cutAtStops } from "../../src/codecs/canonical/answer/stop_strings.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { answerContext, counterIds } from "../contract/codec_contract.ts";

// The patterns in schemas. OpenAI compiles them with Python's engine, and its newer models with an
// engine without lookaround. Each request of Claude Code 2.1.265 and later has a pattern that such
// an engine rejects with a 400 (https://github.com/anthropics/claude-code/issues/92969,
// https://github.com/vercel/ai/pull/21037).

/** The pattern of Claude Code's tool `Artifact`. */
const ARTIFACT =
  '^(?!__.*__$)[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}"\\\\./[\\]]{1,200}$';

const LOOKAHEAD = "^(?=.*@).+$";

function schemaOf(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "object", properties, ...more };
}

/** Returns the schema of the only tool that a provider gets. */
function parametersIn(body: JsonObject): unknown {
  assert.ok(Array.isArray(body.tools));
  const [tool] = body.tools;
  assert.ok(isJsonObject(tool));
  return isJsonObject(tool.function)
    ? tool.function.parameters
    : tool.parameters ?? tool.input_schema;
}

function artifact(input_schema: JsonObject): JsonObject {
  return userRequest("messages", {
    tools: [{ name: "Artifact", input_schema }],
  });
}

/** Removes `max_tokens`, which ChatGPT's back end does not accept. */
function named(dropped: readonly string[]): string[] {
  return dropped.filter((name) => name !== "max_tokens");
}

/** Providers that compile patterns, and OpenAI's models at other services. */
const COMPILING = [
  "chat openai gpt-5.2",
  "chat openai of-an-unknown-name",
  "chat custom gpt-5.6-luna",
  "chat openrouter openai/gpt-6-astra",
  "responses openai gpt-5.2",
  "responses codex gpt-6-astra",
  "responses openrouter openai/gpt-5.5",
];

const OTHERS = [
  "chat custom some-model",
  "chat deepseek deepseek-chat",
  "chat gateway some-model",
  "responses custom some-model",
];

Deno.test("a pattern that OpenAI cannot compile moves into the property's description, and is named", () => {
  for (const target of COMPILING) {
    for (const pattern of [ARTIFACT, LOOKAHEAD]) {
      const { body, dropped } = received(
        "messages",
        target,
        artifact(schemaOf({
          field: { type: "string", pattern, description: "The field." },
          other: { type: "string", pattern },
          id: { type: "string", pattern: "^[0-9a-f]{32}$" },
        })),
      );
      assert.deepEqual(
        parametersIn(body),
        schemaOf({
          field: {
            type: "string",
            description:
              `The field.\n\nMust match the regular expression ${pattern}`,
          },
          other: {
            type: "string",
            description: `Must match the regular expression ${pattern}`,
          },
          id: { type: "string", pattern: "^[0-9a-f]{32}$" },
        }),
        target,
      );
      assert.deepEqual(named(dropped), ["pattern"]);
    }
  }
});

Deno.test("providers that accept all patterns get them unchanged", () => {
  for (const target of OTHERS) {
    const parameters = schemaOf({ f: { type: "string", pattern: ARTIFACT } });
    const { body, dropped } = received(
      "messages",
      target,
      artifact(parameters),
    );
    assert.deepEqual(parametersIn(body), parameters, target);
    assert.deepEqual(dropped, []);
  }
});

Deno.test("a pattern is found at every place of a schema, but not in names and examples", () => {
  const bad = { type: "string", pattern: LOOKAHEAD };
  const good = {
    type: "string",
    description: `Must match the regular expression ${LOOKAHEAD}`,
  };
  const of = (one: JsonObject): JsonObject =>
    schemaOf({
      list: { type: "array", items: one, contains: one },
      tuple: { type: "array", prefixItems: [one, one], items: false },
      choice: { anyOf: [one, { oneOf: [one] }, { allOf: [one] }] },
      map: {
        type: "object",
        propertyNames: one,
        additionalProperties: one,
        patternProperties: { "^a$": one },
      },
      condition: { if: one, then: one, else: one, not: one },
      reference: { $ref: "#/$defs/one" },
      pattern: { type: "string" },
      named: schemaOf({ pattern: one }),
      enumerated: {
        enum: [{ pattern: LOOKAHEAD }],
        const: { pattern: "\\p{L}" },
      },
    }, {
      $defs: { one },
      examples: [{ pattern: LOOKAHEAD }],
      default: { pattern: LOOKAHEAD },
      "x-extension": { pattern: LOOKAHEAD },
    });
  for (const target of COMPILING) {
    const { body } = received("messages", target, artifact(of(bad)));
    assert.deepEqual(parametersIn(body), of(good));
  }
});

Deno.test("patterns of property names that OpenAI cannot compile move into the description, and the object is opened", () => {
  const { body, dropped } = received(
    "messages",
    "chat openai gpt-5.2",
    artifact({
      type: "object",
      properties: { a: {} },
      patternProperties: { "^\\p{L}+$": { type: "string" }, "^x-": {} },
      additionalProperties: false,
    }),
  );
  assert.deepEqual(parametersIn(body), {
    type: "object",
    properties: { a: {} },
    patternProperties: { "^x-": {} },
    description:
      'Properties whose names match a regular expression: ^\\p{L}+$: {"type":"string"}',
  });
  assert.deepEqual(named(dropped), ["pattern"]);
});

Deno.test("a tool stays strict when a pattern moves into a description", () => {
  const strict = {
    type: "object",
    properties: { a: { type: "string", pattern: LOOKAHEAD } },
    required: ["a"],
    additionalProperties: false,
  };
  for (const target of COMPILING) {
    const { body, dropped } = received("messages", target, {
      tools: [{ name: "f", input_schema: strict, strict: true }],
    });
    assert.match(JSON.stringify(body.tools), /"strict":true/);
    assert.deepEqual(named(dropped), ["pattern"]);
  }
});

Deno.test("the schema of an answer gets no pattern that OpenAI cannot compile", () => {
  const schema = {
    type: "object",
    properties: { mail: { type: "string", pattern: LOOKAHEAD } },
    required: ["mail"],
    additionalProperties: false,
  };
  for (const target of COMPILING) {
    const { body, dropped } = received("messages", target, {
      output_config: { format: { type: "json_schema", schema } },
    });
    const sent = JSON.stringify([body.response_format, body.text]);
    assert.ok(!sent.includes('"pattern"'), sent);
    assert.match(sent, /Must match the regular expression/);
    assert.deepEqual(named(dropped), ["pattern"]);
  }
});

Deno.test("a strict connection rejects a pattern that OpenAI cannot compile", () => {
  assert.throws(
    () =>
      received(
        "messages",
        "chat openai gpt-5.2",
        artifact(schemaOf({ f: { type: "string", pattern: ARTIFACT } })),
        true,
      ),
    (error) => error instanceof GatewayError && error.param === "pattern",
  );
});

// Both of OpenAI's protocols have log probabilities. They are requested in one and returned in the other.
// https://developers.openai.com/api/reference/resources/responses

function ask(fields: JsonObject, model = "gpt-5.2", service = "openai") {
  return received("chat", `responses ${service} ${model}`, fields);
}

Deno.test("an OpenAI model that does not reason gets the request for log probabilities", () => {
  const { body, dropped } = ask({ logprobs: true, top_logprobs: 2 });
  assert.deepEqual(body.include, [
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
  ]);
  assert.equal(body.top_logprobs, 2);
  assert.deepEqual(dropped, []);
  const plain = ask({ logprobs: true }, "gpt-4.1").body;
  assert.deepEqual(plain.include, ["message.output_text.logprobs"]);
  assert.equal(plain.top_logprobs, undefined);
});

Deno.test("no provider gets a request for log probabilities that the caller did not make", () => {
  for (const fields of [{}, { logprobs: false }, { top_logprobs: 0 }]) {
    const { body, dropped } = ask(fields, "gpt-4.1");
    assert.equal(body.include, undefined);
    assert.equal(body.top_logprobs, undefined);
    assert.deepEqual(dropped, []);
  }
});

Deno.test("a request for log probabilities is rejected when the model or its provider has none", () => {
  const asked = { logprobs: true };
  assert.throws(() => ask(asked, "gpt-5.5"), /Cannot pass `logprobs`/);
  assert.throws(() => ask(asked, "gpt-9"), /Cannot pass `logprobs`/);
  assert.throws(
    () => ask({ ...asked, reasoning_effort: "low" }),
    /Cannot pass `logprobs`/,
  );
  assert.throws(() => ask(asked, "m", "custom"), /Cannot pass `logprobs`/);
  assert.throws(
    () => ask(asked, "gpt-5.4", "codex"),
    /Cannot pass `logprobs`/,
  );
});

const FIRST = {
  token: "One",
  logprob: -0.1,
  bytes: [79, 110, 101],
  top_logprobs: [{ token: "One", logprob: -0.1, bytes: [79, 110, 101] }],
};
const SECOND = { token: " two", logprob: -2, bytes: null, top_logprobs: [] };

const MESSAGE = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{
    type: "output_text",
    text: "One two",
    annotations: [],
    logprobs: [FIRST, SECOND],
  }],
};

const RESPONSE = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "gpt-5.2",
  status: "completed",
  output: [MESSAGE],
  usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
};

const STREAM: JsonObject[] = [
  { type: "response.created", response: { id: "resp_1", model: "gpt-5.2" } },
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { type: "message", id: "msg_1", role: "assistant", content: [] },
  },
  ...[FIRST, SECOND].map((one) => ({
    type: "response.output_text.delta",
    output_index: 0,
    content_index: 0,
    delta: one.token,
    logprobs: [one],
  })),
  { type: "response.output_item.done", output_index: 0, item: MESSAGE },
  { type: "response.completed", response: RESPONSE },
];

function streamEvents(): AnswerEvent[] {
  const decoder = CODECS.responses.createStreamDecoder(counterIds());
  return runStage(
    decoder,
    STREAM.map((event) => ({
      event: String(event.type),
      data: JSON.stringify(event),
    })),
  );
}

function context(fields: JsonObject = { logprobs: true }) {
  return answerContext(
    CODECS.chat.decodeRequest({ model: "m", ...userRequest("chat", fields) }),
  );
}

Deno.test("a JSON answer has its log probabilities in the choice", () => {
  for (
    const answer of [
      CODECS.responses.decodeAnswer(RESPONSE, counterIds()),
      foldAnswer(streamEvents()),
    ]
  ) {
    const chat = CODECS.chat.encodeAnswer(answer, context());
    const [choice] = JSON.parse(JSON.stringify(chat)).choices;
    assert.deepEqual(choice.logprobs, {
      content: [FIRST, SECOND],
      refusal: null,
    });
  }
});

Deno.test("a stream has the log probabilities in the chunks of their tokens", () => {
  const answer = CODECS.responses.decodeAnswer(RESPONSE, counterIds());
  const unfolded: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    unfolded.push(event);
  });
  for (const events of [streamEvents(), unfolded]) {
    const frames = runStage(CODECS.chat.createStreamEncoder(context()), events);
    const choices = frames.filter(({ data }) => data !== "[DONE]")
      .map(({ data }) => JSON.parse(data).choices[0]);
    const content = choices.flatMap(({ logprobs }) => logprobs?.content ?? []);
    assert.deepEqual(content, [FIRST, SECOND]);
    for (const { delta, logprobs } of choices) {
      const said = delta.content ?? "";
      const tokens = (logprobs?.content ?? []).map(
        ({ token }: { token: string }) => token,
      );
      assert.equal(tokens.join(""), said);
    }
  }
});

Deno.test("an answer cut at a stop string has only the log probabilities of its text", () => {
  const cut = foldAnswer(runStage(cutAtStops(["two"]), streamEvents()));
  const [block] = cut.blocks;
  assert.equal(block?.kind === "text" && block.text, "One ");
  assert.deepEqual(block?.kind === "text" && block.logprobs, [FIRST]);
});

Deno.test("a Chat caller gets no log probabilities without a request", () => {
  const answer = CODECS.responses.decodeAnswer(RESPONSE, counterIds());
  const chat = CODECS.chat.encodeAnswer(answer, context({}));
  const [choice] = JSON.parse(JSON.stringify(chat)).choices;
  assert.equal(choice.logprobs, null);
  const frames = runStage(
    CODECS.chat.createStreamEncoder(context({})),
    streamEvents(),
  );
  assert.doesNotMatch(JSON.stringify(frames), /"logprob\\"/);
});

Deno.test("an answer without log probabilities has null in their place", () => {
  const bare = {
    ...RESPONSE,
    output: [{
      ...MESSAGE,
      content: [{
        type: "output_text",
        text: "One",
        annotations: [],
        logprobs: [],
      }],
    }],
  };
  const answer = CODECS.responses.decodeAnswer(bare, counterIds());
  const chat = CODECS.chat.encodeAnswer(answer, context());
  const [choice] = JSON.parse(JSON.stringify(chat)).choices;
  assert.equal(choice.logprobs, null);
});
