import assert from "node:assert/strict";
import { GatewayError } from "../../../../src/base/error.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { wrapSealed } from "../../../../src/codecs/canonical/content/sealed.ts";
import { responsesCodec } from "../../../../src/codecs/responses/mod.ts";
import { plain } from "../../../contract/codec_contract.ts";
import { call, text, turn } from "../../../support/wire/turns.ts";
import { steps } from "../../../support/steps.ts";
import { yamlPairs } from "../../../support/yaml_table.ts";

const { decodeRequest } = responsesCodec;

Deno.test("decodeRequest() reads a string as a user turn after the instructions", () => {
  const { turns } = decode({ instructions: "Be brief.", input: "Hello" });
  assert.deepEqual(withoutMetadata(turns), [
    turn("system", text("Be brief.")),
    turn("user", text("Hello")),
  ]);
});

Deno.test("decodeRequest() gathers consecutive items of the model in one turn, and their results in another", () => {
  const { turns } = decode({
    input: [
      { role: "user", content: "Go" },
      { type: "reasoning", summary: [{ type: "summary_text", text: "Hm" }] },
      { role: "assistant", content: "Let me look." },
      { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
      { type: "custom_tool_call", call_id: "b", name: "g", input: "x" },
      { type: "function_call_output", call_id: "a", output: "1" },
      { type: "custom_tool_call_output", call_id: "b", output: "2" },
      { role: "assistant", content: "Done." },
    ],
  });
  assert.deepEqual(
    turns.map(({ role, blocks }) => [role, ...blocks.map(({ kind }) => kind)]),
    [
      ["user", "text"],
      ["assistant", "reasoning", "text", "function_call", "custom_call"],
      ["tool", "tool_result", "tool_result"],
      ["assistant", "text"],
    ],
  );
  const kinds = turns[2]?.blocks.map((block) =>
    block.kind === "tool_result" ? block.callKind : ""
  );
  assert.deepEqual(kinds, ["function", "custom"]);
});

Deno.test("decodeRequest() reads content parts", async (t) => {
  const parts = yamlPairs(`
a picture: { type: input_image, image_url: "data:image/jpg;base64,aGk=" } → { kind: image,
  source: { type: base64, mediaType: image/jpeg, data: "aGk=" } }
a stored picture: { type: input_image, file_id: file-1, detail: low } → { kind: image,
  source: { type: id, store: openai, id: file-1 }, detail: low }
a linked file: { type: input_file, file_url: "https://x.test/a.pdf", filename: a } → { kind: file,
  source: { type: url, url: "https://x.test/a.pdf" }, name: a }
a file: { type: input_file, file_data: "aGk=" } → { kind: file, source: { type: base64,
  mediaType: application/pdf, data: "aGk=" } }
sound: { type: input_audio, input_audio: { data: "aGk=", format: wav } } → { kind: audio,
  format: wav, data: "aGk=" }
a mark of a length: { type: input_text, text: x, prompt_cache_breakpoint: { mode: explicit,
  ttl: 30m } } → { kind: text, text: x, cache: { ttlSeconds: 1800 } }
a mark: { type: input_text, text: x, prompt_cache_breakpoint: { mode: explicit } } → { kind: text,
  text: x, cache: {} }
`);
  await steps(t, parts, ([, part, block]) => {
    const { turns } = decode({ input: [{ role: "user", content: [part] }] });
    assert.deepEqual(plain(turns[0]?.blocks), [block]);
  });
});

Deno.test("decodeRequest() reads typed tools of the caller as functions", () => {
  const { tools } = decode({
    tools: [
      { type: "local_shell" },
      { type: "shell", environment: { type: "local" } },
      { type: "apply_patch" },
      {
        type: "tool_search",
        execution: "client",
        description: "Finds",
        parameters: { type: "object", properties: { q: {} } },
      },
      { type: "tool_search" },
      { type: "shell", environment: { type: "container_auto" } },
    ],
  });
  assert.deepEqual(
    tools.map((tool) => tool.kind === "function" ? tool.name : tool.kind),
    ["local_shell", "shell", "apply_patch", "tool_search", "hosted", "hosted"],
  );
  const search = tools[3];
  assert(search?.kind === "function");
  assert.equal(search.description, "Finds");
  assert.deepEqual(search.parameters, {
    type: "object",
    properties: { q: {} },
  });
});

Deno.test("decodeRequest() reads typed calls as function calls, and their results as text", () => {
  const { turns } = decode({
    input: [
      {
        type: "shell_call",
        call_id: "a",
        action: { commands: ["ls"], timeout_ms: 5 },
      },
      {
        type: "shell_call_output",
        call_id: "a",
        output: [
          {
            stdout: "x\n",
            stderr: "",
            outcome: { type: "exit", exit_code: 0 },
          },
          { stdout: "", stderr: "no", outcome: { type: "exit", exit_code: 2 } },
          { stdout: "", stderr: "", outcome: { type: "timeout" } },
        ],
      },
      {
        type: "apply_patch_call",
        call_id: "b",
        operation: { type: "delete_file", path: "x" },
      },
      { type: "apply_patch_call_output", call_id: "b", status: "failed" },
    ],
  });
  assert.deepEqual(withoutMetadata(turns), [
    turn("assistant", call("a", "shell", '{"commands":["ls"],"timeout_ms":5}')),
    turn("tool", {
      kind: "tool_result",
      callId: "a",
      callKind: "function",
      content: [text("x\n\nno\n[exit code 2]\n\n[timed out]")],
      isError: false,
    }),
    turn(
      "assistant",
      call("b", "apply_patch", '{"type":"delete_file","path":"x"}'),
    ),
    turn("tool", {
      kind: "tool_result",
      callId: "b",
      callKind: "function",
      content: [text("failed")],
      isError: true,
    }),
  ]);
});

Deno.test("decodeRequest() adds each tool of the input items once", () => {
  const tool = { type: "function", name: "f" };
  const { tools } = decode({
    input: [
      {
        type: "additional_tools",
        role: "developer",
        tools: [tool, { type: "namespace", name: "n", tools: [tool] }],
      },
      { role: "user", content: "Go" },
      {
        type: "tool_search_call",
        call_id: "s",
        execution: "client",
        arguments: {},
      },
      {
        type: "tool_search_output",
        call_id: "s",
        execution: "client",
        tools: [{ type: "function", name: "g" }, { type: "web_search" }],
      },
    ],
    tools: [tool],
  });
  assert.deepEqual(
    tools.map((one) => one.kind === "hosted" ? one.type : one.name),
    ["f", "n", "g", "web_search"],
  );
});

Deno.test("decodeRequest() opens envelopes, and keeps OpenAI's sealed parts", () => {
  const sealed = {
    protocol: "messages",
    form: "signature",
    value: "abc",
    id: undefined,
    origin: "connection-1",
  } as const;
  const [reasoning, plainReasoning, own] = decode({
    input: [item(wrapSealed(sealed)), item(wrapSealed()), item("gAAAA")],
  }).turns[0]?.blocks ?? [];
  assert(reasoning?.kind === "reasoning");
  assert.deepEqual(reasoning.sealed, sealed);
  assert.deepEqual(reasoning.parts, [{ form: "raw", text: "Hm" }]);
  assert(plainReasoning?.kind === "reasoning");
  assert.equal(plainReasoning.sealed, undefined);
  assert.deepEqual(plainReasoning.parts, [{ form: "raw", text: "Hm" }]);
  assert(own?.kind === "reasoning");
  assert.deepEqual(own.sealed, {
    protocol: "responses",
    form: "encrypted_content",
    value: "gAAAA",
    id: "rs_1",
  });
  assert.deepEqual(own.parts, [{ form: "summary", text: "Hm" }]);

  function item(encrypted_content: string): JsonObject {
    const summary = [{ type: "summary_text", text: "Hm" }];
    return { type: "reasoning", id: "rs_1", summary, encrypted_content };
  }
});

Deno.test("decodeRequest() reads the settings", () => {
  const request = decode({
    reasoning: { effort: "ultra", summary: "concise" },
    text: { format: { type: "json_object" }, verbosity: "high" },
    tool_choice: { type: "custom", name: "g" },
    service_tier: "default",
    safety_identifier: "person-1",
  });
  assert.deepEqual(request.reasoning, { effort: "max", summary: "concise" });
  assert.deepEqual(request.format, { type: "json" });
  assert.equal(request.verbosity, "high");
  assert.deepEqual(plain(request.toolChoice), {
    type: "tool",
    tool: { kind: "custom", name: "g" },
  });
  assert.equal(request.serviceTier?.tier, "standard");
  assert.equal(request.user, "person-1");
  assert.deepEqual(
    decode({ reasoning: { effort: "none" } }).reasoning,
    { mode: "off", summary: undefined },
  );
  assert.equal(decode({ reasoning: { effort: "odd" } }).reasoning, undefined);
});

Deno.test("decodeRequest() gives fields that only Responses has a weight", () => {
  const { extras, safetyIdentifier } = decode({
    store: false,
    include: ["reasoning.encrypted_content"],
    truncation: "auto",
    top_logprobs: 2,
    client_metadata: { a: "b" },
    reasoning: { effort: "ultra", context: "all_turns" },
    user: "one",
    safety_identifier: "other",
    conversation: null,
    brand_new: 1,
  });
  const weights = Object.entries(extras.responses ?? {}).map((
    [name, { weight }],
  ) => `${name} ${weight}`);
  assert.deepEqual(weights.sort(), [
    "brand_new report",
    "client_metadata ignore",
    "include ignore",
    "reasoning.context report",
    "reasoning.effort report",
    "store ignore",
    "top_logprobs reject",
    "truncation report",
    "user ignore",
  ]);
  assert.deepEqual(safetyIdentifier, { protocol: "responses", value: "other" });
});

Deno.test("decodeRequest() reads a compaction trigger as a request for a summary, and cannot translate OpenAI's compaction", () => {
  const asked = decode({
    input: [{ role: "user", content: "Hi" }, { type: "compaction_trigger" }],
    tool_choice: "auto",
  });
  assert.deepEqual(asked.toolChoice, { type: "none" });
  const trigger = asked.turns.at(-1)?.blocks[0];
  assert(trigger?.kind === "opaque");
  assert.match(trigger.text ?? "", /summary/);
  const foreign = decode({
    input: [{ type: "compaction", encrypted_content: "gAAAA" }],
  }).turns[0]?.blocks[0];
  assert(foreign?.kind === "opaque");
  assert.equal(foreign.text, undefined);
  assert.equal(foreign.weight, "reject");
});

Deno.test("decodeRequest() keeps every kind of content in a result", () => {
  const output = [
    { type: "input_text", text: "see" },
    { type: "refusal", refusal: "no" },
    { type: "input_audio", input_audio: { data: "aGk=", format: "wav" } },
    { type: "input_hologram" },
  ];
  const { turns } = decode({
    input: [
      { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output },
    ],
  });
  const result = turns[1]?.blocks[0];
  assert(result?.kind === "tool_result");
  assert.deepEqual(
    result.content.map((block) =>
      block.kind === "opaque" ? [block.type, block.weight] : block
    ),
    [
      {
        kind: "text",
        text: "see",
        citations: undefined,
        cache: undefined,
        providerMetadata: undefined,
      },
      text("no"),
      ["input_audio", "reject"],
      ["input_hologram", "reject"],
    ],
  );
});

Deno.test("decodeRequest() gives `additional_tools` the weight `report` if it has hosted tools", () => {
  const weightOf = (...tools: JsonObject[]) => {
    const { turns } = decode({
      input: [{ type: "additional_tools", role: "developer", tools }],
    });
    const block = turns[0]?.blocks[0];
    return block?.kind === "opaque" ? block.weight : undefined;
  };
  assert.equal(weightOf({ type: "function", name: "f" }), "ignore");
  assert.equal(weightOf({ type: "web_search" }), "report");
});

Deno.test("decodeRequest() treats names of Object.prototype as unknown words", () => {
  const { extras, serviceTier, turns } = decode({
    constructor: 1,
    service_tier: "toString",
    input: [
      { type: "constructor" },
      {
        role: "user",
        content: [{
          type: "input_text",
          text: "x",
          prompt_cache_breakpoint: { ttl: "valueOf" },
        }, { type: "constructor" }],
      },
    ],
  });
  assert.deepEqual(Object.entries(extras.responses ?? {}), [
    ["constructor", { value: 1, weight: "report" }],
  ]);
  assert.equal(serviceTier?.tier, "auto");
  const [item, turn] = turns;
  assert(item?.blocks[0]?.kind === "opaque");
  assert.equal(item.blocks[0].weight, "report");
  assert.equal(item.blocks[0].text, undefined);
  assert(turn?.blocks[0]?.kind === "text");
  assert.deepEqual(turn.blocks[0].cache, { ttlSeconds: undefined });
});

Deno.test("decodeRequest() names the invalid field", async (t) => {
  const faults: readonly (readonly [string, JsonObject])[] = [
    ["input", { input: [] }],
    ["input", { input: null }],
    ["input[0]", { input: ["x"] }],
    ["input[0].role", { input: [{ role: "nobody", content: "x" }] }],
    ["input[0].content", { input: [{ role: "user", content: 5 }] }],
    ["input[0].content[0].type", { input: [{ role: "user", content: [{}] }] }],
    [
      "input[0].content[0].image_url",
      { input: [{ role: "user", content: [{ type: "input_image" }] }] },
    ],
    [
      "input[0].content[0].image_url",
      {
        input: [{
          role: "user",
          content: [{ type: "input_image", image_url: "data:image/png,x" }],
        }],
      },
    ],
    ["input[0].call_id", { input: [{ type: "function_call", name: "f" }] }],
    ["input[0].name", { input: [{ type: "function_call", call_id: "a" }] }],
    ["input[0].call_id", { input: [{ type: "function_call_output" }] }],
    ["tools[0].type", { tools: [{ name: "f" }] }],
    ["tools[0].name", { tools: [{ type: "function" }] }],
    [
      "tools[0].tools[0].name",
      {
        tools: [{ type: "namespace", name: "n", tools: [{ type: "custom" }] }],
      },
    ],
    ["tool_choice", { tool_choice: "any" }],
    ["text.format.type", { text: { format: { type: "xml" } } }],
    ["text.verbosity", { text: { verbosity: "loud" } }],
    ["max_output_tokens", { max_output_tokens: 0 }],
    ["metadata.a", { metadata: { a: 1 } }],
    ["previous_response_id", { previous_response_id: "resp_1" }],
    ["conversation", { conversation: { id: "conv_1" } }],
    ["background", { background: true }],
    ["prompt", { prompt: { id: "pmpt_1" } }],
    ["input[0]", { input: [{ type: "item_reference", id: "msg_1" }] }],
    ["input[0]", { input: [{ id: "msg_1" }] }],
  ];
  for (const [param, fields] of faults) {
    await t.step(`${param} in ${JSON.stringify(fields)}`, () => {
      assert.throws(
        () => decode(fields),
        (error) =>
          error instanceof GatewayError && error.kind === "invalid_request" &&
          error.param === param,
      );
    });
  }
});

Deno.test("decodeRequest() rejects a reference to stored state with an instruction", () => {
  const advice: readonly (readonly [JsonObject, RegExp])[] = [
    [
      // The AI SDK sends this for an answer that it expects to be stored.
      { input: ["a", { type: "item_reference", id: "msg_1" }] },
      /`item_reference` in `input\[1\]`.*`store: false`.*providerOptions/,
    ],
    [{ previous_response_id: "resp_1" }, /whole history.*`store: false`/],
    [{ conversation: "conv_1" }, /whole history.*`store: false`/],
    [{ background: true }, /`background`.*Wait for the answer/],
    [{ prompt: { id: "pmpt_1" } }, /`prompt`.*Send its text/],
  ];
  for (const [fields, expected] of advice) {
    const input = Array.isArray(fields.input)
      ? [{ role: "user", content: "hi" }, ...fields.input.slice(1)]
      : "hi";
    assert.throws(() => decode({ ...fields, input }), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.match(error.message, expected);
      return true;
    });
  }
});

function decode(fields: JsonObject): ReturnType<typeof decodeRequest> {
  return decodeRequest({ model: "m", input: "hi", ...fields });
}

function withoutMetadata(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(
      value,
      (key, one) => key === "providerMetadata" ? undefined : one,
    ),
  );
}
