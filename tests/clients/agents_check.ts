import assert from "node:assert/strict";
import type { Protocol } from "../../src/base/protocol.ts";
import {
  type CheckedClient,
  clientNamed,
  runBehind,
  testsOf,
} from "./checked_client.ts";
import { type ClientProgram, CLIENTS } from "./programs.ts";
import {
  type Spoil,
  startTranslating,
  UNKNOWN_MODEL,
  type Upstream,
  UPSTREAMS,
  upstreamsFor,
} from "./upstreams.ts";

// Further actions of agents: tasks for sub-agents, searches for tools, and pictures. Each must reach a model whose
// provider speaks another protocol. `deno task test:clients` runs this; `deno task test` does not.

/** The task of a sub-agent. */
const TASK = "Say hello from the worker";

/** A file in the working folder of a client. */
const PICTURE = "picture.png";

/** An action of an agent, with the client's own tool. */
interface Action {
  readonly name: "sub-agent" | "tool search" | "picture";
  /** The clients with this tool. */
  readonly clients: RegExp;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** A model whose name the client knows; default: a name that no client knows. */
  readonly model?: string;
  /** Replaces a part of a settings file, by its path. */
  readonly settings?: readonly [file: string, from: string, to: string];
  /** Returns true for the request to the provider that proves the action. */
  readonly proof: (body: string, endpoint: Protocol) => boolean;
}

/** A sub-agent for {@linkcode TASK}, as two clients describe it. */
const WORKER = {
  description: "Say hello",
  prompt: TASK,
  subagent_type: "general-purpose",
  run_in_background: false,
};

const ACTIONS: readonly Action[] = [
  {
    name: "sub-agent",
    clients: /^Claude Code/,
    tool: "Agent",
    input: WORKER,
    proof: asksTask,
  },
  {
    name: "sub-agent",
    clients: /^opencode/,
    tool: "task",
    input: { description: "Say hello", prompt: TASK, subagent_type: "general" },
    proof: asksTask,
  },
  {
    name: "sub-agent",
    clients: /^Qwen Code/,
    tool: "agent",
    input: WORKER,
    proof: asksTask,
  },
  {
    name: "sub-agent",
    clients: /^Codex CLI/,
    tool: "multi_agent_v1__spawn_agent",
    input: { message: TASK },
    proof: asksTask,
  },
  {
    // Its task is an item of its own type: https://github.com/openai/codex/issues/33551
    name: "sub-agent",
    clients: /^Codex CLI/,
    tool: "collaboration__spawn_agent",
    input: { task_name: "worker", message: TASK },
    settings: [
      ".codex/config.toml",
      "[features]",
      "[features]\nmulti_agent_v2 = true",
    ],
    proof: (body) =>
      new RegExp(`Sender: /root\\\\nPayload:(?:\\\\n)+${TASK}"`).test(body),
  },
  {
    name: "tool search",
    clients: /^Claude Code/,
    tool: "ToolSearch",
    input: { query: "select:WebFetch", max_results: 5 },
    model: "claude-opus-4-8",
    proof: (body) => offers(body, "WebFetch"),
  },
  {
    name: "tool search",
    clients: /^Codex CLI/,
    tool: "tool_search",
    input: { query: "spawn agent" },
    model: "gpt-5.5",
    proof: (body) => offers(body, "multi_agent_v1__spawn_agent"),
  },
  {
    name: "picture",
    clients: /^Claude Code/,
    tool: "Read",
    input: { file_path: `{work}/${PICTURE}` },
    proof: holdsPicture,
  },
  {
    // In Chat Completions, it drops the picture of a tool result.
    name: "picture",
    clients: /^opencode over (?:messages|responses)/,
    tool: "read",
    input: { filePath: `{work}/${PICTURE}` },
    proof: holdsPicture,
  },
  {
    name: "picture",
    clients: /^Qwen Code/,
    tool: "read_file",
    input: { file_path: `{work}/${PICTURE}` },
    // It decides by the model's name whether the model accepts images.
    model: "gpt-4o",
    proof: holdsPicture,
  },
  {
    name: "picture",
    clients: /^Codex CLI/,
    tool: "view_image",
    input: { path: `{work}/${PICTURE}`, detail: "original" },
    model: "gpt-5.5",
    proof: (body, endpoint) =>
      holdsPicture(body, endpoint) &&
      (endpoint !== "chat" || body.includes('"detail":"high"')),
  },
];

for (const program of CLIENTS) {
  const test = await testsOf(program);
  for (
    const action of ACTIONS.filter(({ clients }) => clients.test(program.name))
  ) {
    for (const upstream of upstreamsFor(program)) {
      test(
        `uses a ${action.name} (${action.tool}) with a model whose provider speaks only ${upstream.endpoint}`,
        (command) => check(upstream, { program, command, action }),
      );
    }
  }
}

const claude = clientNamed("Claude Code");

(await testsOf(claude))(
  "searches the web with a model whose provider searches in Responses",
  async (command) => {
    const upstream = UPSTREAMS.find(({ endpoint }) => endpoint === "responses");
    assert.ok(upstream !== undefined);
    const isSearch = (body: string) => body.includes('"type":"web_search"');
    const bodies: string[] = [];
    await using gateway = await startTranslating(upstream, {
      connection: { service: "openai", family: undefined },
      spoil: (answer, { body }) => {
        bodies.push(body);
        return Promise.resolve(isSearch(body) ? foundPage() : answer);
      },
    });
    const run = await runBehind(gateway, {
      command,
      program: {
        launch(prompt, options) {
          const launch = claude.launch(prompt, options);
          // Else it must first search for the tool.
          return { ...launch, env: { ...launch.env, ENABLE_TOOL_SEARCH: "0" } };
        },
      },
      prompt: 'Use WebSearch with {"query":"the weather"}',
    });
    const { output } = run;
    assert.equal(run.code, 0, output);
    assert.equal(bodies.filter(isSearch).length, 1, output);
    assert.match(
      bodies.at(-1) ?? "",
      /Links: \[\{[^\]]*https:\/\/weather\.example\/today[^\]]*\}\][^]*It is sunny/,
    );
  },
);

/** Returns a Responses answer with a search, as OpenAI streams it. */
function foundPage(): Response {
  const search = {
    id: "ws_1",
    type: "web_search_call",
    status: "completed",
    action: {
      type: "search",
      query: "the weather",
      sources: [{ type: "url", url: "https://weather.example/today" }],
    },
  };
  const text = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "It is sunny.", annotations: [] }],
  };
  const response = { id: "resp_1", object: "response", model: "demo-c" };
  const events: readonly Readonly<Record<string, unknown>>[] = [
    { type: "response.created", response: { ...response, output: [] } },
    ...[search, text].map((item, output_index) => ({
      type: "response.output_item.done",
      output_index,
      item,
    })),
    {
      type: "response.completed",
      response: {
        ...response,
        status: "completed",
        output: [search, text],
        usage: { input_tokens: 9, output_tokens: 9, total_tokens: 18 },
      },
    },
  ];
  const frames = events.map((event) =>
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  );
  return new Response(frames.join(""), {
    headers: { "content-type": "text/event-stream" },
  });
}

/** The demo quotes the tool's result, or the note that Codex adds when a sub-agent is done. */
const ANSWERED = /The tool \w+ returned: |You said: "<subagent_notification>/;

/** The longest delay of an answer until the provider has received the proof, in milliseconds. */
const STARTUP_GRACE_MS = 20_000;

async function check(
  upstream: Upstream,
  { program, command, action }: CheckedClient & { readonly action: Action },
): Promise<void> {
  const { tool, input, settings, model = UNKNOWN_MODEL } = action;
  const proven = Promise.withResolvers<void>();
  let isProven = false;
  const bodies: string[] = [];
  // A client may end its run before the request of a parallel sub-agent.
  const hold: Spoil = async (answer, { body }) => {
    if (action.proof(body, upstream.endpoint)) {
      isProven = true;
      proven.resolve();
    }
    bodies.push(body);
    const isAside = action.name === "sub-agent" && isFollowUp(body);
    if (!isProven && isAside) await within(proven.promise);
    return answer;
  };
  await using gateway = await startTranslating(upstream, {
    model,
    fields: { input: ["text", "image"] },
    spoil: hold,
  });
  const run = await runBehind(gateway, {
    command,
    model,
    program: settings === undefined ? program : changed(program, settings),
    prompt: `Use ${tool} with ${JSON.stringify(input)}`,
    work: { [PICTURE]: PIXELS },
  });
  proven.resolve();
  const { output } = run;
  assert.equal(run.code, 0, output);
  assert.match(run.stdout, ANSWERED, output);
  assert.ok(isProven, `${output}\n${bodies.map(ends).join("\n")}`);
  for (const line of gateway.lines.requests.items) {
    assert.ok(Number(line.status) < 400, JSON.stringify(line));
  }
}

/** Returns the same client with other settings. */
function changed(
  program: ClientProgram,
  [file, from, to]: NonNullable<Action["settings"]>,
): ClientProgram {
  return {
    ...program,
    launch(prompt, options) {
      const launch = program.launch(prompt, options);
      const text = launch.files[file] ?? "";
      assert.ok(text.includes(from), text);
      return {
        ...launch,
        files: { ...launch.files, [file]: text.replace(from, to) },
      };
    },
  };
}

/** Returns true when the request contains the result of a tool. */
function isFollowUp(body: string): boolean {
  return /"role":"tool"|"tool_result"|"function_call_output"/.test(body);
}

async function within(promise: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, STARTUP_GRACE_MS);
  await Promise.race([promise, late.promise]);
  clearTimeout(timer);
}

/** Returns true when the task is a separate text, outside the prompt that requests the tool. */
function asksTask(body: string): boolean {
  return new RegExp(`(?:"|\\\\n)${TASK}(?:"|\\\\n)`).test(body);
}

/** Returns true when the request offers the tool. */
function offers(body: string, tool: string): boolean {
  return body.includes(`"name":"${tool}"`);
}

/** Returns true when the request contains a picture in the form of its protocol. */
function holdsPicture(body: string, endpoint: Protocol): boolean {
  switch (endpoint) {
    case "chat":
      return /"type":"image_url","image_url":\{"url":"data:image\/\w+;base64,/
        .test(body);
    case "messages":
      return /"type":"image","source":\{"type":"base64","media_type":"image\/\w+"/
        .test(body);
    case "responses":
      return /"type":"input_image"[^}]*"image_url":"data:image\/\w+;base64,/
        .test(body);
  }
}

/** Shortens a request that proves nothing, for the error. */
function ends(body: string): string {
  return body.slice(-1000);
}

/** A picture of one pixel. */
const PIXELS = Uint8Array.from(
  atob(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  ),
  (character) => character.charCodeAt(0),
);
