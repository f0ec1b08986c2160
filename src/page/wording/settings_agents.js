/**
 * Settings of coding agents. Pure functions.
 *
 * @typedef {import("./models.js").Model} Model
 * @typedef {import("./settings_text.js").Client} Client
 * @typedef {import("./settings_text.js").Place} Place
 * @typedef {import("./settings_text.js").Snippet} Snippet
 */
import {
  ALL_PROTOCOLS,
  INPUTS,
  inputsOf,
  inShell,
  json,
  protocolFor,
  PROVIDER_ID,
  quote,
  shellWord,
  takesImages,
  titleOf,
  TOKEN_VARIABLE,
  tokenInShell,
} from "./settings_text.js";

/** The file with the token for Codex. */
const CODEX_TOKEN_FILE = "~/.codex/model-gateway-token";

/** @type {readonly Client[]} */
export const AGENTS = [
  {
    id: "claude",
    name: "Claude Code",
    protocols: ["messages"],
    settings: claude,
    token: tokenInShell,
    readsEnvironment: true,
    runsTokenCommand: true,
    start: () => inShell("claude"),
  },
  {
    id: "codex",
    name: "Codex CLI",
    protocols: ["responses"],
    settings: codex,
    token: (token) => ({
      title: "The token, in a file that Codex prefers to the variable",
      text: `(umask 077; printf %s ${shellWord(token)} > ${CODEX_TOKEN_FILE})`,
    }),
    readsEnvironment: true,
    runsTokenCommand: true,
    start: () => inShell("codex"),
    prefersFile: true,
    note:
      "Codex's background server keeps the variables of its first start. If it sends an old token, choose /daemon in Codex, then Restart background server.",
  },
  {
    id: "opencode",
    name: "opencode",
    protocols: ALL_PROTOCOLS,
    settings: (place) => ({
      title: "~/.config/opencode/opencode.json",
      text: json(opencodeConfig(place)),
    }),
    token: tokenInShell,
    readsEnvironment: true,
    start: () => inShell("opencode"),
  },
  {
    id: "qwen",
    name: "Qwen Code",
    protocols: ["chat"],
    settings: qwen,
    token: tokenInShell,
    readsEnvironment: true,
    start: () => inShell("qwen"),
  },
  {
    id: "continue",
    name: "Continue",
    protocols: ["chat"],
    settings: continueDev,
    token: (token) => ({
      title: "~/.continue/.env",
      text: `${TOKEN_VARIABLE}=${token}`,
    }),
    readsEnvironment: false,
  },
];

/**
 * Claude Code is set up to treat an unknown model as this Claude model, with its window of 200,000 tokens and its way
 * of thinking. With an older Claude model, such as `claude-sonnet-4-5`, Claude Code would switch auto mode off.
 */
const CAUTIOUS_CLAUDE = "claude-sonnet-4-6";

/** The window of {@linkcode CAUTIOUS_CLAUDE}, in tokens. */
const CAUTIOUS_WINDOW = 200_000;

/** The window that Claude Code assumes for an unknown model, in tokens. */
const ASSUMED_WINDOW = 1_000_000;

/**
 * Matches Anthropic's own ids. Claude Code knows the windows of these models. An alias may begin with `claude-`, too.
 */
const OWN_CLAUDE_REGEXP = /^claude-(?:(?:opus|sonnet|haiku|fable|mythos)-)?\d/;

/**
 * Returns the Claude model as which Claude Code is to treat a model. Returns `undefined` if Claude Code knows the
 * model's window or assumes the right window. Tried with Claude Code 2.1.330.
 *
 * @param {Model} model @returns {string | undefined}
 */
function behavesAs({ id, context_length: window = 0 }) {
  return OWN_CLAUDE_REGEXP.test(id) || window >= ASSUMED_WINDOW
    ? undefined
    : CAUTIOUS_CLAUDE;
}

/**
 * Returns true when a model has or may have a window of a million tokens. The variable that forbids such a window
 * applies to every model. So the settings contain this variable only if no model may have such a window.
 *
 * @param {Model} model @returns {boolean}
 */
function mayBeWide({ id, context_length: window }) {
  return window === undefined
    ? OWN_CLAUDE_REGEXP.test(id)
    : window >= ASSUMED_WINDOW;
}

/**
 * Returns true when the provider itself checks the actions of Claude Code's auto mode. Only Anthropic does so, in
 * Messages. For other models, Claude Code must ask the model of the session (docs/clients.md#claude-codes-auto-mode).
 *
 * @param {Model} model @returns {boolean}
 */
function checksActions({ owned_by, native_protocols = [] }) {
  return owned_by === "anthropic" && native_protocols.includes("messages");
}

/**
 * https://code.claude.com/docs/en/settings: the helper prints the token, so that the file holds no token. The helper
 * runs again after five minutes and after a 401.
 *
 * @param {Place} place @returns {Snippet}
 */
function claude({ base, model, models, tokenCommand }) {
  const { env, ...rest } = claudeModels({ model, models });
  const settings = {
    apiKeyHelper: tokenCommand ?? `printf %s "$${TOKEN_VARIABLE}"`,
    model,
    ...rest,
    env: {
      ANTHROPIC_BASE_URL: base,
      ...env,
      ...!models.some(mayBeWide) && { CLAUDE_CODE_DISABLE_1M_CONTEXT: "1" },
    },
  };
  return { title: "~/.claude/settings.json", text: json(settings) };
}

/**
 * Returns the settings of Claude Code that follow from the models. Claude Code's own model names, and a session for
 * which nobody has selected a model, use `model`. Auto mode would check actions with the model of
 * `ANTHROPIC_DEFAULT_SONNET_MODEL`, or else with `claude-sonnet-5`. If auto mode may use neither of these models, it
 * asks the model of the session.
 *
 * @param {Pick<Place, "model" | "models">} place
 */
export function claudeModels({ model, models }) {
  const { context_length: window = CAUTIOUS_WINDOW } =
    models.find(({ id }) => id === model) ?? {};
  return {
    availableModels: models.map(({ id }) => id),
    modelPicker: {
      options: models.map((one) => ({
        model: one.id,
        label: titleOf(one),
        behavesAs: behavesAs(one),
      })),
      replaceBuiltInOptions: true,
    },
    env: {
      ANTHROPIC_DEFAULT_MODEL: model,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      ANTHROPIC_DEFAULT_FABLE_MODEL: model,
      ...window < CAUTIOUS_WINDOW &&
        { CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(window) },
      ...models.some((one) => !checksActions(one)) &&
        { CLAUDE_CODE_AUTO_MODE_SERVER: "0" },
    },
  };
}

/**
 * https://developers.openai.com/codex/config-reference. The catalog gives Codex the token's models and their sizes.
 * Codex runs the command for the token again after five minutes and after a 401. `env_key` would read a variable of
 * Codex's background server, and this server keeps the variables of its first start.
 *
 * @param {Place} place @returns {Snippet}
 */
function codex({ base, model, tokenCommand }) {
  const command = tokenCommand ??
    `cat ${CODEX_TOKEN_FILE} 2>/dev/null || printf %s "$${TOKEN_VARIABLE}"`;
  return {
    title: "~/.codex/config.toml",
    text: `model = ${quote(model)}
model_provider = "${PROVIDER_ID}"

[model_providers.${PROVIDER_ID}]
name = "Model Gateway"
base_url = ${quote(`${base}/v1`)}
wire_api = "responses"
model_catalog_url = ${quote(`${base}/v1/models`)}

[model_providers.${PROVIDER_ID}.auth]
${codexAuth(command)}`,
  };
}

/** Matches a command that needs no shell. */
const PLAIN_COMMAND_REGEXP = /^[\w./:@%+=,-]+(?: [\w./:@%+=,-]+)*$/;

/**
 * Returns the table `auth`. Codex runs a command without a shell, so a command that needs a shell begins with `sh -c`.
 *
 * @param {string} command @returns {string}
 */
function codexAuth(command) {
  const [program = "", ...args] = PLAIN_COMMAND_REGEXP.test(command)
    ? command.split(" ")
    : ["sh", "-c", command];
  return `command = ${quote(program)}
args = [${args.map(quote).join(", ")}]`;
}

/**
 * The packages of the Vercel AI SDK in opencode.
 *
 * @type {Readonly<Record<import("./protocols.js").Protocol, string>>}
 */
const AI_SDK = {
  chat: "@ai-sdk/openai-compatible",
  responses: "@ai-sdk/openai",
  messages: "@ai-sdk/anthropic",
};

/**
 * Returns the configuration of opencode (https://opencode.ai/docs/providers). Each model uses the package of its protocol.
 *
 * @param {Place} place
 * @returns {Readonly<Record<string, unknown>>}
 */
export function opencodeConfig({ base, model, models }) {
  return {
    $schema: "https://opencode.ai/config.json",
    provider: {
      [PROVIDER_ID]: {
        npm: AI_SDK.chat,
        name: "Model Gateway",
        options: { baseURL: `${base}/v1`, apiKey: `{env:${TOKEN_VARIABLE}}` },
        models: Object.fromEntries(
          models.map((one) => [one.id, opencodeModel(one)]),
        ),
      },
    },
    ...models.length > 0 &&
      {
        model: `${PROVIDER_ID}/${model}`,
        small_model: `${PROVIDER_ID}/${model}`,
      },
  };
}

/**
 * Returns a model's entry. Without `modalities`, opencode replaces a picture by the text of an error.
 *
 * @param {Model} model
 */
function opencodeModel(model) {
  const protocol = protocolFor(model, { protocols: ALL_PROTOCOLS }) ?? "chat";
  const inputs = inputsOf(model);
  return {
    name: titleOf(model),
    provider: protocol === "chat" ? undefined : { npm: AI_SDK[protocol] },
    attachment: inputs && inputs.length > 0,
    modalities: inputs && { input: ["text", ...inputs], output: ["text"] },
    limit: opencodeLimit(model),
  };
}

/** The longest answer that opencode requests of its own accord, in tokens. */
const OPENCODE_OUTPUT = 32_000;

/**
 * Returns the sizes of a model. opencode needs the window and the longest answer. It shortens a conversation when less
 * of the window is left than the longest answer. So if the longest answer is unknown, it is set to at most a quarter of
 * the window.
 *
 * @param {Model} model
 */
function opencodeLimit({ context_length: context, max_output_tokens: output }) {
  if (!context) return undefined;
  return {
    context,
    output: output ?? Math.min(OPENCODE_OUTPUT, Math.floor(context / 4)),
  };
}

/**
 * https://qwenlm.github.io/qwen-code-docs/en/users/configuration/model-providers. Without `modalities`, Qwen Code takes
 * the inputs from the model's name, and sends a picture to another model of the list if the name says nothing.
 *
 * @param {Place} place @returns {Snippet}
 */
function qwen({ base, model, models }) {
  const settings = {
    modelProviders: {
      openai: models.map((one) => ({
        id: one.id,
        name: titleOf(one) ?? one.id,
        baseUrl: `${base}/v1`,
        envKey: TOKEN_VARIABLE,
        generationConfig: qwenGeneration(one),
      })),
    },
    security: { auth: { selectedType: "openai" } },
    model: { name: model },
  };
  return { title: "~/.qwen/settings.json", text: json(settings) };
}

/** @param {Model} model */
function qwenGeneration(model) {
  const { context_length: contextWindowSize } = model;
  const inputs = inputsOf(model);
  if (contextWindowSize === undefined && inputs === undefined) return undefined;
  return {
    contextWindowSize,
    modalities: inputs &&
      Object.fromEntries(INPUTS.map((kind) => [kind, inputs.includes(kind)])),
  };
}

/**
 * https://docs.continue.dev/reference. Unknown facts of a model are left out.
 *
 * @param {Place} place @returns {Snippet}
 */
function continueDev({ base, model, models }) {
  const [first = [], others = []] = [
    models.filter(({ id }) => id === model),
    models.filter(({ id }) => id !== model),
  ];
  return {
    title: "~/.continue/config.yaml",
    text: `name: Model Gateway
version: 1.0.0
schema: v1
models:
${[...first, ...others].map((one) => continueModel(one, base)).join("\n")}`,
  };
}

/** @param {Model} model @param {string} base @returns {string} */
function continueModel(model, base) {
  return `  - name: ${quote(titleOf(model) ?? model.id)}
    provider: openai
    model: ${quote(model.id)}
    apiBase: ${quote(`${base}/v1`)}
    apiKey: \${{ secrets.${TOKEN_VARIABLE} }}
    capabilities: [${
    takesImages(model) ? "tool_use, image_input" : "tool_use"
  }]`;
}
