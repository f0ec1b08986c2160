import type { JsonObject } from "../../../src/base/json.ts";
import type { Family, Protocol } from "../../../src/base/protocol.ts";
import type { Answer } from "../../../src/codecs/canonical/answer/answer.ts";
import { CODECS } from "../../../src/codecs/codecs.ts";
import { formatFrame } from "../../../src/base/streams/sse.ts";
import { ANSWERS } from "../../contract/answers.ts";
import { answerContext, encodeStream } from "../../contract/codec_contract.ts";
import { JSON_HEADERS, SSE_HEADERS } from "../wire/answers.ts";
import { minimalFile } from "../gateway/config.ts";
import { familyConnection } from "../gateway/families.ts";

/** A route that the gateway translates (docs/design.md#paths). */
export interface Pair {
  /** The caller's protocol. */
  readonly from: Protocol;
  /** The upstream's protocol. */
  readonly to: Protocol;
  /** A model of the upstream in {@linkcode pairsFile}. */
  readonly model: string;
}

/** Every translated route of the three protocols. The last two need `paths`. */
export const PAIRS: readonly Pair[] = [
  { from: "chat", to: "messages", model: "model-b" },
  { from: "chat", to: "responses", model: "model-c" },
  { from: "messages", to: "chat", model: "model-a" },
  { from: "responses", to: "chat", model: "model-a" },
  { from: "messages", to: "responses", model: "model-c" },
  { from: "responses", to: "messages", model: "model-b" },
];

/** The protocol of each family's upstream. */
export const PROTOCOL_BY_FAMILY = {
  A: "chat",
  B: "messages",
  C: "responses",
} as const satisfies Record<Family, Protocol>;

/**
 * Returns a configuration with one connection per family, each to an upstream with one protocol, and each on all paths.
 */
export function pairsFile(
  url: string,
  overrides: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const families = ["A", "B", "C"] as const;
  return minimalFile({
    connections: families.map((family) =>
      familyConnection(family, url, {
        endpoints: { [PROTOCOL_BY_FAMILY[family]]: `${url}/v1` },
        ...(family === "A" ? {} : { paths: ["messages", "responses"] }),
        ...overrides,
      })
    ),
  });
}

/** The path of each protocol's endpoint at the upstream. */
export const UPSTREAM_PATHS: Readonly<Record<Protocol, string>> = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
};

/** Returns the sample answer with this name. */
export function sampleAnswer(name: string): Answer {
  const found = ANSWERS.find((sample) => sample.name === name);
  if (found === undefined) throw new Error(`There is no sample "${name}"`);
  return found.answer;
}

/** Returns the events of an answer as an upstream streams them, each as text. */
export function streamFrames(protocol: Protocol, answer: Answer): string[] {
  const codec = CODECS[protocol];
  const request = codec.decodeRequest(STREAMED[protocol]);
  return encodeStream(codec, answer, request).map(formatFrame);
}

/** Returns an upstream's response with an answer, as a stream or as one JSON object. */
export function upstreamAnswer(
  protocol: Protocol,
  answer: Answer,
  stream: boolean,
): Response {
  if (stream) {
    const text = streamFrames(protocol, answer).join("");
    return new Response(text, { headers: SSE_HEADERS });
  }
  const codec = CODECS[protocol];
  const request = codec.decodeRequest(STREAMED[protocol]);
  const body = codec.encodeAnswer(answer, answerContext(request));
  return new Response(JSON.stringify(body), { headers: JSON_HEADERS });
}

/** A request for a stream with usage, in each protocol. */
export const STREAMED: Readonly<Record<Protocol, JsonObject>> = {
  chat: {
    model: "m",
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: "user", content: "Hi" }],
  },
  messages: {
    model: "m",
    stream: true,
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
  },
  responses: { model: "m", stream: true, input: "Hi" },
};
