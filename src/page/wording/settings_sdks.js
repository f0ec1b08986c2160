/**
 * First programs with the official SDKs. Pure functions.
 *
 * @typedef {import("./settings_text.js").Client} Client
 * @typedef {import("./settings_text.js").Place} Place
 * @typedef {import("./settings_text.js").Snippet} Snippet
 */
import {
  inShell,
  quote,
  shellWord,
  TOKEN_VARIABLE,
  tokenInShell,
} from "./settings_text.js";

/** The properties that all SDKs share. */
const IN_SHELL = { token: tokenInShell, readsEnvironment: true };

/** @type {readonly Client[]} */
export const SDKS = [
  {
    id: "openai-js",
    name: "OpenAI SDK, JavaScript",
    protocols: ["chat"],
    settings: openaiJs,
    start: () => inShell("npm install openai\nnode hello.mjs"),
    ...IN_SHELL,
  },
  {
    id: "openai-python",
    name: "OpenAI SDK, Python",
    protocols: ["chat"],
    settings: openaiPython,
    start: () => inShell("pip install openai\npython hello.py"),
    ...IN_SHELL,
  },
  {
    id: "anthropic-js",
    name: "Anthropic SDK, JavaScript",
    protocols: ["messages"],
    settings: anthropicJs,
    start: () => inShell("npm install @anthropic-ai/sdk\nnode hello.mjs"),
    ...IN_SHELL,
  },
  {
    id: "anthropic-python",
    name: "Anthropic SDK, Python",
    protocols: ["messages"],
    settings: anthropicPython,
    start: () => inShell("pip install anthropic\npython hello.py"),
    ...IN_SHELL,
  },
  {
    id: "curl",
    name: "curl",
    protocols: ["chat"],
    settings: curl,
    isCommand: true,
    ...IN_SHELL,
  },
];

/** @param {Place} place @returns {Snippet} */
function openaiJs({ base, model }) {
  return {
    title: "hello.mjs",
    text: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${quote(`${base}/v1`)},
  apiKey: process.env.${TOKEN_VARIABLE},
});
const answer = await client.chat.completions.create({
  model: ${quote(model)},
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);`,
  };
}

/** @param {Place} place @returns {Snippet} */
function openaiPython({ base, model }) {
  return {
    title: "hello.py",
    text: `import os
from openai import OpenAI

client = OpenAI(
    base_url=${quote(`${base}/v1`)},
    api_key=os.environ["${TOKEN_VARIABLE}"],
)
answer = client.chat.completions.create(
    model=${quote(model)},
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
  };
}

/** @param {Place} place @returns {Snippet} */
function anthropicJs({ base, model }) {
  return {
    title: "hello.mjs",
    text: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: ${quote(base)},
  apiKey: process.env.${TOKEN_VARIABLE},
});
const answer = await client.messages.create({
  model: ${quote(model)},
  max_tokens: 1024,
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.content);`,
  };
}

/** @param {Place} place @returns {Snippet} */
function anthropicPython({ base, model }) {
  return {
    title: "hello.py",
    text: `import os
from anthropic import Anthropic

client = Anthropic(
    base_url=${quote(base)},
    api_key=os.environ["${TOKEN_VARIABLE}"],
)
answer = client.messages.create(
    model=${quote(model)},
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content)`,
  };
}

/** @param {Place} place @returns {Snippet} */
function curl({ base, model }) {
  const body = JSON.stringify({
    model,
    messages: [{ role: "user", content: "Hello" }],
  });
  return {
    title: "In the shell",
    text: `curl ${shellWord(`${base}/v1/chat/completions`)} \\
  -H "authorization: Bearer $${TOKEN_VARIABLE}" \\
  -H 'content-type: application/json' \\
  -d ${shellWord(body)}`,
  };
}
