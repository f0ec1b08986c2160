import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import type { Answer } from "../../../src/codecs/canonical/answer/answer.ts";
import type { AnswerBlock } from "../../../src/codecs/canonical/content/block.ts";
import {
  sampleAnswer,
  UPSTREAM_PATHS,
  upstreamAnswer,
} from "../../support/dialects/pairs.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import { minimalFile } from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { OpenAI } from "../../support/sdk/sdks.ts";
import {
  type SeenRequest,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { PATHS } from "../../support/wire/ask.ts";
import { cursorBody, cursorTurn, PATCH } from "../../support/wire/cursor.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { steps } from "../../support/steps.ts";

/** A connection with one protocol, and its form of a call of the custom tool. */
const CONNECTIONS: readonly {
  readonly protocol: Protocol;
  readonly model: string;
  readonly call: AnswerBlock;
}[] = [
  {
    protocol: "responses",
    model: "model-c",
    call: {
      kind: "custom_call",
      id: "call_1",
      name: "ApplyPatch",
      input: PATCH,
    },
  },
  {
    protocol: "chat",
    model: "model-a",
    call: {
      kind: "function_call",
      id: "call_1",
      name: "ApplyPatch",
      arguments: JSON.stringify({ input: PATCH }),
    },
  },
  {
    protocol: "messages",
    model: "model-b",
    call: {
      kind: "function_call",
      id: "call_1",
      name: "ApplyPatch",
      arguments: JSON.stringify({ input: PATCH }),
    },
  },
];

const FILE = { chat: "A", messages: "B", responses: "C" } as const;

function fileOf(url: string): Record<string, unknown> {
  return minimalFile({
    connections: CONNECTIONS.map(({ protocol }) =>
      familyConnection(FILE[protocol], url, {
        endpoints: { [protocol]: `${url}/v1` },
        // OpenAI itself accepts custom tools unchanged.
        ...(protocol === "responses" && { service: "openai" }),
      })
    ),
  });
}

const TEXT = sampleAnswer("one text");

function calling(call: AnswerBlock): Answer {
  return { ...TEXT, blocks: [call], stop: { reason: "tool_calls" } };
}

function bodyOf(seen: SeenRequest): JsonObject {
  const body = parseJson(seen.text());
  assert.ok(isJsonObject(body));
  return body;
}

/** Reads a Chat Completions stream as clients do. */
async function readChat(response: Response): Promise<
  Pick<OpenAI.ChatCompletion, "choices" | "usage">
> {
  const client = new OpenAI({
    baseURL: "http://gateway.test/v1",
    apiKey: ALICE_TOKEN,
    maxRetries: 0,
    fetch: () => Promise.resolve(response),
  });
  const stream = client.chat.completions.stream({
    model: "m",
    messages: [],
    stream_options: { include_usage: true },
  });
  return await stream.finalChatCompletion();
}

for (const { protocol, model, call } of CONNECTIONS) {
  Deno.test(`a Responses body on the path of Chat is sent to a ${protocol} connection in its protocol, and answered as Chat`, async () => {
    await using upstream = startUpstream((seen) =>
      upstreamAnswer(protocol, TEXT, bodyOf(seen).stream === true)
    );
    await using gateway = await startGateway(fileOf(upstream.url));
    for (const stream of [true, false]) {
      const body = JSON.stringify(cursorBody(model, { stream }));
      const response = await gateway.ask("chat", body);
      assert.equal(response.status, 200);
      const line = gateway.lines.of(response);
      const answer = stream
        ? await readChat(response)
        : await response.json() as OpenAI.ChatCompletion;
      const [choice] = answer.choices;
      assert.equal(choice?.message.content, "Hello, wörld 👋");
      assert.equal(choice?.finish_reason, "stop");
      assert.equal(answer.usage?.completion_tokens, 20);
      const seen = await upstream.requests.next();
      assert.equal(seen.path, UPSTREAM_PATHS[protocol]);
      assert.match(seen.text(), /Write a file/);
      assert.match(seen.text(), /"ApplyPatch"/);
      const { mode, body_protocol, route } = await line;
      assert.deepEqual([mode, body_protocol, route], [
        "translated",
        "responses",
        PATHS.chat,
      ]);
    }
  });

  Deno.test(`a custom tool's call from a ${protocol} connection becomes a function call with plain text as its arguments, and the next request restores it`, async () => {
    await using upstream = startUpstream((seen) =>
      upstreamAnswer(protocol, calling(call), bodyOf(seen).stream === true)
    );
    await using gateway = await startGateway(fileOf(upstream.url));
    for (const stream of [true, false]) {
      const body = JSON.stringify(cursorBody(model, { stream }));
      const response = await gateway.ask("chat", body);
      const answer = stream
        ? await readChat(response)
        : await response.json() as OpenAI.ChatCompletion;
      const [choice] = answer.choices;
      assert.equal(choice?.finish_reason, "tool_calls");
      const [called] = choice?.message.tool_calls ?? [];
      assert.ok(called?.type === "function");
      assert.equal(called.function.name, "ApplyPatch");
      assert.equal(called.function.arguments, PATCH);
      await upstream.requests.next();
      const first = cursorBody(model);
      assert.ok(Array.isArray(first.input));
      const next = {
        ...first,
        input: [...first.input, ...cursorTurn(called.id)],
      };
      const followed = await gateway.ask("chat", JSON.stringify(next));
      await followed.body?.cancel();
      assert.equal(followed.status, 200);
      const history = bodyOf(await upstream.requests.next());
      const expected = JSON.stringify(
        protocol === "responses" ? PATCH : { input: PATCH },
      );
      const spelled = protocol === "chat" ? JSON.stringify(expected) : expected;
      assert.ok(
        JSON.stringify(history).includes(spelled),
        JSON.stringify(history),
      );
    }
  });
}

Deno.test("a Responses body on the path of Chat goes to the connection's Responses endpoint if it has one, without Chat's fields", async () => {
  await using upstream = startUpstream(() =>
    upstreamAnswer("responses", TEXT, true)
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const body = JSON.stringify(cursorBody("model-a"));
  const response = await gateway.ask("chat", body);
  assert.equal((await readChat(response)).choices.length, 1);
  const seen = await upstream.requests.next();
  assert.equal(seen.path, "/a/responses");
  const sent = bodyOf(seen);
  assert.deepEqual(sent.stream_options, undefined);
  const { tools, reasoning, text, store, include } = cursorBody("model-a");
  assert.deepEqual(
    [sent.reasoning, sent.text, sent.store, sent.include],
    [reasoning, text, store, include],
  );
  assert.ok(Array.isArray(tools) && Array.isArray(sent.tools));
  assert.equal(sent.tools.length, tools.length);
});

Deno.test("a body with an empty list of messages beside its input is a Responses body, too", async () => {
  await using upstream = startUpstream(() =>
    upstreamAnswer("responses", TEXT, true)
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const messages of [[], null]) {
    const body = JSON.stringify(cursorBody("model-c", { messages }));
    const response = await gateway.ask("chat", body);
    assert.equal(response.status, 200);
    await response.body?.cancel();
    assert.equal((await upstream.requests.next()).path, "/c/responses");
  }
});

Deno.test("an ambiguous body is forwarded byte for byte in the protocol of its path", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const messages = [{ role: "user", content: "Hi" }];
  const cases = {
    "messages and an input": JSON.stringify({
      model: "model-a",
      messages,
      input: "Hi",
    }),
    "no messages and an input of null": '{"model":"model-a","input":null}',
    "neither": '{"model":"model-a"}',
    "messages twice":
      '{"model":"model-a","messages":[],"messages":[],"input":"Hi"}',
  };
  await steps(t, Object.entries(cases), async ([, body]) => {
    const response = await gateway.ask("chat", body);
    await response.body?.cancel();
    const seen = await upstream.requests.next();
    assert.equal(seen.path, "/a/chat/completions");
    assert.equal(seen.text(), body);
    const line = await gateway.lines.of(response);
    assert.equal(line.body_protocol, undefined);
  });
});

Deno.test("an error for a Responses body on the path of Chat has the shape of Chat", async () => {
  await using upstream = startUpstream(() =>
    Response.json({ error: { message: "no such thing", type: "x" } }, {
      status: 400,
    })
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const refused = await gateway.ask(
    "chat",
    JSON.stringify(cursorBody("model-c")),
  );
  assert.equal(refused.status, 400);
  const { error } = await refused.json();
  assert.match(error.message, /no such thing/);
  const stateful = await gateway.ask(
    "chat",
    JSON.stringify(cursorBody("model-c", { previous_response_id: "resp_1" })),
  );
  assert.equal(stateful.status, 400);
  assert.equal((await stateful.json()).error.param, "previous_response_id");
});
