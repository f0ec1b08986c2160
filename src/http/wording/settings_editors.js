/**
 * Settings of editors, which store the token themselves. Pure functions.
 *
 * @typedef {import("./models.js").Model} Model
 * @typedef {import("./settings_text.js").Client} Client
 * @typedef {import("./settings_text.js").Place} Place
 * @typedef {import("./settings_text.js").Snippet} Snippet
 */
import { json, titleOf } from "./settings_text.js";

/** @type {readonly Client[]} */
export const EDITORS = [
  {
    id: "vscode",
    name: "VS Code",
    protocol: "chat",
    settings: vscode,
    token: (token) => ({
      title:
        "The token, as the API key of that group in Manage Language Models",
      text: token,
    }),
    readsEnvironment: false,
    note:
      "Needs VS Code 1.122 or later. Run Chat: Manage Language Models, and add a Custom Endpoint of this name with the token as its key. Then put the models into its group in the file.",
  },
  {
    id: "zed",
    name: "Zed",
    protocol: "chat",
    settings: zed,
    token: (token) => ({
      title: "The token, in Agent Settings under LLM Providers",
      text: token,
    }),
    readsEnvironment: false,
  },
  {
    id: "cursor",
    name: "Cursor",
    protocol: "chat",
    settings: cursor,
    token: (token) => ({
      title: "The token, as OpenAI API Key in the same place",
      text: token,
    }),
    readsEnvironment: false,
    note:
      "Cursor's own servers send the requests, so the gateway's address must be reachable from the internet.",
  },
];

/**
 * The default sizes, because an editor needs numbers for a model of unknown size. They are low: with too small a
 * window, an editor only summarises earlier.
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

/**
 * https://code.visualstudio.com/docs/agent-customization/language-models. VS Code stores the key of a group itself and
 * puts a reference to it into the file.
 *
 * @param {Place} place @returns {Snippet}
 */
function vscode({ base, models }) {
  const group = {
    name: "Model Gateway",
    vendor: "customendpoint",
    apiType: "chat-completions",
    models: models.map((model) => {
      const { context, output } = sizesOf(model);
      return {
        id: model.id,
        name: titleOf(model) ?? model.id,
        url: `${base}/v1/chat/completions`,
        toolCalling: true,
        vision: false,
        maxInputTokens: Math.max(1, context - output),
        maxOutputTokens: output,
      };
    }),
  };
  return { title: "chatLanguageModels.json", text: json([group]) };
}

/**
 * https://zed.dev/docs/ai/use-api-access.
 *
 * @param {Place} place @returns {Snippet}
 */
function zed({ base, model, models }) {
  const settings = {
    language_models: {
      openai_compatible: {
        "Model Gateway": {
          api_url: `${base}/v1`,
          available_models: models.map((one) => {
            const { context, output } = sizesOf(one);
            return {
              name: one.id,
              display_name: titleOf(one),
              max_tokens: context,
              max_output_tokens: output,
            };
          }),
        },
      },
    },
    agent: { default_model: { provider: "Model Gateway", model } },
  };
  return { title: "~/.config/zed/settings.json", text: json(settings) };
}

/** Cursor has no file. These values go into three fields. @param {Place} place @returns {Snippet} */
function cursor({ base, model }) {
  return {
    title: "Cursor Settings, Models, API Keys",
    text: `Override OpenAI Base URL: ${base}/v1
Add model: ${model}`,
  };
}
