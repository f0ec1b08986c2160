import type { JsonObject } from "../../../src/base/json.ts";
import { ALICE_TOKEN } from "../gateway/config.ts";

/** The protocols of test requests. A new protocol must be added here by hand. */
export const PROTOCOLS = ["chat", "messages", "responses"] as const;

type Protocol = (typeof PROTOCOLS)[number];

/** The path of each protocol. */
export const PATHS: Readonly<Record<Protocol, string>> = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
};

/** A model that serves each protocol natively in `familiesFile`. */
export const MODELS: Readonly<Record<Protocol, string>> = {
  chat: "model-a",
  messages: "model-b",
  responses: "model-c",
};

const SAY_HELLO: Readonly<Record<Protocol, JsonObject>> = {
  chat: { messages: [{ role: "user", content: "Hello" }] },
  messages: { max_tokens: 100, messages: [{ role: "user", content: "Hello" }] },
  responses: { input: "Hello" },
};

/** Returns the smallest request body; `overrides` add to it. */
export function hello(protocol: Protocol, overrides: JsonObject = {}): string {
  const body = {
    model: MODELS[protocol],
    ...SAY_HELLO[protocol],
    ...overrides,
  };
  return JSON.stringify(body);
}

/** Returns the header in which clients of each protocol send their token. */
export function credentials(
  protocol: Protocol,
  token = ALICE_TOKEN,
): Record<string, string> {
  return protocol === "messages"
    ? { "x-api-key": token, "anthropic-version": "2023-06-01" }
    : { authorization: `Bearer ${token}` };
}

/** Returns a request of a protocol, ready for `fetch`. */
export function ask(
  protocol: Protocol,
  body: BodyInit = hello(protocol),
  headers: Readonly<Record<string, string>> = {},
): RequestInit {
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...credentials(protocol),
      ...headers,
    },
    body,
  };
}
