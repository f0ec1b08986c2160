import assert from "node:assert/strict";
import type { JsonObject } from "../../src/core/json.ts";
import { runStage } from "../../src/core/stage.ts";
import type { AnswerEvent } from "../../src/protocols/canonical/stream/event.ts";
import {
  foldAnswer,
  unfoldAnswer,
} from "../../src/protocols/canonical/answer/fold.ts";
import { cutAtStops } from "../../src/protocols/canonical/answer/stop_strings.ts";
import { CODECS } from "../../src/protocols/mod.ts";
import { answerContext, counterIds } from "../contract/codec_contract.ts";
import {
  upstreamRequest,
  userRequest,
} from "../support/dialects/upstream_request.ts";

// Log probabilities, which both of OpenAI's protocols have: requested in one, and returned in the other.
// https://developers.openai.com/api/reference/resources/responses

function ask(fields: JsonObject, model = "gpt-5.2", service = "openai") {
  return upstreamRequest(userRequest("chat", fields), {
    from: "chat",
    to: "responses",
    service,
    model,
  });
}

Deno.test("log probabilities are requested from an OpenAI model that does not reason", () => {
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

Deno.test("log probabilities are not requested without the caller's request", () => {
  for (const fields of [{}, { logprobs: false }, { top_logprobs: 0 }]) {
    const { body, dropped } = ask(fields, "gpt-4.1");
    assert.equal(body.include, undefined);
    assert.equal(body.top_logprobs, undefined);
    assert.deepEqual(dropped, []);
  }
});

Deno.test("log probabilities are rejected when a model or its provider has none", () => {
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

Deno.test("log probabilities of a whole answer are those of the choice", () => {
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

Deno.test("log probabilities of a stream are in the chunks of their tokens", () => {
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

Deno.test("a cut answer has the log probabilities of its text", () => {
  const cut = foldAnswer(runStage(cutAtStops(["two"]), streamEvents()));
  const [block] = cut.blocks;
  assert.equal(block?.kind === "text" && block.text, "One ");
  assert.deepEqual(block?.kind === "text" && block.logprobs, [FIRST]);
});

Deno.test("log probabilities that were not requested do not reach a Chat caller", () => {
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

Deno.test("an answer without log probabilities has none", () => {
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
