import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
} from "../../src/base/json.ts";
import { MAIN_OPERATIONS, type Protocol } from "../../src/base/protocol.ts";
import { UpstreamFailure } from "../../src/codecs/canonical/failure/failure.ts";
import type { ToolAliases } from "../../src/codecs/canonical/tools/bridge_tools.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { translateWhole } from "../../src/codecs/jobs/answer_job.ts";
import { openTranslator } from "../../src/codecs/jobs/stream_job.ts";
import { counterIds } from "../contract/codec_contract.ts";
import { userRequest } from "../support/dialects/upstream_request.ts";
import { sseBytes } from "../support/wire/sse_bytes.ts";

// Calls of an answer, from the provider's bytes to the caller's, over each pair of protocols, whole and streamed.

const PROTOCOLS: readonly Protocol[] = ["chat", "messages", "responses"];

const PAIRS = PROTOCOLS.flatMap((from) =>
  PROTOCOLS.filter((to) => to !== from).map((to) => ({ from, to }))
);

/** A call as a provider sends it. */
interface SentCall {
  readonly id?: JsonValue | undefined;
  readonly name?: JsonValue | undefined;
  readonly input?: string;
}

/** Returns an answer of only these calls. */
function answerOf(to: Protocol, calls: readonly SentCall[]): JsonObject {
  switch (to) {
    case "chat": {
      const tool_calls = calls.map(({ id, name, input = "{}" }) => ({
        ...(id === undefined ? {} : { id }),
        type: "function",
        function: { ...(name === undefined ? {} : { name }), arguments: input },
      }));
      const message = { role: "assistant", content: null, tool_calls };
      const choice = { index: 0, message, finish_reason: "tool_calls" };
      return { id: "c", model: "m", choices: [choice] };
    }
    case "messages":
      return {
        id: "c",
        type: "message",
        role: "assistant",
        model: "m",
        content: calls.map(({ input = "{}", ...call }) => ({
          type: "tool_use",
          ...call,
          input: JSON.parse(input),
        })),
        stop_reason: "tool_use",
      };
    case "responses":
      return {
        id: "c",
        model: "m",
        status: "completed",
        output: calls.map(({ id, name, input = "{}" }, index) => ({
          type: "function_call",
          id: `fc_${index}`,
          ...(id === undefined ? {} : { call_id: id }),
          ...(name === undefined ? {} : { name }),
          arguments: input,
        })),
      };
  }
}

/** Returns the answer as a stream. Calls of Chat arrive in parallel, piece by piece. */
function streamOf(to: Protocol, calls: readonly SentCall[]): Uint8Array {
  const answer = answerOf(to, calls);
  if (to === "chat") {
    const [choice] = objectsOf(answer.choices);
    const all = objectsOf(Object(choice?.message).tool_calls);
    const chunk = (delta: JsonObject, finish_reason: string | null = null) => ({
      ...answer,
      choices: [{ index: 0, delta, finish_reason }],
    });
    return sseBytes(
      chunk({
        tool_calls: all.map((call, index) => ({
          index,
          ...call,
          function: { ...Object(call.function), arguments: "" },
        })),
      }),
      ...all.map((call, index) =>
        chunk({
          tool_calls: [{
            index,
            function: { arguments: Object(call.function).arguments },
          }],
        })
      ),
      chunk({}, "tool_calls"),
    );
  }
  if (to === "messages") {
    return sseBytes(
      { type: "message_start", message: { ...answer, content: [] } },
      ...objectsOf(answer.content).flatMap(({ input, ...block }, index) => [
        {
          type: "content_block_start",
          index,
          content_block: { ...block, input: {} },
        },
        {
          type: "content_block_delta",
          index,
          delta: {
            type: "input_json_delta",
            partial_json: JSON.stringify(input),
          },
        },
        { type: "content_block_stop", index },
      ]),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    );
  }
  return sseBytes(
    { type: "response.created", response: { ...answer, output: [] } },
    ...objectsOf(answer.output).flatMap((item, output_index) => [
      {
        type: "response.output_item.added",
        output_index,
        item: { ...item, arguments: "" },
      },
      {
        type: "response.function_call_arguments.delta",
        output_index,
        item_id: item.id,
        delta: item.arguments,
      },
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response: answer },
  );
}

interface Exchange {
  readonly from: Protocol;
  readonly to: Protocol;
  readonly isStream: boolean;
  readonly ids?: ReturnType<typeof counterIds>;
  /** The ids of calls in the caller's history. */
  readonly history?: readonly string[];
}

/** Returns what the caller receives, or the failure. */
function answered(
  calls: readonly SentCall[],
  { from, to, isStream, ids = counterIds(), history = [] }: Exchange,
  aliases: ToolAliases = new Map(),
): { text: string; failure?: string } {
  const request = CODECS[from].decodeRequest({
    model: "m",
    ...userRequest(from),
    ...(history.length === 0 ? {} : historyOf(from, history)),
  });
  const edits = { aliases, cuts: [], isTagged: false };
  const context = {
    nowMs: 0,
    model: "m",
    request,
    estimatedInputTokens: 1,
    requestId: "r",
    connectionId: "c",
  };
  if (!isStream) {
    const bytes = new TextEncoder().encode(JSON.stringify(answerOf(to, calls)));
    try {
      const operation = MAIN_OPERATIONS[from];
      const job = { ...context, ...edits, answer: bytes, operation, to };
      const written = translateWhole(job, ids).bytes;
      return { text: new TextDecoder().decode(written) };
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      return { text: "", failure: error.failure.message };
    }
  }
  let failure: string | undefined;
  const translator = openTranslator({
    from: CODECS[from],
    to,
    edits,
    context: { ...context, ids, now: () => 0, drop() {} },
    observe(event) {
      if (event.type === "failure") failure = event.failure.message;
    },
  });
  const text = translator.push(streamOf(to, calls)) + translator.end();
  return { text, ...(failure === undefined ? {} : { failure }) };
}

function historyOf(from: Protocol, ids: readonly string[]): JsonObject {
  switch (from) {
    case "chat":
      return {
        messages: ids.flatMap((id) => [
          {
            role: "assistant",
            content: null,
            tool_calls: [{
              id,
              type: "function",
              function: { name: "f", arguments: "{}" },
            }],
          },
          { role: "tool", tool_call_id: id, content: "seen" },
        ]),
      };
    case "messages":
      return {
        messages: ids.flatMap((id) => [
          {
            role: "assistant",
            content: [{ type: "tool_use", id, name: "f", input: {} }],
          },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: id, content: "ok" }],
          },
        ]),
      };
    case "responses":
      return {
        input: ids.flatMap((call_id) => [
          { type: "function_call", call_id, name: "f", arguments: "{}" },
          { type: "function_call_output", call_id, output: "seen" },
        ]),
      };
  }
}

/** Returns the ids of the calls that a caller receives, in their order. */
function idsIn(text: string, from: Protocol): readonly string[] {
  const field = from === "responses" ? "call_id" : "id";
  const ids: string[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(look);
    if (!isJsonObject(value)) return;
    const isCall = value.type === "function" || value.type === "tool_use" ||
      value.type === "function_call";
    if (isCall && typeof value[field] === "string") ids.push(value[field]);
    Object.values(value).forEach(look);
  };
  for (const line of text.split("\n")) {
    const data = line.replace(/^data: /, "");
    if (data.startsWith("{")) look(JSON.parse(data));
  }
  return from === "responses" ? [...new Set(ids)] : ids;
}

const LONG = "x".repeat(300);

const REPEATED: readonly (readonly (JsonValue | undefined)[])[] = [
  ["call_0", "call_0"],
  ["0", "0", "0"],
  ["toolu_01A", "toolu_01A"],
  ["functions.f:0", "functions.f:0"],
  [LONG, LONG],
  ["", ""],
  [null, null],
  [undefined, undefined],
  ["a b", "a b"],
  [7, 7],
];

Deno.test("calls with one repeated id get different ids, for every caller, in JSON and in a stream", async (t) => {
  for (const { from, to } of PAIRS) {
    for (const isStream of [false, true]) {
      for (const given of REPEATED) {
        const what = `${to} to ${from} ${isStream} ${JSON.stringify(given)}`;
        await t.step(what.slice(0, 100), () => {
          const calls = given.map((id) => ({ id, name: "f" }));
          const { text, failure } = answered(calls, { from, to, isStream });
          assert.equal(failure, undefined);
          const ids = idsIn(text, from);
          assert.equal(ids.length, given.length, text);
          assert.equal(new Set(ids).size, given.length, ids.join());
          assert.ok(ids.every((id) => id.trim() !== ""), ids.join());
        });
      }
    }
  }
});

Deno.test("the ids of an answer differ from all ids in the caller's history", async (t) => {
  for (const { from, to } of PAIRS) {
    for (const isStream of [false, true]) {
      // Clients of Messages pair results and calls only by their ids.
      const others = from === "messages" ? ["toolu_01A", "a b"] : [];
      for (const id of ["call_0", "7", ...others]) {
        await t.step(`${to} to ${from} ${isStream} ${id}`, () => {
          const ids = counterIds();
          const history: string[] = [];
          const exchange = { from, to, isStream, ids };
          for (let turn = 0; turn < 3; turn++) {
            const calls = [{ id, name: "f" }];
            const { text } = answered(calls, { ...exchange, history });
            history.push(...idsIn(text, from));
          }
          // A model may repeat an id that it read in its history.
          const [made = ""] = history;
          const again = [{ id: made, name: "f" }, { id: made, name: "f" }];
          history.push(
            ...idsIn(answered(again, { ...exchange, history }).text, from),
          );
          assert.equal(history.length, 5);
          assert.equal(new Set(history).size, 5, history.join());
        });
      }
    }
  }
});

Deno.test("concurrent answers get different ids for calls with the same numbers", () => {
  for (const { from, to } of PAIRS) {
    const ids = counterIds();
    const all = [1, 2, 3, 4].flatMap((turn) =>
      idsIn(
        answered(
          [{ id: "call_0", name: "f" }, { id: "call_1", name: "f" }],
          { from, to, isStream: turn % 2 === 0, ids },
        ).text,
        from,
      )
    );
    assert.equal(new Set(all).size, 8, all.join());
  }
});

Deno.test("an answer with a call without a name is an error for every caller, in JSON and in a stream", () => {
  for (const { from, to } of PAIRS) {
    for (const isStream of [false, true]) {
      for (const name of [undefined, null, "", " ", "\n\t", 7, {}]) {
        for (const input of ["{}", '{"a":1}']) {
          const call = { id: "call_0", name, input };
          const exchange = { from, to, isStream };
          const what = JSON.stringify({ call, ...exchange });
          const { text, failure } = answered([call], exchange);
          assert.match(`${failure}`, /without a name/, `${what} ${text}`);
          assert.doesNotMatch(text, /"(?:stop|end_turn|completed)"/, what);
          const two = answered([{ id: "a", name: "f" }, call], exchange);
          assert.notEqual(two.failure, undefined, what);
        }
      }
    }
  }
});

/** The arguments of a model's call of a custom tool, and the input that a Responses caller gets. */
const INPUTS: readonly (readonly [sent: string, input: string])[] = [
  ["{}", ""],
  ['{"input":""}', ""],
  ['{"input":null}', ""],
  ['{"input":"x"}', "x"],
  ['{"input":"{}"}', "{}"],
  ['{"input":" "}', " "],
  ['{"input":5}', '{"input":5}'],
  ['{"input":{"a":1}}', '{"input":{"a":1}}'],
  ['{"other":"x"}', '{"other":"x"}'],
];

Deno.test("a Responses caller gets the input of a custom tool, or the whole arguments if these have no text `input`", () => {
  const aliases: ToolAliases = new Map([["patch", {
    kind: "custom",
    name: "patch",
  }]]);
  for (const to of ["chat", "messages"] as const) {
    for (const isStream of [false, true]) {
      for (const [sent, input] of INPUTS) {
        const call = { id: "toolu_1", name: "patch", input: sent };
        const exchange = { from: "responses", to, isStream } as const;
        const { text, failure } = answered([call], exchange, aliases);
        assert.equal(failure, undefined);
        const written = `"input":${JSON.stringify(input)}`;
        assert.ok(text.includes(written), `${sent}: ${text}`);
      }
    }
  }
});
