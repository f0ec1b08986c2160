import assert from "node:assert/strict";
import { setup } from "./print_settings.ts";

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

/** Whether Claude Code must leave the check of its actions to the model, by the services of the models. */
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
