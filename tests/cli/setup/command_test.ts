import assert from "node:assert/strict";
import { parse as parseYaml } from "@std/yaml/parse";
import { runSetup } from "../../../src/cli/setup/command.ts";
import { CLIENTS } from "../../../src/http/wording/settings.js";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";

const TOKEN = "mg_secret-of-alice";

const MODELS = {
  data: [
    {
      id: "everywhere",
      display_name: "Every Where",
      protocols: ["chat", "messages", "responses"],
      context_length: 200_000,
      max_output_tokens: 32_000,
    },
    { id: "it's/chat only", protocols: ["chat"] },
    { id: "claude-x", protocols: ["messages"] },
    { id: "gpt-x", protocols: ["responses"] },
    { id: "evil\u001b[2J", protocols: ["chat", "messages", "responses"] },
  ],
};

interface Run {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly answer?: () => Response | Promise<Response>;
}

async function setup({ args, env, answer }: Run) {
  const io = createMemoryIo({ MODEL_GATEWAY_TOKEN: TOKEN, ...env });
  const asked: Request[] = [];
  const code = await runSetup(args, {
    ...io,
    fetch: async (input, init) => {
      asked.push(new Request(input, init));
      return await (answer ?? (() => Response.json(MODELS)))();
    },
    deadline: () => new AbortController().signal,
  });
  const [out, error] = [io.written(), io.complained()];
  assert.ok(!(out + error).includes(TOKEN), out + error);
  return { code, out, error, asked };
}

Deno.test("setup lists every client that it knows, and asks nobody", async () => {
  const { code, out, asked } = await setup({ args: [] });
  assert.equal(code, 0);
  assert.deepEqual(
    out.trim().split("\n").map((line) => line.split(/ {2,}/)),
    CLIENTS.map(({ id, name }) => [id, name]),
  );
  assert.deepEqual(asked, []);
});

Deno.test("setup prints for every client the text alone that the page shows, and says beside it where it belongs", async (t) => {
  for (const { id, settings, protocols, readsEnvironment } of CLIENTS) {
    await t.step(id, async () => {
      const url = "https://gw.test/api/v1";
      const { code, out, error } = await setup({ args: [id, "--url", url] });
      assert.equal(code, 0, error);
      assert.match(out, /everywhere/);
      assert.match(out, /https:\/\/gw\.test\/api/);
      assert.doesNotMatch(out, /evil|YOUR_TOKEN/);
      const { title } = settings({ base: "", model: "", models: [] });
      assert.ok(error.startsWith(`# ${title}\n`), error);
      assert.equal(error.includes("YOUR_TOKEN"), !readsEnvironment, error);
      assert.equal(
        out.includes("chat only"),
        protocols.includes("chat") && listsAll(id),
      );
    });
  }
});

/** Whether the settings of a client name all models rather than the first. */
function listsAll(id: string): boolean {
  return ["opencode", "qwen", "continue", "vscode", "zed"].includes(id);
}

Deno.test("what setup prints for a file in JSON or YAML can be piped into it", async (t) => {
  for (
    const id of ["claude", "opencode", "qwen", "continue", "vscode", "zed"]
  ) {
    await t.step(id, async () => {
      const { out } = await setup({ args: [id] });
      const parsed = id === "continue" ? parseYaml(out) : JSON.parse(out);
      assert.equal(typeof parsed, "object");
    });
  }
});

/** A model of each family, as the gateway lists them, and one of a gateway that names no native protocols. */
const FAMILIES = {
  data: [
    {
      id: "claude",
      protocols: ["chat", "messages"],
      native_protocols: ["messages"],
      architecture: { input_modalities: ["text", "image"] },
    },
    {
      id: "gpt",
      protocols: ["chat", "responses"],
      native_protocols: ["responses"],
      architecture: { input_modalities: ["text"] },
    },
    {
      id: "glm",
      protocols: ["chat", "messages", "responses"],
      native_protocols: ["chat", "messages"],
      architecture: "odd",
    },
    { id: "older", protocols: ["messages", "chat"] },
  ],
};

async function setupFamilies(args: readonly string[]): Promise<string> {
  const { out } = await setup({ args, answer: () => Response.json(FAMILIES) });
  return out;
}

Deno.test("setup gives opencode the package of each model's native protocol", async () => {
  const { provider } = JSON.parse(await setupFamilies(["opencode"]));
  const { npm, models } = provider.gateway;
  assert.deepEqual(
    Object.keys(models).map((id) => [id, models[id].provider?.npm ?? npm]),
    [
      ["claude", "@ai-sdk/anthropic"],
      ["gpt", "@ai-sdk/openai"],
      ["glm", "@ai-sdk/openai-compatible"],
      ["older", "@ai-sdk/openai-compatible"],
    ],
  );
});

Deno.test("setup gives VS Code the native protocol of each model, and whether it sees", async () => {
  const [{ models }] = JSON.parse(await setupFamilies(["vscode"]));
  const base = "http://127.0.0.1:8787/v1";
  assert.deepEqual(
    models.map((one: Record<string, unknown>) => [
      one.id,
      one.apiType,
      one.url,
      one.vision,
    ]),
    [
      ["claude", "messages", `${base}/messages`, true],
      ["gpt", "responses", `${base}/responses`, false],
      ["glm", "chat-completions", `${base}/chat/completions`, false],
      ["older", "chat-completions", `${base}/chat/completions`, false],
    ],
  );
});

Deno.test("setup gives Zed a provider for Messages beside the one for Chat and Responses, and whether a model sees", async () => {
  const { language_models: providers, agent } = JSON.parse(
    await setupFamilies(["zed"]),
  );
  const { "Model Gateway": openai } = providers.openai_compatible;
  const { "Model Gateway Messages": messages } = providers.anthropic_compatible;
  assert.equal(openai.api_url, "http://127.0.0.1:8787/v1");
  assert.equal(messages.api_url, "http://127.0.0.1:8787");
  assert.deepEqual(
    openai.available_models.map((
      { name, capabilities }: Record<string, Record<string, unknown>>,
    ) => [name, capabilities?.chat_completions, capabilities?.images]),
    [["gpt", false, false], ["glm", true, false], ["older", true, false]],
  );
  const [{ name, capabilities }, ...others] = messages.available_models;
  assert.deepEqual([name, capabilities.images, others], ["claude", true, []]);
  assert.deepEqual(agent.default_model, {
    provider: "Model Gateway Messages",
    model: "claude",
  });
});

Deno.test("setup names in Zed's settings no provider without models", async () => {
  const { language_models: providers, agent } = JSON.parse(
    (await setup({ args: ["zed", "--model", "everywhere"] })).out,
  );
  assert.deepEqual(Object.keys(providers), [
    "openai_compatible",
    "anthropic_compatible",
  ]);
  assert.equal(agent.default_model.provider, "Model Gateway");
  const { out } = await setup({
    args: ["zed", "--model", "x"],
    env: { MODEL_GATEWAY_TOKEN: "" },
  });
  assert.deepEqual(Object.keys(JSON.parse(out).language_models), [
    "openai_compatible",
  ]);
});

Deno.test("setup gives Continue the models that take images", async () => {
  const { out } = await setup({
    args: ["continue"],
    answer: () => Response.json(FAMILIES),
  });
  assert.deepEqual(out.match(/capabilities: .*/g), [
    "capabilities: [tool_use, image_input]",
    "capabilities: [tool_use]",
    "capabilities: [tool_use]",
    "capabilities: [tool_use]",
  ]);
});

Deno.test("setup gives Codex the catalog, whatever the models are called", async () => {
  for (const model of ["gpt-x", "everywhere"]) {
    const { out } = await setup({ args: ["codex", "--model", model] });
    assert.match(
      out,
      /^model_catalog_url = "http:\/\/127\.0\.0\.1:8787\/v1\/models"$/m,
    );
  }
});

Deno.test("setup begins with the model that is named, and offers the others behind it", async () => {
  const { out } = await setup({ args: ["claude", "--model", "claude-x"] });
  const settings = JSON.parse(out);
  assert.equal(settings.model, "claude-x");
  assert.equal(settings.env.ANTHROPIC_DEFAULT_HAIKU_MODEL, "claude-x");
  assert.deepEqual(settings.modelPicker.options, [
    { model: "claude-x", behavesAs: "claude-sonnet-4-6" },
    {
      model: "everywhere",
      label: "Every Where",
      behavesAs: "claude-sonnet-4-6",
    },
  ]);
});

/** What Claude Code takes a model for, by its id and its known window. */
const BEHAVES: readonly (readonly [
  id: string,
  window: number | undefined,
  behavesAs: string | undefined,
])[] = [
  ["glm", undefined, "claude-sonnet-4-6"],
  ["glm", 131_072, "claude-sonnet-4-6"],
  ["claude-glm", 131_072, "claude-sonnet-4-6"],
  ["claude-opus", undefined, "claude-sonnet-4-6"],
  ["glm", 1_000_000, undefined],
  ["claude-glm", 1_048_576, undefined],
  ["claude-opus-5-5", undefined, undefined],
  ["claude-haiku-4-5-20251001", undefined, undefined],
  ["claude-fable-5-1", undefined, undefined],
  ["claude-opus-4-8[1m]", undefined, undefined],
];

for (const [id, window, behavesAs] of BEHAVES) {
  Deno.test(`setup lets Claude Code take ${id} with a window of ${window ?? "unknown size"} for ${behavesAs ?? "what it knows"}`, async () => {
    const { out } = await setup({
      args: ["claude"],
      answer: () =>
        Response.json({
          data: [{ id, protocols: ["messages"], context_length: window }],
        }),
    });
    const { modelPicker, env } = JSON.parse(out);
    assert.equal(modelPicker.options[0].behavesAs, behavesAs);
    assert.equal(
      env.CLAUDE_CODE_AUTO_COMPACT_WINDOW,
      window === 131_072 ? "131072" : undefined,
    );
  });
}

Deno.test("setup tells editors the sizes that are known of a model, and cautious ones where none are", async () => {
  const { out } = await setup({ args: ["vscode"] });
  const [{ models }] = JSON.parse(out);
  assert.deepEqual(
    models.map((
      { maxInputTokens, maxOutputTokens }: Record<string, number>,
    ) => [maxInputTokens, maxOutputTokens]),
    [[168_000, 32_000], ...Array(3).fill([112_000, 16_000])],
  );
});

Deno.test("setup asks for the models with the token, at that address alone", async () => {
  const { asked: [request] } = await setup({
    args: ["curl", "--url", "http://gw.test:1/"],
  });
  assert.equal(request?.url, "http://gw.test:1/v1/models");
  assert.equal(request?.headers.get("authorization"), `Bearer ${TOKEN}`);
  assert.equal(request?.redirect, "manual");
});

Deno.test("setup prints settings without a gateway for a model that is named, and asks nobody without a token", async () => {
  const unread = await setup({
    args: ["codex", "--model", "gpt-x"],
    answer: () => Promise.reject(new TypeError("refused")),
  });
  assert.equal(unread.code, 0);
  assert.match(unread.out, /^model = "gpt-x"$/m);
  assert.match(unread.error, /^Cannot read .*: nothing answers there/);
  const unasked = await setup({
    args: ["codex", "--model", "gpt-x"],
    env: { MODEL_GATEWAY_TOKEN: "" },
  });
  assert.equal(unasked.code, 0);
  assert.deepEqual(unasked.asked, []);
  assert.match(unasked.error, /export MODEL_GATEWAY_TOKEN=YOUR_TOKEN/);
});

Deno.test("setup prints settings for a model that is not listed, since some names work all the same, and says so", async () => {
  const { code, out, error } = await setup({
    args: ["curl", "--model", "everywere"],
  });
  assert.equal(code, 0);
  assert.match(out, /"model":"everywere"/);
  assert.match(
    error,
    /^The gateway does not list everywere for this token\. Did you mean "everywhere"\?\n/,
  );
});

/** Faults at run time, with what is said of each. */
const FAILURES: Readonly<Record<string, [Omit<Run, "env">, RegExp]>> = {
  "an unknown token": [{
    args: ["curl"],
    answer: () =>
      Response.json({ error: { message: "Unknown" } }, { status: 401 }),
  }, /token is unknown or has expired/],
  "no gateway": [
    { args: ["curl"], answer: () => new Response("<html>") },
    /not a Model Gateway \(HTTP 200\)/,
  ],
  "a gateway that is busy": [{
    args: ["curl"],
    answer: () =>
      Response.json({ error: { message: "Full" } }, { status: 503 }),
  }, /^Cannot read http:.*: the gateway responded with HTTP 503\. Full\.$/m],
  "nobody": [
    { args: ["curl"], answer: () => Promise.reject(new TypeError("refused")) },
    /nothing answers there/,
  ],
  "no model": [
    { args: ["curl"], answer: () => Response.json({ data: [] }) },
    /no model is assigned to this token/,
  ],
  "no model of the client's": [{
    args: ["codex"],
    answer: () => Response.json({ data: [{ id: "one", protocols: ["chat"] }] }),
  }, /Codex CLI uses responses, but none/],
  "a model that the client cannot ask": [
    { args: ["codex", "--model", "claude-x"] },
    /^Cannot use claude-x: Codex CLI uses responses, but/,
  ],
};

for (const [name, [run, expected]] of Object.entries(FAILURES)) {
  Deno.test(`setup prints no settings and says why where it meets ${name}`, async () => {
    const { code, out, error } = await setup(run);
    assert.equal(code, 1);
    assert.equal(out, "");
    assert.match(error, expected);
  });
}

/** Faults of the command line. */
const BAD_USAGE: Readonly<Record<string, [Omit<Run, "answer">, string]>> = {
  "a slip in the name": [
    { args: ["codx"] },
    'there is no client codx. Did you mean "codex"?',
  ],
  "a stranger": [
    { args: ["emacs"] },
    `there is no client emacs. The clients are ${
      CLIENTS.map(({ id }) => id).join(", ")
    }.`,
  ],
  "a token in the place of the client": [
    { args: [TOKEN] },
    `there is no such client. The clients are ${
      CLIENTS.map(({ id }) => id).join(", ")
    }.`,
  ],
  "two clients": [{ args: ["curl", "codex"] }, "it takes one client."],
  "a slip in an option": [
    { args: ["curl", "--modle", "x"] },
    'there is no option --modle. Did you mean "--model"?',
  ],
  "an address that is none": [
    { args: ["curl", "--url", "gw.test"] },
    "--url must be the address of a gateway (for example http://127.0.0.1:8787).",
  ],
  "neither token nor model": [
    { args: ["curl"], env: { MODEL_GATEWAY_TOKEN: "" } },
    "there is no token. Set MODEL_GATEWAY_TOKEN or use --token, or name a model with --model.",
  ],
  "a check without a token": [
    {
      args: ["curl", "--check", "--model", "x"],
      env: { MODEL_GATEWAY_TOKEN: "" },
    },
    "there is no token. Set MODEL_GATEWAY_TOKEN or use --token.",
  ],
};

for (const [name, [run, fault]] of Object.entries(BAD_USAGE)) {
  Deno.test(`setup refuses ${name}`, async () => {
    const { code, out, error, asked } = await setup(run);
    assert.equal(code, 2);
    assert.equal(out, "");
    assert.equal(error.split("\n")[0], `Cannot run setup: ${fault}`);
    assert.deepEqual(asked, []);
  });
}
