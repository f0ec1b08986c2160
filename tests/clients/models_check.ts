import assert from "node:assert/strict";
import { CODEX_INSTRUCTIONS } from "../../src/http/models.ts";
import { CLIENTS as CLIENT_SETTINGS } from "../../src/http/wording/settings.js";
import packed from "../../src/http/codex_models.json" with { type: "json" };
import { bundledCatalog } from "./codex_models.ts";
import { ALICE_TOKEN } from "../support/gateway/config.ts";
import type { RunningGateway } from "../support/gateway/gateway.ts";
import { readPicker } from "./claude_picker.ts";
import { installClient } from "./install.ts";
import {
  type ClientProgram,
  CLIENTS,
  type Launch,
  type LaunchOptions,
} from "./programs.ts";
import { type ClientRun, runClient } from "./run_client.ts";
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

function named(name: string): ClientProgram {
  const program = CLIENTS.find((one) => one.name === name);
  assert.ok(program);
  return program;
}

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

/**
 * Registers a test of a client, which is ignored with a warning when the client cannot be
 * installed.
 */
async function testWith(
  program: ClientProgram,
  { name, fn }: {
    readonly name: string;
    fn(command: readonly string[]): Promise<void>;
  },
): Promise<void> {
  const installed = await installClient(program);
  if ("reason" in installed) {
    console.warn(`${program.name} ignored: ${installed.reason}`);
  }
  Deno.test({
    name: `${program.name} ${name}`,
    ignore: "reason" in installed,
    fn: () => fn("command" in installed ? installed.command : []),
  });
}

/** Returns the output of a run and of the gateway, for the message of a failed check. */
function outputOf(run: ClientRun, { lines }: RunningGateway): string {
  return `${run.stdout}\n${run.stderr}\n${lines.text()}`;
}

const CODEX = named("Codex CLI");

await testWith(CODEX, {
  name: "lists the token's models with their contexts, and no others",
  async fn(command) {
    await using gateway = await startTranslating(chatUpstream(), {
      model: MODEL,
      fields: FIELDS,
      asked: [],
    });
    const run = await runClient(command, {
      program: launched(CODEX, (launch) => ({
        ...launch,
        args: ["debug", "models"],
      })),
      prompt: "",
      address: { url: gateway.url, token: ALICE_TOKEN, model: MODEL },
    });
    assert.equal(run.code, 0, outputOf(run, gateway));
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
});

await testWith(CODEX, {
  name: "uses a model of the catalog, with the instructions of its entry",
  async fn(command) {
    const bodies: string[] = [];
    await using gateway = await startTranslating(chatUpstream(), {
      model: MODEL,
      fields: FIELDS,
      asked: [],
      spoil: (answer, { body }) => {
        bodies.push(body);
        return Promise.resolve(answer);
      },
    });
    const run = await runClient(command, {
      program: CODEX,
      prompt: "Say hello",
      address: { url: gateway.url, token: ALICE_TOKEN, model: MODEL },
    });
    assert.equal(run.code, 0, outputOf(run, gateway));
    assert.match(run.stdout, /You said: ".*Say hello/s);
    const [first = ""] = bodies;
    const instructions = JSON.stringify(CODEX_INSTRUCTIONS.trim()).slice(1, -1);
    assert.ok(first.includes(instructions), first.slice(0, 2000));
  },
});

await testWith(CODEX, {
  name: "gets the catalog that the gateway has of it",
  async fn(command) {
    const { version } = CODEX.source;
    assert.deepEqual(await bundledCatalog(command, version), packed);
  },
});

await testWith(CODEX, {
  name: "accepts its own models and others of one token, and warns about none",
  async fn(command) {
    const bodies: string[] = [];
    const aliases = ["gpt-5.5", "gpt-6.1-sol"];
    for (const model of [MODEL, ...aliases]) {
      await using gateway = await startTranslating(chatUpstream(), {
        model: MODEL,
        fields: { ...FIELDS, aliases },
        asked: [],
        spoil: (answer, { body }) => {
          bodies.push(body);
          return Promise.resolve(answer);
        },
      });
      const run = await runClient(command, {
        program: CODEX,
        prompt: "Say hello",
        address: { url: gateway.url, token: ALICE_TOKEN, model },
      });
      assert.equal(run.code, 0, outputOf(run, gateway));
      assert.doesNotMatch(run.stderr, /metadata|failed to refresh/);
    }
    const [other = "", ...own] = bodies;
    assert.ok(!other.includes("You are Codex, "));
    for (const body of own) assert.match(body, /You are Codex, /);
  },
});

/** Claude Code without settings, so that its models have its own names. */
const CLAUDE = launched(
  named("Claude Code"),
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
const AUTO_CLAUDE = launched(named("Claude Code"), (launch) => ({
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
  await testWith(AUTO_CLAUDE, {
    name: `takes ${model} for a model with a window of 200,000, in auto mode`,
    async fn(command) {
      await using gateway = await startTranslating(chatUpstream(), {
        model: MODEL,
        fields: FIELDS,
        asked: [],
      });
      const run = await runClient(command, {
        program: AUTO_CLAUDE,
        prompt: "Say hello",
        address: { url: gateway.url, token: ALICE_TOKEN, model },
      });
      assert.equal(run.code, 0, outputOf(run, gateway));
      assert.match(run.stdout, /"permissionMode":"auto"/);
      assert.match(run.stdout, /"contextWindow":200000\b/);
      assert.doesNotMatch(run.stderr, /unrecognized_model/);
    },
  });
}

await testWith(named("Claude Code"), {
  name: "keeps to the window of a model with a smaller one",
  async fn(command) {
    await using gateway = await startTranslating(chatUpstream(), {
      model: MODEL,
      asked: [],
    });
    const settings = CLIENT_SETTINGS.find(({ id }) => id === "claude");
    assert.ok(settings);
    const { text } = settings.settings({
      base: gateway.url,
      model: MODEL,
      models: [{ id: MODEL, protocols: ["messages"], context_length: 131_072 }],
    });
    const run = await runClient(command, {
      program: launched(named("Claude Code"), (launch) => ({
        ...launch,
        files: { ".claude/settings.json": text },
      })),
      prompt: "/context",
      address: { url: gateway.url, token: ALICE_TOKEN, model: MODEL },
    });
    assert.match(run.stdout, / \/ 131\.1k /, outputOf(run, gateway));
  },
});

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

await testWith(CLAUDE, {
  name: "lists an alias under the model's name, and nothing hidden",
  async fn(command) {
    await using gateway = await startTranslating(chatUpstream(), {
      model: MODEL,
      fields: FIELDS,
      asked: [],
    });
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
});

await testWith(CLAUDE, {
  name: "uses an alias",
  fn: (command) => checkAlias(command, { model: ALIAS, alias: ALIAS }),
});

await testWith(CLAUDE, {
  name: "gets its own small model where that is an alias",
  fn: (command) => checkAlias(command, { model: "haiku", alias: HAIKU }),
});

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
  await using gateway = await startTranslating(chatUpstream(), {
    model: MODEL,
    fields: FIELDS,
    asked: [],
  });
  const run = await runClient(command, {
    program: CLAUDE,
    prompt: "Say hello",
    address: { url: gateway.url, token: ALICE_TOKEN, model },
  });
  assert.equal(run.code, 0, outputOf(run, gateway));
  assert.match(run.stdout, /You said: ".*Say hello/s);
  const relayed = gateway.lines.requests.items.filter(({ mode }) =>
    mode !== undefined
  );
  assert.ok(relayed.length > 0, outputOf(run, gateway));
  for (const line of relayed) {
    assert.deepEqual([line.alias, line.model, line.status], [
      alias,
      MODEL,
      200,
    ]);
  }
}
