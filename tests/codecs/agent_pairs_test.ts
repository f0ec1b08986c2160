import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { Answer } from "../../src/codecs/canonical/answer/answer.ts";
import { foldAnswer } from "../../src/codecs/canonical/answer/fold.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { formatFrame } from "../../src/base/streams/sse.ts";
import {
  answerContext,
  counterIds,
  decodeBytes,
  encodeStream,
} from "../contract/codec_contract.ts";
import { STREAMED } from "../support/dialects/pairs.ts";
import {
  received,
  type UpstreamRequest,
} from "../support/dialects/upstream_request.ts";
import { testNeeding } from "../support/ignored.ts";
import { loadRecordings } from "../support/recorded/recordings.ts";
import { messageOfSdk } from "../support/sdk/sdk_answers.ts";
import { fromModel, fromUser, textPart } from "../support/wire/messages.ts";
import { steps } from "../support/steps.ts";

// The rules that only two pairs need: Codex with models of Messages, and Claude Code with models of Responses.

/** Returns Claude's request for a Responses request. */
function onClaude(
  body: JsonObject,
  model = "claude-opus-4-8",
): UpstreamRequest {
  return received("responses", `messages anthropic ${model}`, {
    input: "Hello",
    ...body,
  });
}

/** Returns OpenAI's request for a Messages request. */
function onOpenAi(
  fields: JsonObject,
  { service = "openai", model = "gpt-5.6" } = {},
): UpstreamRequest {
  return received("messages", `responses ${service} ${model}`, fields);
}

/** Returns the objects of a list in a request. */
function listOf(value: unknown): JsonObject[] {
  assert.ok(Array.isArray(value), JSON.stringify(value));
  return value.filter(isJsonObject);
}

function marksIn(value: unknown): number {
  return JSON.stringify(value).split('"cache_control":').length - 1;
}

Deno.test("a Responses request with a cache key gets Claude's cache marks on the system text and the last two user messages", () => {
  const call = (id: string) => [
    { type: "function_call", call_id: id, name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: id, output: "done" },
  ];
  const input = [fromUser("Go"), ...call("a"), ...call("b")];
  const keyed = { instructions: "Be brief", prompt_cache_key: "k", input };
  const { body, dropped } = onClaude(keyed);
  assert.deepEqual(dropped, []);
  const messages = listOf(body.messages);
  assert.deepEqual(messages.map(marksIn), [0, 0, 1, 0, 1]);
  assert.equal(marksIn(body.system), 1);
  assert.equal(marksIn(body), 3);
  // Without a key, the caller requests no cache. Its writes would cost more than plain input.
  assert.equal(marksIn(onClaude({ ...keyed, prompt_cache_key: null }).body), 0);
});

Deno.test("the gateway adds no cache marks for Claude to a Responses request that has some", () => {
  const { body } = onClaude({
    instructions: "Be brief",
    prompt_cache_key: "k",
    input: [fromUser([
      {
        type: "input_text",
        text: "A long document",
        prompt_cache_breakpoint: { mode: "explicit" },
      },
      { type: "input_text", text: "Go" },
    ])],
  });
  assert.equal(marksIn(body), 1);
  assert.equal(body.system === undefined || marksIn(body.system) === 0, true);
});

const SEARCH = { type: "web_search_20250305", name: "web_search", max_uses: 8 };

Deno.test("Claude Code's web search becomes the web search of a Responses provider", () => {
  const asked = {
    tools: [{
      ...SEARCH,
      allowed_domains: ["example.com"],
      user_location: { type: "approximate", city: "Berlin" },
    }],
    tool_choice: { type: "tool", name: "web_search" },
  };
  const { body, dropped } = onOpenAi(asked);
  assert.deepEqual(dropped, []);
  assert.deepEqual(body.tools, [{
    type: "web_search",
    filters: { allowed_domains: ["example.com"] },
    user_location: { type: "approximate", city: "Berlin" },
  }]);
  assert.deepEqual(body.tool_choice, { type: "web_search" });
  assert.equal(body.max_tool_calls, 8);
  assert.deepEqual(body.include, [
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
  ]);
  // The back end of Codex subscriptions accepts no limits, and only the `include` that Codex sends.
  const codex = onOpenAi(asked, { service: "codex" }).body;
  assert.equal(codex.max_tool_calls, undefined);
  assert.deepEqual(codex.include, ["reasoning.encrypted_content"]);
});

Deno.test("a web search is named as dropped if a Responses provider lacks the search or one of its settings", () => {
  const azure = onOpenAi({ tools: [SEARCH] }, { service: "azure" });
  assert.equal(azure.body.tools, undefined);
  assert.equal(azure.body.max_tool_calls, undefined);
  assert.deepEqual(azure.dropped, ["tools"]);
  const blocking = { ...SEARCH, blocked_domains: ["example.com"] };
  assert.deepEqual(onOpenAi({ tools: [blocking] }).dropped, [
    "tools.blocked_domains",
  ]);
  const fetching = { type: "web_fetch_20250910", name: "web_fetch" };
  assert.deepEqual(onOpenAi({ tools: [fetching] }).dropped, ["tools"]);
});

const searching = loadRecordings("responses").filter(({ stream }) =>
  stream !== undefined &&
  new TextDecoder().decode(stream).includes('"type":"web_search_call"')
);

testNeeding(
  "recorded searches of Responses models reach Messages callers as calls with results, in JSON and in a stream",
  searching.length === 0 && "there are no recordings here",
  async (t) => {
    await steps(t, searching, async ({ stream = new Uint8Array() }) => {
      const answer = foldAnswer(decodeBytes(CODECS.responses, stream));
      const queries = answer.blocks.flatMap((block) =>
        block.kind === "opaque" && block.search !== undefined
          ? [block.search.query]
          : []
      );
      assert.ok(queries.length > 0);
      const request = CODECS.messages.decodeRequest(STREAMED.messages);
      const frames = encodeStream(CODECS.messages, answer, request);
      const streamed = await messageOfSdk(frames.map(formatFrame).join(""));
      const whole = CODECS.messages.encodeAnswer(
        answer,
        answerContext(request),
      );
      assert.deepEqual(streamed.content, whole.content);
      const calls = listOf(whole.content).filter(({ type }) =>
        type === "server_tool_use"
      );
      assert.deepEqual(
        calls.map(({ input }) => input),
        queries.map((query) => ({ query })),
      );
      const results = listOf(whole.content).filter(({ type }) =>
        type === "web_search_tool_result"
      );
      assert.deepEqual(
        results.map(({ tool_use_id }) => tool_use_id),
        calls.map(({ id }) => id),
      );
      const { usage } = streamed;
      assert.deepEqual(usage.server_tool_use, {
        web_search_requests: queries.length,
      });
      assert.deepEqual(whole.usage, usage);
      assert.equal(streamed.stop_reason, "end_turn");
    });
  },
);

Deno.test("Codex's web search is dropped for Claude and named, and an earlier search becomes text", () => {
  const search = {
    type: "web_search_call",
    status: "completed",
    action: { type: "search", query: "the weather" },
  };
  const { body, dropped } = onClaude({
    tools: [{ type: "web_search", external_web_access: true }],
    input: [fromUser("Go"), search, fromModel("Sunny"), fromUser("Thanks")],
  });
  assert.deepEqual(dropped, ["tools"]);
  assert.equal(body.tools, undefined);
  assert.match(
    JSON.stringify(body.messages),
    /searched the web for: the weather/,
  );
});

Deno.test("a refusal or a full context of Claude reaches Codex as a failure, and other callers as an incomplete answer", () => {
  const endOf = (stop: Answer["stop"], fields: JsonObject) => {
    const answer: Answer = { id: "msg_1", model: "m", blocks: [], stop };
    const request = CODECS.responses.decodeRequest({
      ...STREAMED.responses,
      ...fields,
    });
    const [frame] = encodeStream(CODECS.responses, answer, request).slice(-1);
    const { type, response } = JSON.parse(frame?.data ?? "");
    const reason = response.incomplete_details?.reason;
    return [type, reason ?? response.error.code, response.error?.message];
  };
  const codex = { client_metadata: { session_id: "s" } };
  const explanation = "This request was declined.";
  const refused = { reason: "filtered", explanation } as const;
  const full = { reason: "context_full" } as const;
  const cut = { reason: "max_tokens" } as const;
  assert.deepEqual(endOf(refused, codex), [
    "response.failed",
    "invalid_prompt",
    explanation,
  ]);
  assert.deepEqual(endOf(full, codex).slice(0, 2), [
    "response.failed",
    "context_length_exceeded",
  ]);
  const incomplete = "response.incomplete";
  assert.deepEqual(endOf(cut, codex), [
    incomplete,
    "max_output_tokens",
    undefined,
  ]);
  assert.deepEqual(endOf(refused, {}), [
    incomplete,
    "content_filter",
    undefined,
  ]);
  assert.deepEqual(endOf(full, {}), [
    incomplete,
    "max_output_tokens",
    undefined,
  ]);
});

Deno.test("Claude Code's thinking settings become OpenAI's efforts, and visible thinking requests a summary", () => {
  const rows: readonly (readonly [JsonObject, JsonObject | undefined])[] = [
    [{ thinking: { type: "disabled" } }, { effort: "none" }],
    [{ thinking: { type: "adaptive" } }, { effort: "medium" }],
    [{ thinking: { type: "enabled", budget_tokens: 1024 } }, { effort: "low" }],
    [{ thinking: { type: "enabled", budget_tokens: 31_999 } }, {
      effort: "high",
    }],
    [{
      thinking: { type: "adaptive", display: "omitted" },
      output_config: { effort: "max" },
    }, { effort: "max" }],
    [{
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "xhigh" },
    }, { effort: "xhigh", summary: "auto" }],
    [{}, undefined],
  ];
  for (const [fields, reasoning] of rows) {
    const { body, dropped } = onOpenAi(fields);
    assert.deepEqual(body.reasoning, reasoning, JSON.stringify(fields));
    assert.deepEqual(dropped, []);
  }
});

Deno.test("Codex's efforts become Claude's efforts, or budgets for an older Claude", () => {
  for (const effort of ["low", "medium", "high", "xhigh", "max"]) {
    const { body } = onClaude({ reasoning: { effort, summary: "auto" } });
    assert.deepEqual(body.output_config, { effort });
    assert.deepEqual(body.thinking, {
      type: "adaptive",
      display: "summarized",
    });
  }
  const budgets = ["low", "medium", "high"].map((effort) => {
    const { thinking } = onClaude({ reasoning: { effort } }, "claude-haiku-4-5")
      .body;
    assert.ok(isJsonObject(thinking));
    assert.equal(thinking.type, "enabled");
    return Number(thinking.budget_tokens);
  });
  assert.deepEqual(budgets, [...budgets].sort((one, other) => one - other));
  const off = onClaude({ reasoning: { effort: "none" } });
  assert.deepEqual(off.body.thinking, { type: "disabled" });
});

Deno.test("Claude Code's cache marks become OpenAI's if the model accepts them, and Claude Code's session the cache key", () => {
  const mark = { type: "ephemeral" };
  const asked = {
    system: [{ type: "text", text: "Be brief", cache_control: mark }],
    messages: [fromUser([{ type: "text", text: "Hi", cache_control: mark }])],
    metadata: { user_id: JSON.stringify({ session_id: "session-1" }) },
  };
  const { body, dropped } = onOpenAi(asked);
  assert.deepEqual(dropped, []);
  assert.equal(body.prompt_cache_key, "session-1");
  const marks = JSON.stringify(body.input).split("prompt_cache_breakpoint");
  assert.equal(marks.length - 1, 2);
  const earlier = onOpenAi(asked, { model: "gpt-5.2" });
  assert.deepEqual(earlier.dropped, ["cache_control"]);
  assert.equal(earlier.body.prompt_cache_key, "session-1");
  assert.ok(!JSON.stringify(earlier.body).includes("breakpoint"));
});

Deno.test("blocks of Claude's MCP connector become text for OpenAI, and `mcp_servers` is rejected by name", () => {
  const { body, dropped } = onOpenAi({
    messages: [
      fromUser("Go"),
      fromModel([
        {
          type: "mcp_tool_use",
          id: "mcptoolu_1",
          name: "echo",
          server_name: "s",
          input: { a: 1 },
        },
        {
          type: "mcp_tool_result",
          tool_use_id: "mcptoolu_1",
          is_error: false,
          content: [textPart("hello")],
        },
      ]),
      fromUser("On"),
    ],
  });
  assert.deepEqual(dropped, []);
  assert.match(
    JSON.stringify(body.input),
    /called echo with .*mcp_tool_result\]\\nhello/,
  );
  const servers = [{ type: "url", url: "https://mcp.example", name: "s" }];
  assert.throws(() => onOpenAi({ mcp_servers: servers }), /`mcp_servers`/);
});

Deno.test("cached, written and reasoning tokens reach the caller of the other protocol", () => {
  const text = [textPart("Hi")];
  const fromClaude = CODECS.messages.decodeAnswer({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: text,
    stop_reason: "end_turn",
    usage: {
      input_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 50,
      output_tokens: 40,
      output_tokens_details: { thinking_tokens: 5 },
    },
  }, counterIds());
  const codex = CODECS.responses.encodeAnswer(
    fromClaude,
    answerContext(CODECS.responses.decodeRequest(STREAMED.responses)),
  );
  const usage = {
    input_tokens: 160,
    input_tokens_details: { cached_tokens: 100, cache_write_tokens: 50 },
    output_tokens: 40,
    output_tokens_details: { reasoning_tokens: 5 },
    total_tokens: 200,
  };
  assert.deepEqual(codex.usage, usage);
  const fromOpenAi = CODECS.responses.decodeAnswer({
    id: "resp_1",
    object: "response",
    status: "completed",
    model: "m",
    output: [{
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Hi" }],
    }],
    usage,
  }, counterIds());
  const claude = CODECS.messages.encodeAnswer(
    fromOpenAi,
    answerContext(CODECS.messages.decodeRequest(STREAMED.messages)),
  );
  assert.deepEqual(claude.usage, {
    input_tokens: 10,
    cache_read_input_tokens: 100,
    cache_creation_input_tokens: 50,
    output_tokens: 40,
    output_tokens_details: { thinking_tokens: 5 },
  });
});

Deno.test("Codex gets Claude's summary as one compaction item, and Claude gets the item as text in the next request", () => {
  const trigger = { type: "compaction_trigger" };
  const input = [fromUser("Go"), trigger];
  const { body, dropped } = onClaude({ input });
  assert.deepEqual(dropped, []);
  assert.match(JSON.stringify(body.messages), /Write a summary/);
  const request = CODECS.responses.decodeRequest({
    ...STREAMED.responses,
    input,
  });
  const answer: Answer = {
    id: "msg_1",
    model: "m",
    blocks: [
      {
        kind: "reasoning",
        parts: [{ form: "raw", text: "Hm" }],
        sealed: { protocol: "messages", form: "signature", value: "s" },
      },
      { kind: "text", text: "All is done." },
    ],
    stop: { reason: "end" },
  };
  const { output } = CODECS.responses.encodeAnswer(
    answer,
    answerContext(request),
  );
  const items = listOf(output);
  assert.deepEqual(items.map(({ type }) => type), ["compaction"]);
  const next = onClaude({ input: [...items, fromUser("On")] });
  assert.deepEqual(next.dropped, []);
  assert.match(JSON.stringify(next.body.messages), /All is done\./);
  // OpenAI's own item is encrypted. The conversation cannot continue without it.
  const foreign = { type: "compaction", encrypted_content: "gAAAAA" };
  assert.throws(() => onClaude({ input: [foreign] }), /`compaction`/);
});
