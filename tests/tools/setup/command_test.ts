import assert from "node:assert/strict";
import { openTempFolder } from "../../support/temp_folder.ts";
import { parse as parseYaml } from "@std/yaml/parse";
import { CLIENTS } from "../../../src/page/wording/settings.js";
import { type Run, setup, TOKEN } from "./print_settings.ts";
import { steps } from "../../support/steps.ts";

Deno.test("setup lists every client, and sends no request", async () => {
  const { code, out, asked } = await setup({ args: [] });
  assert.equal(code, 0);
  assert.deepEqual(
    out.trim().split("\n").map((line) => line.split(/ {2,}/)),
    CLIENTS.map(({ id, name }) => [id, name]),
  );
  assert.deepEqual(asked, []);
});

Deno.test("setup prints each client's settings from the page, and the settings' place on standard error", async (t) => {
  for (const client of CLIENTS) {
    const { id, settings, protocols, readsEnvironment, prefersFile } = client;
    await t.step(id, async () => {
      const url = "https://gw.test/api/v1";
      const { code, out, error } = await setup({ args: [id, "--url", url] });
      assert.equal(code, 0, error);
      assert.match(out, /everywhere/);
      assert.match(out, /https:\/\/gw\.test\/api/);
      assert.doesNotMatch(out, /evil|YOUR_TOKEN/);
      const { title } = settings({ base: "", model: "", models: [] });
      assert.ok(error.startsWith(`# ${title}\n`), error);
      assert.equal(
        error.includes("YOUR_TOKEN"),
        !readsEnvironment || prefersFile === true,
        error,
      );
      assert.equal(
        out.includes("chat only"),
        protocols.includes("chat") && listsAll(id),
      );
    });
  }
});

/** Returns true when a client's settings name all models, not only the first. */
function listsAll(id: string): boolean {
  return ["opencode", "qwen", "continue", "vscode", "zed"].includes(id);
}

Deno.test("setup's output for a JSON or YAML file can be piped into the file", (t) =>
  steps(
    t,
    ["claude", "opencode", "qwen", "continue", "vscode", "zed"],
    async (id) => {
      const { out } = await setup({ args: [id] });
      const parsed = id === "continue" ? parseYaml(out) : JSON.parse(out);
      assert.equal(typeof parsed, "object");
    },
  ));

Deno.test("setup puts the named model before all other models", async () => {
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

Deno.test("setup gives editors the known sizes of a model, or cautious defaults", async () => {
  const { out } = await setup({ args: ["vscode"] });
  const [{ models }] = JSON.parse(out);
  assert.deepEqual(
    models.map((
      { maxInputTokens, maxOutputTokens }: Record<string, number>,
    ) => [maxInputTokens, maxOutputTokens]),
    [[168_000, 32_000], ...Array(3).fill([112_000, 16_000])],
  );
});

Deno.test("setup sends the token only to the given address, in the request for the models", async () => {
  const { asked: [request] } = await setup({
    args: ["curl", "--url", "http://gw.test:1/"],
  });
  assert.equal(request?.url, "http://gw.test:1/v1/models");
  assert.equal(request?.headers.get("authorization"), `Bearer ${TOKEN}`);
  assert.equal(request?.redirect, "manual");
});

Deno.test("setup prints settings for a named model without a gateway, and sends no request without a token", async () => {
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
  assert.match(unasked.error, /YOUR_TOKEN > ~\/\.codex\/model-gateway-token/);
});

Deno.test("setup makes Codex read the token from a file at each start, or else from the variable", async () => {
  const { out, error } = await setup({ args: ["codex"] });
  assert.doesNotMatch(out, /env_key/);
  // The background server of Codex keeps the variables of its first start.
  assert.match(
    error,
    /\(umask 077; printf %s YOUR_TOKEN > ~\/\.codex\/model-gateway-token\)/,
  );
  assert.match(error, /\/daemon in Codex, then Restart background server/);
  const line = /^args = (\[.*\])$/m.exec(out)?.[1] ?? "";
  const args: readonly string[] = JSON.parse(line);
  await using home = await openTempFolder();
  const token = async () => {
    const { stdout, success } = await new Deno.Command("sh", {
      args: [...args],
      clearEnv: true,
      env: {
        HOME: home.path,
        PATH: Deno.env.get("PATH") ?? "",
        MODEL_GATEWAY_TOKEN: "mg_variable",
      },
    }).output();
    assert.ok(success);
    return new TextDecoder().decode(stdout);
  };
  assert.equal(await token(), "mg_variable");
  await Deno.mkdir(`${home.path}/.codex`);
  await Deno.writeTextFile(
    `${home.path}/.codex/model-gateway-token`,
    "mg_file",
  );
  assert.equal(await token(), "mg_file");
});

Deno.test("setup prints the command that sets the token, unless the environment has that token", async (t) => {
  const cases: Readonly<Record<string, [Run, boolean]>> = {
    "it is in the environment": [{ args: ["qwen"] }, false],
    "--token alone has it": [{
      args: ["qwen", "--token", TOKEN],
      env: { MODEL_GATEWAY_TOKEN: "" },
    }, true],
    "the environment has another": [{
      args: ["qwen", "--token", TOKEN],
      env: { MODEL_GATEWAY_TOKEN: "mg_old" },
    }, true],
  };
  await steps(t, Object.entries(cases), async ([, [run, isPrinted]]) => {
    const { code, error } = await setup(run);
    assert.equal(code, 0);
    const command = /^export MODEL_GATEWAY_TOKEN=YOUR_TOKEN$/m;
    assert.equal(command.test(error), isPrinted, error);
  });
});

Deno.test("setup prints settings for an unlisted model with a warning, because some unlisted names work", async () => {
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

/** Faults at run time, each with its error. */
const FAILURES: Readonly<Record<string, [Omit<Run, "env">, RegExp]>> = {
  "an unknown token": [{
    args: ["curl"],
    answer: () =>
      Response.json({ error: { message: "Unknown" } }, { status: 401 }),
  }, /the gateway responded with HTTP 401\. Unknown\.$/m],
  "a server that is not a gateway": [
    { args: ["curl"], answer: () => new Response("<html>") },
    /not a Model Gateway \(HTTP 200\)/,
  ],
  "a gateway that is busy": [{
    args: ["curl"],
    answer: () =>
      Response.json({ error: { message: "Full" } }, { status: 503 }),
  }, /^Cannot read http:.*: the gateway responded with HTTP 503\. Full\.$/m],
  "an address without a server": [
    { args: ["curl"], answer: () => Promise.reject(new TypeError("refused")) },
    /nothing answers there/,
  ],
  "a token without models": [
    { args: ["curl"], answer: () => Response.json({ data: [] }) },
    /no model is assigned to this token/,
  ],
  "a token without a model in the client's protocol": [{
    args: ["codex"],
    answer: () => Response.json({ data: [{ id: "one", protocols: ["chat"] }] }),
  }, /Codex CLI speaks Responses, but no model of this token/],
  "a model that the client cannot use": [
    { args: ["codex", "--model", "claude-x"] },
    /^Cannot use claude-x: Codex CLI speaks Responses, but/,
  ],
};

for (const [name, [run, expected]] of Object.entries(FAILURES)) {
  Deno.test(`setup prints a reason instead of settings for ${name}`, async () => {
    const { code, out, error } = await setup(run);
    assert.equal(code, 1);
    assert.equal(out, "");
    assert.match(error, expected);
  });
}

/** Faults of the command line. */
const BAD_USAGE: Readonly<Record<string, [Omit<Run, "answer">, string]>> = {
  "a misspelt client": [
    { args: ["codx"] },
    'there is no client codx. Did you mean "codex"?',
  ],
  "a name that fits two clients": [
    { args: ["openai"] },
    "there is no client openai. Name one of openai-js and openai-python.",
  ],
  "an unknown client": [
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
  "a misspelt option": [
    { args: ["curl", "--modle", "x"] },
    'there is no option --modle. Did you mean "--model"?',
  ],
  "an invalid address": [
    { args: ["curl", "--url", "gw.test"] },
    "--url must be the address of a gateway (for example http://127.0.0.1:8787).",
  ],
  "a command with neither a token nor a model": [
    { args: ["curl"], env: { MODEL_GATEWAY_TOKEN: "" } },
    "there is no token. Set MODEL_GATEWAY_TOKEN or use --token, or name a model with --model.",
  ],
  "a token command without a token for the list of models": [
    {
      args: ["codex", "--token-command", "acme-login token"],
      env: { MODEL_GATEWAY_TOKEN: "" },
    },
    'there is no token to list the models with. Begin the line with MODEL_GATEWAY_TOKEN="$(acme-login token)", or name a model with --model.',
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
  Deno.test(`setup rejects ${name}`, async () => {
    const { code, out, error, asked } = await setup(run);
    assert.equal(code, 2);
    assert.equal(out, "");
    assert.equal(error.split("\n")[0], `Cannot run setup: ${fault}`);
    assert.deepEqual(asked, []);
  });
}

Deno.test("setup with a token command makes Claude Code run it", async () => {
  const command = "acme-login token --audience model-gateway";
  const { code, out, error } = await setup({
    args: ["claude", "--token-command", command],
  });
  assert.equal(code, 0);
  assert.equal(JSON.parse(out).apiKeyHelper, command);
  assert.doesNotMatch(error, /MODEL_GATEWAY_TOKEN/);
});

/** Commands, with the lines that make Codex run them. */
const CODEX_COMMANDS: Readonly<Record<string, readonly string[]>> = {
  "acme-login token": ['command = "acme-login"', 'args = ["token"]'],
  "/opt/acme/login": ['command = "/opt/acme/login"', "args = []"],
  'acme-login | jq -r ".token"': [
    'command = "sh"',
    'args = ["-c", "acme-login | jq -r \\".token\\""]',
  ],
};

Deno.test("setup with a token command makes Codex run it, in a shell if it needs one", async () => {
  for (const [command, lines] of Object.entries(CODEX_COMMANDS)) {
    const { out, error } = await setup({
      args: ["codex", "--token-command", command],
    });
    const [, auth = ""] = out.split("[model_providers.gateway.auth]\n");
    assert.deepEqual(auth.trim().split("\n"), lines);
    assert.doesNotMatch(out + error, /env_key|MODEL_GATEWAY_TOKEN/);
    assert.match(out, /^wire_api = "responses"$/m);
  }
});

Deno.test("setup with a token command fills the variable of other clients", async () => {
  for (const client of ["opencode", "curl"]) {
    const { code, out, error } = await setup({
      args: [client, "--token-command", "acme-login token"],
    });
    assert.equal(code, 0);
    assert.match(out, /MODEL_GATEWAY_TOKEN/);
    assert.match(
      error,
      /^export MODEL_GATEWAY_TOKEN="\$\(acme-login token\)"$/m,
    );
  }
});

/** Arguments that exclude a token command, with the error. */
const NO_COMMAND: readonly (readonly [readonly string[], RegExp])[] = [
  [["zed", "--token-command", "acme-login"], /stores its token/],
  [["claude", "--token-command", "a\nb"], /one line/],
  [
    ["claude", "--token-command", "a", "--check"],
    /--check takes no --token-command\. Begin the line with MODEL_GATEWAY_TOKEN="\$\(a\)" instead\./,
  ],
];

Deno.test("setup rejects a token command that the client cannot use", async () => {
  for (const [args, fault] of NO_COMMAND) {
    const { code, error, asked } = await setup({ args });
    assert.equal(code, 2);
    assert.match(error, fault);
    assert.deepEqual(asked, []);
  }
});

Deno.test("setup shows how each client sends a header, or reports that this is unknown", async (t) => {
  const cases: Readonly<Record<string, string>> = {
    claude: 'export ANTHROPIC_CUSTOM_HEADERS="x-project: $PROJECT"',
    codex: 'env_http_headers = { "x-project" = "PROJECT" }',
    opencode: '"headers": { "x-project": "{env:PROJECT}" }',
    "openai-python": 'default_headers={"x-project": "billing"}',
    "anthropic-js": 'defaultHeaders: { "x-project": "billing" }',
    curl: '-H "x-project: $PROJECT"',
    zed: "It is not known how this client sends a header.",
  };
  await steps(t, Object.entries(cases), async ([id, line]) => {
    const { code, error } = await setup({
      args: [id, "--header", "X-Project"],
    });
    assert.equal(code, 0);
    assert.ok(error.includes(line), error);
    // The variables must be set before the client starts.
    assert.ok(!error.split(line)[0]?.includes("Then in the shell"), error);
  });
  const { code, error } = await setup({ args: ["curl", "--header", "cookie"] });
  assert.equal(code, 2);
  assert.match(error, /--header must begin with x-, such as x-project/);
});

/** A listed model of each family, and one from a gateway that lists no native protocols. */
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

Deno.test("setup gives opencode the known inputs and sizes of each model", async () => {
  const data = [
    {
      id: "seeing",
      architecture: { input_modalities: ["image", "file"] },
      context_length: 200_000,
      max_output_tokens: 64_000,
    },
    { id: "reading", architecture: { input_modalities: ["text"] } },
    { id: "large", context_length: 1_000_000 },
    // opencode would shorten every conversation if an answer could fill the window.
    { id: "small", context_length: 16_384 },
    { id: "unknown" },
  ];
  const answer = () => Response.json({ data });
  const { out } = await setup({ args: ["opencode"], answer });
  const { provider } = JSON.parse(out);
  const output = ["text"];
  assert.deepEqual(provider.gateway.models, {
    seeing: {
      attachment: true,
      modalities: { input: ["text", "image", "pdf"], output },
      limit: { context: 200_000, output: 64_000 },
    },
    reading: { attachment: false, modalities: { input: ["text"], output } },
    large: { limit: { context: 1_000_000, output: 32_000 } },
    small: { limit: { context: 16_384, output: 4096 } },
    unknown: {},
  });
});

Deno.test("setup gives Qwen Code the inputs of each model, so that Qwen Code sends images to the chosen model", async () => {
  const { out } = await setup({
    args: ["qwen"],
    answer: () => Response.json(FAMILIES),
  });
  const { modelProviders: { openai } } = JSON.parse(out);
  assert.deepEqual(
    openai.map((one: Record<string, unknown>) => [
      one.id,
      one.generationConfig,
    ]),
    [
      ["claude", { modalities: { image: true, pdf: false, audio: false } }],
      ["gpt", { modalities: { image: false, pdf: false, audio: false } }],
      ["glm", undefined],
      ["older", undefined],
    ],
  );
});

Deno.test("setup gives VS Code the native protocol of each model, and its image support", async () => {
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

Deno.test("setup gives Zed a provider for Messages beside the one for Chat and Responses, and each model's image support", async () => {
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

Deno.test("setup writes no provider without models into Zed's settings", async () => {
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

Deno.test("setup marks the models that take images for Continue", async () => {
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

Deno.test("setup gives Codex the catalog for models of any name", async () => {
  for (const model of ["gpt-x", "everywhere"]) {
    const { out } = await setup({ args: ["codex", "--model", model] });
    assert.match(
      out,
      /^model_catalog_url = "http:\/\/127\.0\.0\.1:8787\/v1\/models"$/m,
    );
  }
});

/** Models by id and known window, with the model as which Claude Code treats each. */
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
  Deno.test(`setup makes Claude Code treat ${id} with a window of ${window ?? "unknown size"} as ${behavesAs ?? "itself"}`, async () => {
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

/** The values of CLAUDE_CODE_DISABLE_1M_CONTEXT, with the ids and windows of the models. */
const WIDE: readonly (readonly [
  expected: string | undefined,
  ...models: readonly (readonly [string, number | undefined])[],
])[] = [
  ["1", ["glm", undefined]],
  ["1", ["glm", 200_000], ["claude-glm", 131_072]],
  ["1", ["claude-opus-5", 200_000]],
  [undefined, ["wide", 1_000_000]],
  [undefined, ["glm", 200_000], ["wide", 1_000_000]],
  [undefined, ["claude-opus-5", undefined]],
];

for (const [expected, ...models] of WIDE) {
  Deno.test(`setup sets CLAUDE_CODE_DISABLE_1M_CONTEXT to ${expected} for ${models.join(" and ")}`, async () => {
    const { out } = await setup({
      args: ["claude"],
      answer: () =>
        Response.json({
          data: models.map(([id, context_length]) => ({
            ...{ id, context_length, protocols: ["messages"] },
          })),
        }),
    });
    const { env, model, availableModels } = JSON.parse(out);
    assert.equal(env.CLAUDE_CODE_DISABLE_1M_CONTEXT, expected);
    assert.equal(env.ANTHROPIC_DEFAULT_MODEL, model);
    // Auto mode would check actions with this model instead of the session's.
    assert.ok(!("ANTHROPIC_DEFAULT_SONNET_MODEL" in env));
    assert.deepEqual(availableModels, models.map(([id]) => id));
  });
}

/** The values of CLAUDE_CODE_AUTO_MODE_SERVER, with the services and protocols of the models. */
const CHECKS: Readonly<Record<string, readonly (readonly [string, string])[]>> =
  {
    undefined: [["anthropic", "messages"]],
    "0": [["anthropic", "messages"], ["zai", "messages"]],
    "0 behind a translation": [["anthropic", "chat"]],
  };

for (const [expected, models] of Object.entries(CHECKS)) {
  Deno.test(`setup sets CLAUDE_CODE_AUTO_MODE_SERVER to ${expected} for ${models.join(" and ")}`, async () => {
    const { out } = await setup({
      args: ["claude-code"],
      answer: () =>
        Response.json({
          data: models.map(([owned_by, native], index) => ({
            id: `model-${index}`,
            owned_by,
            protocols: ["messages"],
            native_protocols: [native],
          })),
        }),
    });
    const { env } = JSON.parse(out);
    assert.equal(
      String(env.CLAUDE_CODE_AUTO_MODE_SERVER),
      expected.split(" ")[0],
    );
  });
}
