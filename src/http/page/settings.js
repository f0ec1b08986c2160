/**
 * What to put where so that a client uses this gateway. Pure texts.
 *
 * @typedef {import("./protocols.js").Protocol} Protocol
 *
 * @typedef {object} Place Where a client finds the gateway, and what it asks for there.
 * @property {string} base The gateway's address without a trailing slash, such as `http://127.0.0.1:8787`.
 * @property {string} model
 * @property {string} token The caller's, or {@linkcode TOKEN_PLACEHOLDER}.
 *
 * @typedef {object} Snippet
 * @property {string} title What the text is, or which file it belongs into.
 * @property {string} text
 *
 * @typedef {object} Client
 * @property {string} id
 * @property {string} name
 * @property {Protocol} protocol What a model must be served by.
 * @property {(place: Place) => readonly Snippet[]} snippets
 */

/** What is shown in the place of the token. */
export const TOKEN_PLACEHOLDER = "YOUR_TOKEN";

/** @type {readonly Client[]} */
export const CLIENTS = [
  { id: "openai", name: "OpenAI SDK", protocol: "chat", snippets: openai },
  {
    id: "anthropic",
    name: "Anthropic SDK",
    protocol: "messages",
    snippets: anthropic,
  },
  {
    id: "claude-code",
    name: "Claude Code",
    protocol: "messages",
    snippets: claudeCode,
  },
  { id: "codex", name: "Codex CLI", protocol: "responses", snippets: codex },
  { id: "opencode", name: "opencode", protocol: "chat", snippets: opencode },
  { id: "curl", name: "curl", protocol: "chat", snippets: curl },
];

/** @param {Place} place @returns {readonly Snippet[]} */
function openai({ base, model, token }) {
  return [
    {
      title: "TypeScript",
      text: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${quote(`${base}/v1`)},
  apiKey: ${quote(token)},
});
const answer = await client.chat.completions.create({
  model: ${quote(model)},
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);`,
    },
    {
      title: "Python",
      text: `from openai import OpenAI

client = OpenAI(
    base_url=${quote(`${base}/v1`)},
    api_key=${quote(token)},
)
answer = client.chat.completions.create(
    model=${quote(model)},
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    },
  ];
}

/** @param {Place} place @returns {readonly Snippet[]} */
function anthropic({ base, model, token }) {
  return [
    {
      title: "TypeScript",
      text: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: ${quote(base)},
  apiKey: ${quote(token)},
});
const answer = await client.messages.create({
  model: ${quote(model)},
  max_tokens: 1024,
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.content);`,
    },
    {
      title: "Python",
      text: `from anthropic import Anthropic

client = Anthropic(
    base_url=${quote(base)},
    api_key=${quote(token)},
)
answer = client.messages.create(
    model=${quote(model)},
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content)`,
    },
  ];
}

/** @param {Place} place @returns {readonly Snippet[]} */
function claudeCode({ base, model, token }) {
  return [
    {
      title: "In the shell",
      text: `export ANTHROPIC_BASE_URL=${shellWord(base)}
export ANTHROPIC_AUTH_TOKEN=${shellWord(token)}
claude --model ${shellWord(model)}`,
    },
    {
      title: "Or for good, in ~/.claude/settings.json",
      text: json({
        model,
        env: {
          ANTHROPIC_BASE_URL: base,
          ANTHROPIC_AUTH_TOKEN: token,
        },
      }),
    },
  ];
}

/** @param {Place} place @returns {readonly Snippet[]} */
function codex({ base, model, token }) {
  return [
    {
      title: "In ~/.codex/config.toml",
      text: `model = ${quote(model)}
model_provider = "gateway"

[model_providers.gateway]
name = "gateway"
base_url = ${quote(`${base}/v1`)}
env_key = "GATEWAY_TOKEN"
wire_api = "responses"`,
    },
    {
      title: "Then in the shell",
      text: `export GATEWAY_TOKEN=${shellWord(token)}
codex`,
    },
  ];
}

/** @param {Place} place @returns {readonly Snippet[]} */
function opencode({ base, model, token }) {
  return [
    {
      title: "In ~/.config/opencode/opencode.json",
      text: json({
        provider: {
          gateway: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${base}/v1`, apiKey: token },
            models: { [model]: {} },
          },
        },
      }),
    },
    {
      title: "Then in the shell",
      text: `opencode run -m ${shellWord(`gateway/${model}`)} "Hello"`,
    },
  ];
}

/** @param {Place} place @returns {readonly Snippet[]} */
function curl({ base, model, token }) {
  const body = JSON.stringify({
    model,
    messages: [{ role: "user", content: "Hello" }],
  });
  return [{
    title: "In the shell",
    text: `curl ${shellWord(`${base}/v1/chat/completions`)} \\
  -H ${shellWord(`authorization: Bearer ${token}`)} \\
  -H 'content-type: application/json' \\
  -d ${shellWord(body)}`,
  }];
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function json(value) {
  return JSON.stringify(value, null, 2);
}

/**
 * A text in double quotes; TypeScript, Python and TOML read those of JSON.
 *
 * @param {string} text
 * @returns {string}
 */
function quote(text) {
  return JSON.stringify(text);
}

/**
 * A text as one word of a POSIX shell.
 *
 * @param {string} text
 * @returns {string}
 */
function shellWord(text) {
  return /^[\w./:@%+-]+$/.test(text)
    ? text
    : `'${text.replaceAll("'", `'\\''`)}'`;
}
