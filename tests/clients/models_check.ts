import assert from "node:assert/strict";
import { CODEX_INSTRUCTIONS } from "../../src/gateway/http/models.ts";
import { CLIENTS as CLIENT_SETTINGS } from "../../src/page/wording/settings.js";
import packed from "../../src/gateway/http/codex_models.json" with {
  type: "json",
};
import { bundledCatalog } from "./codex_models.ts";
import { ALICE_TOKEN } from "../support/gateway/config.ts";
import { clientNamed, runBehind, testsOf } from "./checked_client.ts";
import { readPicker } from "./claude_picker.ts";
import type { ClientProgram, Launch, LaunchOptions } from "./programs.ts";
import { chatUpstream, startTranslating } from "./upstreams.ts";

// Real clients from npm that request the gateway's models and use one of them. The provider speaks
// Chat Completions only. `deno task test:clients` runs this; `deno task test` does not.

const MODEL = "glm-model";
const ALIAS = "claude-glm";

/** The model that Claude Code requests for the alias `haiku`. */
const HAIKU = "claude-haiku-5-5";

const FIELDS = {
  aliases: [ALIAS, { id: HAIKU, listed: false }],
  display_name: "GLM of the team",
  context_window: 131_072,
  input: ["text"],
  reasoning: ["low", "high"],
};

/** The provider's model, with more than its name. */
const TEAM_MODEL = { model: MODEL, fields: FIELDS };

/** Returns a client with another launch. */
function launched(
  program: ClientProgram,
  change: (launch: Launch, options: LaunchOptions) => Launch,
): ClientProgram {
  return {
    ...program,
    launch: (prompt, options) =>
      change(program.launch(prompt, options), options),
  };
}

const CODEX = clientNamed("Codex CLI");
const testCodex = await testsOf(CODEX);
const testClaude = await testsOf(clientNamed("Claude Code"));

testCodex(
  "lists exactly the token's models, with their contexts",
  async (command) => {
    await using gateway = await startTranslating(chatUpstream(), TEAM_MODEL);
    const run = await runBehind(gateway, {
      command,
      program: launched(CODEX, (launch) => ({
        ...launch,
        args: ["debug", "models"],
      })),
      prompt: "",
      model: MODEL,
    });
    assert.equal(run.code, 0, run.output);
    const { models } = JSON.parse(run.stdout);
    assert.deepEqual(
      models.map((model: Record<string, unknown>) => [
        model.slug,
        model.display_name,
        model.context_window,
        model.visibility,
        model.input_modalities,
        [model.supported_reasoning_levels].flat().map((level) =>
          Object(level).effort
        ),
      ]),
      [
        [MODEL, "GLM of the team", 131_072, "list", ["text"], ["low", "high"]],
        [ALIAS, "GLM of the team", 131_072, "hide", ["text"], ["low", "high"]],
      ],
    );
  },
);

testCodex(
  "uses a model of the catalog, with the instructions of its entry",
  async (command) => {
    const bodies: string[] = [];
    await using gateway = await startTranslating(chatUpstream(), {
      ...TEAM_MODEL,
      spoil: (answer, { body }) => {
        bodies.push(body);
        return Promise.resolve(answer);
      },
    });
    const run = await runBehind(gateway, {
      command,
      program: CODEX,
      prompt: "Say hello",
      model: MODEL,
    });
    assert.equal(run.code, 0, run.output);
    assert.match(run.stdout, /You said: ".*Say hello/s);
    const [first = ""] = bodies;
    const instructions = JSON.stringify(CODEX_INSTRUCTIONS.trim()).slice(1, -1);
    assert.ok(first.includes(instructions), first.slice(0, 2000));
  },
);

testCodex("has the same catalog as the gateway's copy", async (command) => {
  const { version } = CODEX.source;
  assert.deepEqual(await bundledCatalog(command, version), packed);
});

testCodex(
  "accepts a token's models, its own and others, without a warning",
  async (command) => {
    const bodies: string[] = [];
    const aliases = ["gpt-5.5", "gpt-6.2-sol", "gpt-9-sol"];
    for (const model of [MODEL, ...aliases]) {
      await using gateway = await startTranslating(chatUpstream(), {
        model: MODEL,
        fields: { ...FIELDS, aliases },
        spoil: (answer, { body }) => {
          bodies.push(body);
          return Promise.resolve(answer);
        },
      });
      const run = await runBehind(gateway, {
        command,
        program: CODEX,
        prompt: "Say hello",
        model,
      });
      assert.equal(run.code, 0, run.output);
      assert.doesNotMatch(run.stderr, /metadata|failed to refresh/);
    }
    const [other = "", ...own] = bodies;
    assert.ok(!other.includes("You are Codex, "));
    for (const body of own) assert.match(body, /You are Codex, /);
  },
);

/** Claude Code without settings, so that its models have its own names. */
const CLAUDE = launched(
  clientNamed("Claude Code"),
  (launch, { url, token, model }) => ({
    ...launch,
    args: [...launch.args, "--model", model],
    env: {
      ...launch.env,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: token,
    },
    files: {},
  }),
);

/** Claude Code with the printed settings, in auto mode with a check of its own. */
const AUTO_CLAUDE = launched(clientNamed("Claude Code"), (launch) => ({
  ...launch,
  args: [
    "-p",
    "Say hello",
    "--permission-mode",
    "auto",
    "--output-format",
    "stream-json",
    "--verbose",
  ],
  env: { ...launch.env, CLAUDE_CODE_AUTO_MODE_SERVER: "0" },
}));

for (const model of [MODEL, ALIAS]) {
  testClaude(
    `treats ${model} as a model with a window of 200,000 in auto mode`,
    async (command) => {
      await using gateway = await startTranslating(chatUpstream(), TEAM_MODEL);
      const run = await runBehind(gateway, {
        command,
        program: AUTO_CLAUDE,
        prompt: "Say hello",
        model,
      });
      assert.equal(run.code, 0, run.output);
      assert.match(run.stdout, /"permissionMode":"auto"/);
      assert.match(run.stdout, /"contextWindow":200000\b/);
      assert.doesNotMatch(run.stderr, /unrecognized_model/);
    },
  );
}

testClaude(
  "checks the actions of auto mode with the model of the session",
  async (command) => {
    await using gateway = await startTranslating(chatUpstream(), TEAM_MODEL);
    const settings = CLIENT_SETTINGS.find(({ id }) => id === "claude");
    assert.ok(settings);
    const { text } = settings.settings({
      base: gateway.url,
      model: MODEL,
      models: [MODEL, ALIAS].map((id) => ({ id, protocols: ["messages"] })),
    });
    const input = {
      ...{ description: "Greets", prompt: "Say hello" },
      ...{ subagent_type: "general-purpose", model: "sonnet" },
    };
    const run = await runBehind(gateway, {
      command,
      program: launched(clientNamed("Claude Code"), ({ env }) => ({
        args: [
          ...["-p", `Use Agent with ${JSON.stringify(input)}`],
          ...["--model", ALIAS, "--permission-mode", "auto"],
        ],
        env,
        files: { ".claude/settings.json": text },
      })),
      prompt: "",
      model: ALIAS,
    });
    assert.equal(run.code, 0, run.output);
    const asked = gateway.lines.requests.items.filter(({ mode }) =>
      mode !== undefined
    );
    // The session's two requests, the check of its call, and the requests of the agent.
    assert.ok(asked.length > 3, run.output);
    assert.deepEqual(
      new Set(asked.map(({ alias }) => alias)),
      new Set([ALIAS]),
    );
  },
);

testClaude(
  "stays within the window of a model with a smaller one",
  async (command) => {
    await using gateway = await startTranslating(chatUpstream(), {
      model: MODEL,
    });
    const settings = CLIENT_SETTINGS.find(({ id }) => id === "claude");
    assert.ok(settings);
    const { text } = settings.settings({
      base: gateway.url,
      model: MODEL,
      models: [{ id: MODEL, protocols: ["messages"], context_length: 131_072 }],
    });
    const run = await runBehind(gateway, {
      command,
      program: launched(clientNamed("Claude Code"), (launch) => ({
        ...launch,
        files: { ".claude/settings.json": text },
      })),
      prompt: "/context",
      model: MODEL,
    });
    assert.match(run.stdout, / \/ 131\.1k /, run.output);
  },
);

/** Waits for commands, and makes no model request. */
const waiting = launched(CLAUDE, (launch) => ({
  ...launch,
  args: [
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
  ],
  env: { ...launch.env, CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: "1" },
}));

testClaude(
  "lists an alias under the model's name, and nothing hidden",
  async (command) => {
    await using gateway = await startTranslating(chatUpstream(), TEAM_MODEL);
    const rows = await readPicker(command, {
      program: waiting,
      prompt: "",
      address: { url: gateway.url, token: ALICE_TOKEN, model: MODEL },
      until: ALIAS,
    });
    const ours = rows.filter(({ value }) =>
      [ALIAS, HAIKU, MODEL].includes(value)
    ).map(({ value, displayName }) => ({ value, displayName }));
    assert.deepEqual(
      ours,
      [{ value: ALIAS, displayName: "GLM of the team" }],
      gateway.lines.text(),
    );
  },
);

testClaude(
  "uses an alias",
  (command) => checkAlias(command, { model: ALIAS, alias: ALIAS }),
);

testClaude(
  "gets its own small model by an alias",
  (command) => checkAlias(command, { model: "haiku", alias: HAIKU }),
);

/** Sends one prompt, for which the client requests the model by an alias. */
async function checkAlias(
  command: readonly string[],
  { model, alias }: {
    /** The model in the client's settings. */
    readonly model: string;
    /** The model in the client's request. */
    readonly alias: string;
  },
): Promise<void> {
  await using gateway = await startTranslating(chatUpstream(), TEAM_MODEL);
  const run = await runBehind(gateway, {
    command,
    program: CLAUDE,
    prompt: "Say hello",
    model,
  });
  assert.equal(run.code, 0, run.output);
  assert.match(run.stdout, /You said: ".*Say hello/s);
  const relayed = gateway.lines.requests.items.filter(({ mode }) =>
    mode !== undefined
  );
  assert.ok(relayed.length > 0, run.output);
  for (const line of relayed) {
    assert.deepEqual([line.alias, line.model, line.status], [
      alias,
      MODEL,
      200,
    ]);
  }
}
