import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import { systemClock } from "../../../src/base/time/timers.ts";
import type { Family, Protocol } from "../../../src/base/protocol.ts";
import { randomIds } from "../../../src/base/ids.ts";
import { createStrictProvider } from "../../support/upstream/strict_provider/mod.ts";
import { connectionFile, minimalFile } from "../../support/gateway/config.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import {
  type OpenAnswer,
  readOpenResponse,
} from "../../support/sdk/open_responses.ts";
import { steps } from "../../support/steps.ts";

// The compliance cases of Open Responses, in our own code:
// https://github.com/openresponses/openresponses/blob/main/src/lib/compliance-tests.ts

/** A connection to one of the demo's providers, with one endpoint. */
const BACKENDS = {
  "a native model": { family: "C", endpoint: "responses", model: "demo-c" },
  "a model behind Chat Completions": {
    family: "A",
    endpoint: "chat",
    model: "demo-a",
  },
  "a model behind Messages": {
    family: "B",
    endpoint: "messages",
    model: "demo-b",
    paths: ["responses"],
  },
  "a model behind Messages that reasons": {
    family: "B",
    endpoint: "messages",
    model: "demo-b-think",
    paths: ["responses"],
  },
  "a native model that reasons": {
    family: "C",
    endpoint: "responses",
    model: "demo-c-think",
  },
  "a model behind Chat Completions that reasons": {
    family: "A",
    endpoint: "chat",
    model: "demo-a-think",
  },
} as const;

interface Backend {
  readonly family: Family;
  readonly endpoint: Protocol;
  readonly model: string;
  readonly paths?: readonly Protocol[];
}

function startBackend(
  { family, endpoint, model, paths = [] }: Backend,
): Promise<RunningGateway> {
  const letter = family.toLowerCase();
  const connection = connectionFile({
    family,
    endpoints: { [endpoint]: `https://demo-${letter}.invalid/v1` },
    auth: {
      scheme: family === "B" ? "x-api-key" : "bearer",
      key: `demo-key-${letter}`,
    },
    models: [model],
    paths,
  });
  return startGateway(minimalFile({ connections: [connection] }), {
    fetch: createStrictProvider({
      clock: systemClock,
      ids: randomIds,
      wordMs: 0,
    }),
  });
}

const message = (role: string, content: unknown): JsonObject => ({
  type: "message",
  role,
  content: JSON.parse(JSON.stringify(content)),
});

const WEATHER: JsonObject = {
  type: "function",
  name: "get_weather",
  description: "Reports the weather at a place",
  parameters: {
    type: "object",
    properties: { location: { type: "string" } },
    required: ["location"],
  },
};

const ASKED_FOR_WEATHER: JsonObject = {
  input: [message("user", 'Use get_weather with {"location":"Lisbon"}')],
  tools: [WEATHER],
};

/** One pixel. */
const IMAGE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The requests, with the requirements on each answer beyond the protocol. */
const CASES: Readonly<
  Record<string, {
    readonly body: JsonObject;
    readonly check: (answer: OpenAnswer) => void;
  }>
> = {
  "a text": {
    body: { input: [message("user", "Greet me in three words.")] },
    check: completed,
  },
  "a text as a stream": {
    body: { stream: true, input: [message("user", "Count from one to five.")] },
    check(answer) {
      assert.ok(answer.events.length > 0);
      completed(answer);
    },
  },
  "a system message": {
    body: {
      input: [
        message("system", "You speak like a sailor."),
        message("user", "Greet me."),
      ],
    },
    check: completed,
  },
  "a call of a tool": { body: ASKED_FOR_WEATHER, check: callsWeather },
  "a call of a tool as a stream": {
    body: { ...ASKED_FOR_WEATHER, stream: true },
    check(answer) {
      callsWeather(answer);
      const steps = answer.events.map(({ type, item }) =>
        item === undefined ? type : `${type} ${Object(item).type}`
      );
      for (
        const needed of [
          "response.output_item.added function_call",
          "response.function_call_arguments.delta",
          "response.function_call_arguments.done",
          "response.output_item.done function_call",
        ]
      ) assert.ok(steps.includes(needed), `${needed} in ${steps.join()}`);
    },
  },
  "an image": {
    body: {
      input: [message("user", [
        { type: "input_text", text: "What is in this image?" },
        { type: "input_image", image_url: IMAGE },
      ])],
    },
    check: completed,
  },
  "a conversation": {
    body: {
      input: [
        message("user", "I am Alice."),
        message("assistant", "Hello Alice!"),
        message("user", "Who am I?"),
      ],
    },
    check: completed,
  },
};

function completed({ response }: OpenAnswer): void {
  assert.equal(response.status, "completed");
  assert.ok(response.output.some(({ type }) => type === "message"));
}

function callsWeather({ response }: OpenAnswer): void {
  const calls = response.output.filter((item) => item.type === "function_call");
  assert.equal(calls.length, 1);
  assert.equal(calls[0]?.name, "get_weather");
  assert.deepEqual(JSON.parse(calls[0]?.arguments ?? ""), {
    location: "Lisbon",
  });
}

for (const [name, backend] of Object.entries(BACKENDS)) {
  Deno.test(`${name} passes the compliance cases of Open Responses`, async (t) => {
    await using gateway = await startBackend(backend);
    await steps(t, Object.entries(CASES), async ([, { body, check }]) => {
      const asked = JSON.stringify({ ...body, model: backend.model });
      const response = await gateway.ask("responses", asked);
      const answer = await readOpenResponse(response);
      check(answer);
      assert.equal(
        answer.response.output.some(({ type }) => type === "reasoning"),
        backend.model.endsWith("-think"),
      );
    });
  });
}

Deno.test("a model behind Messages is rejected on /responses without the option `paths`", async () => {
  await using gateway = await startBackend({
    family: "B",
    endpoint: "messages",
    model: "demo-b",
  });
  const body = JSON.stringify({ ...CASES["a text"]?.body, model: "demo-b" });
  const refused = await gateway.ask("responses", body);
  assert.equal(refused.status, 400);
  assert.equal((await refused.json()).error.code, "unsupported_path");
});

Deno.test("readOpenResponse() rejects an invalid answer of Open Responses", async (t) => {
  await using gateway = await startBackend(
    BACKENDS["a model behind Chat Completions"],
  );
  const body = (stream: boolean) =>
    JSON.stringify({ model: "demo-a", input: "Hello", stream });
  const whole = await gateway.ask("responses", body(false));
  const good: JsonObject = await whole.json();
  // Only OpenAI's schema has this field.
  const { access_programs: _accessPrograms, ...fields } = good;
  for (const field of Object.keys(fields)) {
    // These fields are nullable in a form that treats null as absent.
    if (field === "metadata" || field === "moderation") continue;
    await t.step(`without ${field}`, async () => {
      const { [field]: _, ...rest } = good;
      await assert.rejects(readOpenResponse(Response.json(rest)));
    });
  }
  const streamed = await gateway.ask("responses", body(true));
  const text = await streamed.text();
  const damaged = {
    "an unknown event": text.replaceAll(
      "response.output_text.done",
      "response.text.done",
    ),
    "an event without its number": text.replace('"sequence_number":0', '"n":0'),
    "a delta without its place": text.replaceAll('"content_index":0,', ""),
    "an event with another name": text.replace(
      "event: response.created",
      "event: response.begun",
    ),
  };
  await steps(t, Object.entries(damaged), async ([, events]) => {
    assert.notEqual(events, text);
    await assert.rejects(readOpenResponse(
      new Response(events, {
        headers: { "content-type": "text/event-stream" },
      }),
    ));
  });
});
