import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { Block } from "../../../../src/codecs/canonical/content/block.ts";
import type {
  LossWeight,
  LostField,
} from "../../../../src/codecs/canonical/request/loss.ts";
import type {
  CanonicalRequest,
  Turn,
} from "../../../../src/codecs/canonical/request/request.ts";
import { responsesCodec } from "../../../../src/codecs/responses/mod.ts";
import { plain } from "../../../contract/codec_contract.ts";
import { call, text, thought, turn } from "../../../support/wire/turns.ts";
import { steps } from "../../../support/steps.ts";

const HELLO: Turn = turn("user", text("Hi"));

Deno.test("encodeRequest() writes turns as items", () => {
  const { input } = encode({
    turns: [
      turn("system", text("Be brief.")),
      HELLO,
      turn(
        "assistant",
        thought("Hm"),
        text("Let me "),
        text("look."),
        call("a", "f", ""),
        text("And more."),
      ),
      toolTurn([text("1")]),
    ],
  }).body;
  assert.deepEqual(input, [
    says("system", "Be brief."),
    says("user", "Hi"),
    {
      type: "message",
      role: "assistant",
      content: [
        { type: "output_text", text: "Let me " },
        { type: "output_text", text: "look." },
      ],
    },
    { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
    {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "And more." }],
    },
    { type: "function_call_output", call_id: "a", output: "1" },
  ]);
});

Deno.test("encodeRequest() writes results of tools", async (t) => {
  const image: Block = {
    kind: "image",
    source: { type: "base64", mediaType: "image/png", data: "aGk=" },
  };
  const picture = {
    type: "input_image",
    image_url: "data:image/png;base64,aGk=",
  };
  const outputs: readonly (readonly [string, unknown, Turn])[] = [
    ["no content", "", toolTurn([])],
    [
      "text and a picture",
      [{ type: "input_text", text: "See" }, picture],
      toolTurn([text("See"), image]),
    ],
    ["a picture", [picture], toolTurn([image])],
    ["an error", "Error: no", toolTurn([text("no")], true)],
    [
      "an error whose text begins with `error`",
      "error 5",
      toolTurn([text("error 5")], true),
    ],
    ["an error without content", "Error", toolTurn([], true)],
    [
      "an error with only a picture",
      [{ type: "input_text", text: "Error" }, picture],
      toolTurn([image], true),
    ],
  ];
  await steps(t, outputs, ([, output, turn]) => {
    const { input } = encode({ turns: [HELLO, callTurn("a"), turn] }).body;
    assert(Array.isArray(input));
    assert.deepEqual(plain(input.at(-1)), {
      type: "function_call_output",
      call_id: "a",
      output,
    });
  });
});

Deno.test("encodeRequest() adds missing results, and shortens long ids", () => {
  const id = `call-${"x".repeat(80)}`;
  const { input } = encode({ turns: [HELLO, callTurn(id)] }).body;
  assert(Array.isArray(input));
  const ids = input.slice(1).map((item) => Object(item).call_id);
  assert.equal(ids.length, 2);
  assert.equal(ids[0], ids[1]);
  assert.equal(String(ids[0]).length, 64);
  assert.match(String(Object(input[2]).output), /interrupted/);
});

Deno.test("encodeRequest() returns sealed reasoning only to its issuer", async (t) => {
  const cases = [
    ["its own", "responses", "encrypted_content", "connection-1", true],
    [
      "of the same protocol, from an unknown issuer",
      "responses",
      "encrypted_content",
      undefined,
      true,
    ],
    ["of another connection", "responses", "encrypted_content", "other", false],
    ["of another form", "responses", "summary", undefined, false],
    ["of another protocol", "messages", "signature", undefined, false],
  ] as const;
  await steps(t, cases, ([, protocol, form, origin, isSent]) => {
    const { body, lost } = encode({
      turns: [
        HELLO,
        turn("assistant", {
          kind: "reasoning",
          parts: [{ form: "summary", text: "Hm" }],
          sealed: { protocol, form, value: "v", id: "rs_1", origin },
        }, text("Hello")),
      ],
    });
    assert(Array.isArray(body.input));
    const types = body.input.map((item) => Object(item).type);
    assert.equal(types.includes("reasoning"), isSent);
    assert.deepEqual(
      lost.map(({ field }) => field),
      isSent ? [] : ["sealedReasoning"],
    );
    if (!isSent) return;
    assert.deepEqual(body.input[1], {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "Hm" }],
      encrypted_content: "v",
    });
  });
});

Deno.test("encodeRequest() writes files and images", async (t) => {
  const cases: readonly (readonly [Block, unknown])[] = [
    [
      { kind: "file", source: { type: "text", text: "abc" }, name: "a.txt" },
      { type: "input_text", text: "a.txt\n\nabc" },
    ],
    [
      {
        kind: "file",
        source: { type: "base64", mediaType: "application/pdf", data: "aGk=" },
      },
      {
        type: "input_file",
        filename: "document.pdf",
        file_data: "data:application/pdf;base64,aGk=",
      },
    ],
    [
      {
        kind: "file",
        source: {
          type: "base64",
          mediaType: "application/vnd.odd+zip",
          data: "aGk=",
        },
      },
      {
        type: "input_file",
        filename: "document",
        file_data: "data:application/vnd.odd+zip;base64,aGk=",
      },
    ],
    [
      { kind: "file", source: { type: "url", url: "https://x.test/a" } },
      { type: "input_file", file_url: "https://x.test/a" },
    ],
    [
      {
        kind: "image",
        source: { type: "id", store: "openai", id: "file-1" },
        detail: "low",
      },
      { type: "input_image", file_id: "file-1", detail: "low" },
    ],
    [
      {
        kind: "opaque",
        protocol: "messages",
        type: "search_result",
        value: {},
        text: "found",
        weight: "report",
      },
      { type: "input_text", text: "found" },
    ],
  ];
  for (const [block, part] of cases) {
    await t.step(JSON.stringify(part), () => {
      const { input } = encode({ turns: [turn("user", block)] })
        .body;
      assert(Array.isArray(input));
      assert.deepEqual(Object(input[0]).content, [part]);
    });
  }
});

Deno.test("encodeRequest() reports dropped fields, with their weights", async (t) => {
  const cases: readonly (readonly [string, Partial<CanonicalRequest>])[] = [
    ["stop report", { stop: ["END"] }],
    [
      "topK report,seed report,frequencyPenalty report",
      {
        sampling: { topK: 4, seed: 1, frequencyPenalty: 1, presencePenalty: 0 },
      },
    ],
    ["messageName report", { turns: [{ ...HELLO, name: "anna" }] }],
    [
      "messages reject",
      { turns: [turn("user", { kind: "audio", format: "wav", data: "aGk=" })] },
    ],
    [
      "messages reject",
      {
        turns: [turn("user", {
          kind: "image",
          source: { type: "id", store: "anthropic", id: "file_1" },
        })],
      },
    ],
    [
      "messages report",
      {
        turns: [turn("assistant", {
          kind: "opaque",
          protocol: "messages",
          type: "server_tool_use",
          value: {},
          weight: "report",
        })],
      },
    ],
    [
      "tools report,toolChoice report",
      {
        tools: [{
          kind: "hosted",
          protocol: "messages",
          type: "web_search_20250305",
          value: {},
        }],
        toolChoice: { type: "hosted", protocol: "messages", value: {} },
      },
    ],
    [
      "toolStrictness report",
      {
        tools: [{
          kind: "function",
          name: "f",
          parameters: { type: "object", properties: { a: {} } },
          strict: true,
        }],
      },
    ],
    ["maxOutputTokens report", { maxOutputTokens: 5 }],
    ["logit_bias reject", {
      extras: { chat: { logit_bias: { value: { a: 1 }, weight: "reject" } } },
    }],
  ];
  for (const [expected, fields] of cases) {
    await t.step(`${expected} for ${JSON.stringify(fields)}`, () => {
      assert.equal(lossesOf(encode(fields).lost), expected);
    });
  }
});

Deno.test("encodeRequest() writes the settings that the target accepts", async (t) => {
  const cases: readonly (readonly [
    name: string,
    service: string,
    model: string,
    fields: Partial<CanonicalRequest>,
    expected: JsonObject,
    lost: string,
  ])[] = [
    [
      "OpenAI, a model that reasons if asked to",
      "openai",
      "gpt-5.4",
      {
        reasoning: { mode: "budget", budgetTokens: 20_000 },
        sampling: { temperature: 0.5 },
        maxOutputTokens: 900,
        user: "u".repeat(70),
        serviceTier: {
          tier: "standard",
          raw: { protocol: "messages", value: "standard_only" },
        },
      },
      {
        include: ["reasoning.encrypted_content"],
        reasoning: { effort: "high" },
        max_output_tokens: 900,
        service_tier: "default",
      },
      "temperature report",
    ],
    [
      "OpenAI, reasoning switched off",
      "openai",
      "gpt-5.4",
      { reasoning: { mode: "off" }, sampling: { temperature: 0.5 } },
      {
        include: ["reasoning.encrypted_content"],
        reasoning: { effort: "none" },
        temperature: 0.5,
      },
      "",
    ],
    [
      "OpenAI, a model that always reasons",
      "openai",
      "o3",
      { sampling: { temperature: 0.5, topP: 0.9 } },
      { include: ["reasoning.encrypted_content"] },
      "temperature report,topP report",
    ],
    [
      "OpenAI, a model that never reasons",
      "openai",
      "gpt-4.1",
      {
        sampling: { temperature: 0.5, topP: 0.9 },
        user: "u",
        metadata: { a: "b" },
        verbosity: "low",
        format: { type: "schema", schema: { type: "object" } },
      },
      {
        temperature: 0.5,
        top_p: 0.9,
        safety_identifier: "u",
        prompt_cache_key: "u",
        metadata: { a: "b" },
        text: {
          format: {
            type: "json_schema",
            name: "output",
            schema: { type: "object" },
          },
          verbosity: "low",
        },
      },
      "",
    ],
    [
      "another provider",
      "custom",
      "m",
      { user: "u", cacheKey: "k", maxOutputTokens: 5 },
      { user: "u", prompt_cache_key: "k", max_output_tokens: 5 },
      "",
    ],
    [
      "the Codex back end",
      "codex",
      "gpt-5.4",
      {
        stream: true,
        turns: [turn("system", text("Be brief."))],
        sampling: { temperature: 1, topP: 1 },
        maxOutputTokens: 900,
        user: "u",
        metadata: { a: "b" },
        serviceTier: { tier: "flex", raw: { protocol: "chat", value: "flex" } },
      },
      {
        stream: true,
        instructions: "",
        input: [says("developer", "Be brief.")],
        include: ["reasoning.encrypted_content"],
        reasoning: { summary: "auto" },
        prompt_cache_key: "u",
      },
      "temperature report,topP report,maxOutputTokens report,user report,metadata report,serviceTier report",
    ],
    [
      "the Codex back end, without reasoning and with priority",
      "codex",
      "gpt-5.4",
      {
        reasoning: { mode: "off" },
        serviceTier: {
          tier: "priority",
          raw: { protocol: "chat", value: "fast" },
        },
      },
      {
        instructions: "",
        include: ["reasoning.encrypted_content"],
        reasoning: { effort: "none" },
        service_tier: "priority",
      },
      "",
    ],
  ];
  await steps(t, cases, ([, service, model, fields, expected, losses]) => {
    const { body, lost } = encode(fields, { service, model });
    const { safety_identifier, prompt_cache_key, ...rest } = body;
    const isHashed = String(safety_identifier).length === 64;
    assert.deepEqual(
      plain(isHashed ? rest : { ...rest, safety_identifier, prompt_cache_key }),
      { model, input: [says("user", "Hi")], store: false, ...expected },
    );
    assert.equal(lossesOf(lost), losses);
  });
});

Deno.test("encodeRequest() lowers the output limit to the target's", () => {
  const { body, lost } = encode({ maxOutputTokens: 9000 }, {
    maxOutputTokens: 4096,
  });
  assert.equal(body.max_output_tokens, 4096);
  assert.equal(lossesOf(lost), "maxOutputTokens report");
});

Deno.test("encodeRequest() writes cache marks if the target accepts them", () => {
  const blocks: Block[] = [
    { kind: "text", text: "a", cache: { ttlSeconds: 300 } },
    { kind: "text", text: "b", cache: { ttlSeconds: 3600 } },
    { kind: "text", text: "c", cache: {} },
  ];
  const turns: Turn[] = [{ role: "user", blocks }];
  const marked = encode({ turns }, { model: "gpt-5.6" }).body;
  assert(Array.isArray(marked.input));
  const marks = Object(marked.input[0]).content.map((
    part: JsonObject,
  ) => part.prompt_cache_breakpoint);
  assert.deepEqual(marks, [
    { mode: "explicit", ttl: "30m" },
    { mode: "explicit", ttl: "12h" },
    { mode: "explicit" },
  ]);
  const result = toolTurn([text("1")]);
  const cached = result.blocks.map((block) => ({ ...block, cache: {} }));
  const { input } = encode({
    turns: [HELLO, callTurn("a"), { ...result, blocks: cached }],
  }, { model: "gpt-5.6" }).body;
  assert(Array.isArray(input));
  assert.deepEqual(Object(input[2]).output, [{
    type: "input_text",
    text: "1",
    prompt_cache_breakpoint: { mode: "explicit" },
  }]);
  for (const target of [{ model: "gpt-5.4" }, { service: "custom" }]) {
    assert.doesNotMatch(
      JSON.stringify(encode({ turns }, target).body),
      /breakpoint/,
    );
  }
});

Deno.test("encodeRequest() writes only the allowed tools if the target has no list of allowed tools", () => {
  const fields: Partial<CanonicalRequest> = {
    tools: [{ kind: "function", name: "a" }, { kind: "function", name: "b" }],
    toolChoice: {
      type: "allowed",
      mode: "required",
      tools: [{ kind: "function", name: "b" }],
    },
    parallelTools: false,
  };
  const { body } = encode(fields, { service: "custom" });
  assert.deepEqual(body.tools, [{
    type: "function",
    name: "b",
    parameters: { type: "object", properties: {} },
    strict: false,
  }]);
  assert.equal(body.tool_choice, "required");
  assert.equal(body.parallel_tool_calls, false);
  assert.deepEqual(encode(fields).body.tool_choice, {
    type: "allowed_tools",
    mode: "required",
    tools: [{ type: "function", name: "b" }],
  });
});

Deno.test("toolSupport() has custom tools and namespaces only for OpenAI's services", () => {
  const support = (service: string) =>
    responsesCodec.toolSupport(targetOf({ service }));
  assert.deepEqual(support("codex"), {
    custom: true,
    namespaces: true,
    maxNameLength: 64,
    letterFirst: false,
    maxTools: Infinity,
  });
  assert.deepEqual(support("custom"), {
    custom: false,
    namespaces: false,
    maxNameLength: 64,
    letterFirst: true,
    maxTools: Infinity,
  });
  assert.equal(support("xai").maxTools, 200);
});

/** Returns the item of a message of one text. */
function says(role: string, text: string): JsonObject {
  return { type: "message", role, content: [{ type: "input_text", text }] };
}

interface TargetFields {
  readonly service?: string;
  readonly model?: string;
  readonly maxOutputTokens?: number;
}

function targetOf(fields: TargetFields) {
  return {
    service: fields.service ?? "openai",
    connectionId: "connection-1",
    model: fields.model ?? "gpt-4.1",
    maxOutputTokens: fields.maxOutputTokens,
  };
}

function encode(
  fields: Partial<CanonicalRequest>,
  target: TargetFields = {},
): { body: JsonObject; lost: Loss[] } {
  const lost: Loss[] = [];
  const body = responsesCodec.encodeRequest(
    {
      model: "asked",
      stream: false,
      turns: [HELLO],
      tools: [],
      sampling: {},
      extras: {},
      ...fields,
    },
    {
      target: targetOf(target),
      reportDropped: (field, reason, weight = "report") => {
        lost.push({ field, reason, weight });
      },
    },
  );
  return { body, lost };
}

interface Loss {
  readonly field: LostField;
  readonly reason: string;
  readonly weight: LossWeight;
}

function lossesOf(lost: readonly Loss[]): string {
  return lost.map(({ field, weight }) =>
    `${typeof field === "string" ? field : field.extra} ${weight}`
  ).join(",");
}

function callTurn(id: string): Turn {
  return turn("assistant", call(id, "f", "{}"));
}

function toolTurn(content: readonly Block[], isError = false): Turn {
  return turn("tool", {
    kind: "tool_result",
    callId: "a",
    callKind: "function",
    content: content.filter((block) =>
      block.kind === "text" || block.kind === "image"
    ),
    isError,
  });
}
