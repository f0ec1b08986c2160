import assert from "node:assert/strict";
import { GatewayError } from "../../../../src/base/error.ts";
import {
  bridgeTools,
  type ToolAliases,
} from "../../../../src/codecs/canonical/tools/bridge_tools.ts";
import type { ToolSupport } from "../../../../src/codecs/canonical/codec.ts";
import type { Tool } from "../../../../src/codecs/canonical/tools/tool.ts";
import { requestOf } from "../../../support/wire/requests.ts";
import { runStage } from "../../../../src/base/stage.ts";
import { foldAnswer } from "../../../../src/codecs/canonical/answer/fold.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import {
  createCustomInput,
  restoreTools,
} from "../../../../src/codecs/canonical/tools/restore_tools.ts";
import { plain } from "../../../contract/codec_contract.ts";
import { createGrammar } from "../../../contract/grammar.ts";
import {
  callOf,
  deltaOf,
  END,
  endOf,
  START,
  startOf,
} from "../../../support/wire/events.ts";
import { call, text, turn } from "../../../support/wire/turns.ts";
import { closedSchema } from "../../../support/wire/schemas.ts";

const NOTHING: ToolSupport = {
  custom: false,
  namespaces: false,
  maxNameLength: 64,
};
const EVERYTHING: ToolSupport = {
  custom: true,
  namespaces: true,
  maxNameLength: 64,
};

const FUNCTION: Tool = {
  kind: "function",
  name: "weather",
  parameters: { type: "object" },
};
const CUSTOM: Tool = {
  kind: "custom",
  name: "patch",
  description: "Changes files",
  grammar: { syntax: "lark", definition: "start: X" },
};
const NAMESPACE: Tool = {
  kind: "namespace",
  name: "mcp__files",
  tools: [{ kind: "function", name: "read" }, {
    kind: "custom",
    name: "write",
  }],
};
const HOSTED: Tool = {
  kind: "hosted",
  protocol: "responses",
  type: "web_search",
  value: {},
};

Deno.test("bridgeTools() changes nothing that the target supports", () => {
  const request = requestOf({
    tools: [FUNCTION, CUSTOM, NAMESPACE, HOSTED],
    toolChoice: { type: "tool", tool: { kind: "custom", name: "patch" } },
    turns: [
      turn("assistant", {
        kind: "custom_call",
        id: "1",
        name: "patch",
        input: "x",
      }),
      turn("tool", {
        kind: "tool_result",
        callId: "1",
        callKind: "custom",
        content: [],
        isError: false,
      }),
    ],
  });
  const bridged = bridgeTools(request, EVERYTHING);
  assert.equal(bridged.aliases.size, 0);
  assert.deepEqual(
    JSON.parse(JSON.stringify(bridged.request)),
    JSON.parse(JSON.stringify(request)),
  );
});

Deno.test("bridgeTools() converts a custom tool to a function with one string, and describes the tool's grammar", () => {
  const { request, aliases } = bridgeTools(
    requestOf({ tools: [CUSTOM] }),
    NOTHING,
  );
  const [tool] = request.tools;
  assert.ok(tool?.kind === "function");
  assert.equal(tool.name, "patch");
  assert.equal(
    tool.description,
    "Changes files\n\nPut the raw text in `input`.\n\nThe text must match this lark grammar:\nstart: X",
  );
  assert.deepEqual(tool.parameters, closedSchema("input"));
  assert.deepEqual(aliases.get("patch"), { kind: "custom", name: "patch" });
});

Deno.test("bridgeTools() moves the tools of namespaces to the top level", () => {
  const { request, aliases } = bridgeTools(
    requestOf({ tools: [NAMESPACE, HOSTED] }),
    NOTHING,
  );
  assert.deepEqual(
    request.tools.map((tool) => "name" in tool ? tool.name : tool.kind),
    ["mcp__files__read", "mcp__files__write", "hosted"],
  );
  assert.deepEqual([...aliases], [
    ["mcp__files__read", {
      kind: "function",
      name: "read",
      namespace: "mcp__files",
    }],
    ["mcp__files__write", {
      kind: "custom",
      name: "write",
      namespace: "mcp__files",
    }],
  ]);
});

Deno.test("bridgeTools() replaces custom tools inside a namespace that the target supports", () => {
  const { request, aliases } = bridgeTools(requestOf({ tools: [NAMESPACE] }), {
    ...EVERYTHING,
    custom: false,
  });
  const [tool] = request.tools;
  assert.deepEqual(
    tool?.kind === "namespace" ? tool.tools.map(({ kind }) => kind) : [],
    ["function", "function"],
  );
  assert.deepEqual([...aliases.keys()], ["mcp__files/write"]);
});

Deno.test("bridgeTools() shortens and cleans names in the same way in tools, calls and choices", () => {
  const name = `mcp__${"x".repeat(80)}`;
  const odd = "files.read";
  const { request, aliases } = bridgeTools(
    requestOf({
      tools: [{ kind: "function", name }, { kind: "function", name: odd }],
      toolChoice: {
        type: "allowed",
        mode: "auto",
        tools: [{ kind: "function", name }],
      },
      turns: [turn("assistant", call("1", name, ""))],
    }),
    NOTHING,
  );
  const names = request.tools.map((tool) => "name" in tool ? tool.name : "");
  for (const sent of names) assert.match(sent, /^[A-Za-z0-9_-]{1,64}$/);
  assert.deepEqual(aliases.get(names[0] ?? "")?.name, name);
  assert.deepEqual(aliases.get(names[1] ?? "")?.name, odd);
  const choice = request.toolChoice;
  assert.equal(
    choice?.type === "allowed" ? choice.tools[0]?.name : "",
    names[0],
  );
  const block = request.turns[0]?.blocks[0];
  assert.equal(block?.kind === "function_call" ? block.name : "", names[0]);
});

Deno.test("bridgeTools() replaces calls and results in the history, even of tools that are no longer offered", () => {
  const { request, aliases } = bridgeTools(
    requestOf({
      turns: [
        turn("assistant", {
          kind: "custom_call",
          id: "1",
          name: "patch",
          input: 'say "hi"',
        }, {
          kind: "function_call",
          id: "2",
          name: "read",
          namespace: "mcp",
          arguments: "{}",
        }, text("so")),
        turn("tool", {
          kind: "tool_result",
          callId: "1",
          callKind: "custom",
          content: [],
          isError: false,
        }),
      ],
      toolChoice: { type: "tool", tool: { kind: "custom", name: "patch" } },
    }),
    NOTHING,
  );
  assert.equal(aliases.size, 0);
  assert.deepEqual(JSON.parse(JSON.stringify(request.turns)), [
    turn(
      "assistant",
      call("1", "patch", '{"input":"say \\"hi\\""}'),
      call("2", "mcp__read", "{}"),
      text("so"),
    ),
    turn("tool", {
      kind: "tool_result",
      callId: "1",
      callKind: "function",
      content: [],
      isError: false,
    }),
  ]);
  assert.deepEqual(JSON.parse(JSON.stringify(request.toolChoice)), {
    type: "tool",
    tool: { kind: "function", name: "patch" },
  });
});

Deno.test("bridgeTools() rejects two tools that would get the same name, and the error names both tools", () => {
  const tools: Tool[] = [
    { kind: "function", name: "a__b" },
    { kind: "namespace", name: "a", tools: [{ kind: "function", name: "b" }] },
  ];
  assert.throws(
    () => bridgeTools(requestOf({ tools }), NOTHING),
    (error) =>
      error instanceof GatewayError && error.kind === "invalid_request" &&
      error.param === "tools" &&
      error.message.includes("`a__b`") && error.message.includes("`a/b`"),
  );
});

Deno.test("bridgeTools() keeps the first of two tools with the same name, and reports a different second one", () => {
  const noted: string[] = [];
  const sent = (...tools: Tool[]) =>
    bridgeTools(requestOf({ tools }), NOTHING, (field) => noted.push(field))
      .request.tools;
  assert.deepEqual(sent(FUNCTION, { ...FUNCTION }), sent(FUNCTION));
  assert.deepEqual(noted, []);
  const other: Tool = { ...FUNCTION, description: "Another" };
  assert.deepEqual(sent(FUNCTION, other), sent(FUNCTION));
  assert.deepEqual(noted, ["tools"]);
});

const ALIASES: ToolAliases = new Map([
  ["mcp__read", { kind: "function", name: "read", namespace: "mcp" }],
  ["patch", { kind: "custom", name: "patch" }],
]);

const EVENTS: readonly AnswerEvent[] = [
  START,
  startOf(0),
  deltaOf(0, "so"),
  endOf(0),
  callOf(1, "mcp__read"),
  callOf(2, "patch"),
  callOf(3, "weather"),
  deltaOf(2, '{"inp'),
  deltaOf(1, "{}"),
  deltaOf(2, 'ut":"a\\'),
  deltaOf(2, 'nb"}'),
  deltaOf(3, "{}"),
  endOf(1),
  endOf(2),
  endOf(3),
  END,
];

const RESTORED = [
  text("so"),
  {
    kind: "function_call",
    id: "id-mcp__read",
    name: "read",
    namespace: "mcp",
    arguments: "{}",
  },
  { kind: "custom_call", id: "id-patch", name: "patch", input: "a\nb" },
  call("id-weather", "weather", "{}"),
];

Deno.test("restoreTools() restores the namespace, kind and input of calls, in the order of the grammar", () => {
  const events = runStage(
    createGrammar(),
    runStage(restoreTools(ALIASES), EVENTS),
  );
  assert.deepEqual(plain(foldAnswer(events).blocks), RESTORED);
});

Deno.test("restoreTools() emits arguments that have no `input` at the end of the call", () => {
  const events = runStage(restoreTools(ALIASES), [
    START,
    callOf(0, "patch"),
    deltaOf(0, "raw"),
    endOf(0),
    END,
  ]);
  assert.deepEqual(events.slice(2), [deltaOf(0, "raw"), endOf(0), END]);
});

function read(text: string, size: number): string {
  const input = createCustomInput();
  let read = "";
  for (let from = 0; from < text.length; from += size) {
    read += input.push(text.slice(from, from + size));
  }
  return read + input.end();
}

Deno.test("restoreTools() reads a custom tool's input, however the arguments are split", async (t) => {
  const inputs: Record<string, [text: string, input: string]> = {
    "plain": ['{"input":"hello"}', "hello"],
    "with spaces": [' {\n "input" : "hello" } ', "hello"],
    "with escapes": [
      JSON.stringify({ input: 'a\n\t"b"\\ \u2028 é 👋 \u0007' }),
      'a\n\t"b"\\ \u2028 é 👋 \u0007',
    ],
    "with escaped surrogates": ['{"input":"\\ud83d\\udc4b"}', "👋"],
    "empty": ['{"input":""}', ""],
    "after another key": ['{"other":1,"input":"hello"}', "hello"],
    "before another key": ['{"input":"hello","other":1}', "hello"],
    "that is not a text": ['{"input":7}', '{"input":7}'],
    "as bare text": ["*** Begin Patch", "*** Begin Patch"],
    "as long bare text": ["x".repeat(500), "x".repeat(500)],
    "in empty arguments": ["", ""],
    "with an invalid escape": ['{"input":"a\\uZZZZb"}', "auZZZZb"],
    "without its end": ['{"input":"abc', "abc"],
  };
  for (const [name, [text, input]] of Object.entries(inputs)) {
    for (const size of [1, 3, 1000]) {
      await t.step(
        `${name}, in pieces of ${size}`,
        () => assert.equal(read(text, size), input),
      );
    }
  }
});

Deno.test("restoreTools() streams a custom tool's input", () => {
  const input = createCustomInput();
  assert.equal(input.push('{"input":"ab'), "ab");
  assert.equal(input.push("c\\"), "c");
  assert.equal(input.push("nd"), "\nd");
  assert.equal(input.push('"}'), "");
  assert.equal(input.end(), "");
});
