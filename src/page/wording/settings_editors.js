/**
 * Settings of editors. The editors store the token themselves. Pure functions.
 *
 * @typedef {import("./models.js").Model} Model
 * @typedef {import("./settings_text.js").Client} Client
 * @typedef {import("./settings_text.js").Place} Place
 * @typedef {import("./settings_text.js").Snippet} Snippet
 */
import {
  ALL_PROTOCOLS,
  json,
  protocolFor,
  takesImages,
  titleOf,
} from "./settings_text.js";

/** @type {readonly Client[]} */
export const EDITORS = [
  {
    id: "vscode",
    name: "VS Code",
    protocols: ALL_PROTOCOLS,
    settings: vscode,
    token: (token) => ({
      title:
        "The token, as the API key of the endpoint in Manage Language Models",
      text: token,
    }),
    readsEnvironment: false,
    note:
      "Needs VS Code 1.122 or later. Run Chat: Manage Language Models, and add a Custom Endpoint of this name with the token as its key. Then put the models into the endpoint's group in the file.",
  },
  {
    id: "zed",
    name: "Zed",
    protocols: ALL_PROTOCOLS,
    settings: zed,
    token: (token) => ({
      title:
        "The token, in Agent Settings under LLM Providers, for each provider of these settings",
      text: token,
    }),
    readsEnvironment: false,
  },
  {
    id: "cursor",
    name: "Cursor",
    protocols: ["chat"],
    settings: cursor,
    token: (token) => ({
      title: "The token, as OpenAI API Key in the same settings",
      text: token,
    }),
    readsEnvironment: false,
    note:
      "Cursor's own servers send the requests, so the gateway's address must be reachable from the internet.",
  },
];

/**
 * The default sizes, because an editor needs numbers for a model of unknown size. The sizes are low, because an editor
 * with too small a window only summarises earlier.
 */
const DEFAULT_SIZES = { context: 128_000, output: 16_000 };

/** @param {Model} model @returns {{ readonly context: number, readonly output: number }} In tokens. */
function sizesOf({ context_length: context, max_output_tokens: output }) {
  const window = context ?? DEFAULT_SIZES.context;
  return {
    context: window,
    output: output ?? Math.min(DEFAULT_SIZES.output, Math.floor(window / 2)),
  };
}

/** @param {Model} model */
function protocolOf(model) {
  return protocolFor(model, { protocols: ALL_PROTOCOLS }) ?? "chat";
}

/**
 * The API types of VS Code, with their paths.
 *
 * @type {Readonly<Record<import("./protocols.js").Protocol, { readonly apiType: string, readonly path: string }>>}
 */
const VSCODE_APIS = {
  chat: { apiType: "chat-completions", path: "/chat/completions" },
  messages: { apiType: "messages", path: "/messages" },
  responses: { apiType: "responses", path: "/responses" },
};

/**
 * https://code.visualstudio.com/docs/agent-customization/language-models. VS Code stores the key of a group itself and
 * puts a reference to the key into the file.
 *
 * @param {Place} place @returns {Snippet}
 */
function vscode({ base, models }) {
  const group = {
    name: "Model Gateway",
    vendor: "customendpoint",
    models: models.map((model) => {
      const { context, output } = sizesOf(model);
      const { apiType, path } = VSCODE_APIS[protocolOf(model)];
      return {
        id: model.id,
        name: titleOf(model) ?? model.id,
        url: `${base}/v1${path}`,
        apiType,
        toolCalling: true,
        vision: takesImages(model),
        maxInputTokens: Math.max(1, context - output),
        maxOutputTokens: output,
      };
    }),
  };
  return { title: "chatLanguageModels.json", text: json([group]) };
}

/** The providers in Zed. The names of the providers must differ, so the token is needed for each provider. */
const ZED_PROVIDERS = {
  openai: "Model Gateway",
  messages: "Model Gateway Messages",
};

/**
 * https://zed.dev/docs/ai/use-api-access. An OpenAI-compatible provider has the models in Chat and Responses. An
 * Anthropic-compatible provider has the models in Messages.
 *
 * @param {Place} place @returns {Snippet}
 */
function zed({ base, model, models }) {
  const claude = models.filter((one) => protocolOf(one) === "messages");
  const others = models.filter((one) => !claude.includes(one));
  const settings = {
    language_models: {
      ...others.length > 0 && {
        openai_compatible: {
          [ZED_PROVIDERS.openai]: {
            api_url: `${base}/v1`,
            available_models: others.map((one) => ({
              ...zedModel(one),
              capabilities: {
                tools: true,
                images: takesImages(one),
                parallel_tool_calls: false,
                prompt_cache_key: false,
                chat_completions: protocolOf(one) === "chat",
              },
            })),
          },
        },
      },
      ...claude.length > 0 && {
        anthropic_compatible: {
          [ZED_PROVIDERS.messages]: {
            api_url: base,
            available_models: claude.map((one) => ({
              ...zedModel(one),
              capabilities: {
                tools: true,
                images: takesImages(one),
                prompt_caching: true,
              },
            })),
          },
        },
      },
    },
    agent: {
      default_model: {
        provider: claude.some(({ id }) => id === model)
          ? ZED_PROVIDERS.messages
          : ZED_PROVIDERS.openai,
        model,
      },
    },
  };
  return { title: "~/.config/zed/settings.json", text: json(settings) };
}

/** @param {Model} model */
function zedModel(model) {
  const { context, output } = sizesOf(model);
  return {
    name: model.id,
    display_name: titleOf(model),
    max_tokens: context,
    max_output_tokens: output,
  };
}

/** Cursor has no file. These values go into three fields. @param {Place} place @returns {Snippet} */
function cursor({ base, model }) {
  return {
    title: "Cursor Settings, Models, API Keys",
    text: `Override OpenAI Base URL: ${base}/v1
Add model: ${model}`,
  };
}
