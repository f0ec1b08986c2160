import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../src/core/json.ts";
import type { Protocol } from "../../src/core/protocol.ts";
import {
  type Block,
  isToolCall,
  type ToolResultBlock,
} from "../../src/protocols/canonical/content/block.ts";
import { bridgeTools } from "../../src/protocols/canonical/tools/bridge_tools.ts";
import type { Target } from "../../src/protocols/canonical/codec.ts";
import { settleHistory } from "../../src/protocols/canonical/request/history.ts";
import type { CanonicalRequest } from "../../src/protocols/canonical/request/request.ts";
import { argumentsObject } from "../../src/protocols/canonical/tools/tool.ts";
import { CODECS } from "../../src/protocols/mod.ts";
import {
  loadClientRequests,
  loadRecordings,
} from "../support/recorded/recordings.ts";
import { squeeze } from "../support/sdk/sdk_answers.ts";
import { needing } from "../support/ignored.ts";
import { translateRequest } from "../support/translate_request.ts";

// Every available request, translated to each other protocol. The upstream must receive every text, call, result,
// picture and tool of the caller, or `x-gateway-dropped` must name the lost ones.

const PROTOCOLS: readonly Protocol[] = ["chat", "messages", "responses"];

const TARGETS: Readonly<Record<Protocol, Target>> = {
  chat: targetOf("custom", "some-model"),
  messages: targetOf("anthropic", "claude-sonnet-4-6"),
  responses: targetOf("openai", "gpt-5.1"),
};

const CLIENTS = [
  "ai-sdk",
  "anthropic-sdk",
  "claude-code",
  "codex",
  "continue-cli",
  "openai-sdk",
  "opencode",
  "qwen-code",
];

/** The end of each protocol's request path. */
const PATHS: Readonly<Record<Protocol, RegExp>> = {
  chat: /\/chat\/completions$/,
  messages: /\/messages(\?beta=true)?$/,
  responses: /\/responses$/,
};

/** The expected refusals, with the reason. */
const REFUSALS: readonly (readonly [message: RegExp, reason: string])[] = [
  [
    /`model` is wrong|`max_tokens` is wrong|`messages` is wrong|`input` is wrong/,
    "the request itself is wrong, or the path names the model",
  ],
  [/keeps no state/, "the conversation would be incomplete"],
  [
    /`(n|logprobs|modalities|mcp_servers)`/,
    "the caller would miss what was asked for",
  ],
  [
    /accepts the content of an? (image|file) only|from another provider's store/,
    "the file lies in another provider's store",
  ],
  [
    /hold `(audio|container_upload|compaction)`|not support `compaction`/,
    "the model would not see it",
  ],
];

for (const from of PROTOCOLS) {
  const requests = requestsOf(from);
  for (const to of PROTOCOLS.filter((protocol) => protocol !== from)) {
    Deno.test({
      ...needing(
        `recorded ${from} requests reach a ${to} upstream`,
        requests.length === 0 && "there are no recordings here",
      ),
      async fn(t) {
        for (const { name, request } of requests) {
          await t.step(name, () => judge(request, from, to));
        }
      },
    });
  }
}

function targetOf(service: string, model: string): Target {
  return {
    service,
    model,
    connectionId: "connection-1",
    maxOutputTokens: undefined,
  };
}

/** A request and its origin. */
interface NamedRequest {
  readonly name: string;
  readonly request: JsonObject;
}

/** Returns the requests of a protocol from providers' recordings and real clients. */
function requestsOf(protocol: Protocol): NamedRequest[] {
  const recorded = loadRecordings(protocol).flatMap(({ name, request }) =>
    request === undefined ? [] : [{ name, request }]
  );
  const sent = CLIENTS.flatMap(loadClientRequests).filter(({ url }) =>
    PATHS[protocol].test(url)
  );
  return [...recorded, ...sent];
}

function judge(request: JsonObject, from: Protocol, to: Protocol): void {
  try {
    compare(request, from, to);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { message } = error;
    assert.ok(
      REFUSALS.some(([pattern]) => pattern.test(message)),
      `refused without a known reason: ${message}`,
    );
  }
}

function compare(request: JsonObject, from: Protocol, to: Protocol): void {
  const target = TARGETS[to];
  const { body, dropped } = translateRequest(request, {
    from: CODECS[from],
    to: CODECS[to],
    target,
    strict: false,
    streamOnly: false,
    force: {},
    omit: [],
  });
  const asked = bridgeTools(
    CODECS[from].decodeRequest(request),
    CODECS[to].toolSupport(target),
  ).request;
  const received = CODECS[to].decodeRequest(body);
  const words = squeeze(textsIn(body).join(""));
  for (const text of textsOf(asked)) {
    assert.ok(
      words.includes(squeeze(text)),
      `the text ${JSON.stringify(text.slice(0, 80))} is missing`,
    );
  }
  assert.deepEqual(callsOf(received), callsOf(asked));
  assert.equal(
    blocksOf(received, "image").length,
    blocksOf(asked, "image").length,
    "pictures",
  );
  const offered = toolNames(asked);
  // Without a list of allowed tools, the other tools are dropped.
  if (asked.toolChoice?.type === "allowed") {
    for (const tool of toolNames(received)) assert.ok(offered.includes(tool));
  } else if (!dropped.has("tools")) {
    assert.deepEqual(toolNames(received), offered);
  }
  assert.equal(received.stream, asked.stream);
}

/** Returns every string in `value`, at any depth. */
function textsIn(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** Returns the texts that the model must read. */
function textsOf({ turns }: CanonicalRequest): string[] {
  return allBlocks(turns).flatMap((block) =>
    block.kind === "text" ? [block.text] : []
  );
}

/** Returns the calls of the history with their results, in order. */
function callsOf({ turns }: CanonicalRequest): unknown[] {
  const blocks = allBlocks(settleHistory(turns));
  const results = blocks.filter((block) => block.kind === "tool_result");
  return blocks.filter(isToolCall).map((call, position) => ({
    name: call.name,
    input: call.kind === "function_call"
      ? argumentsObject(call.arguments)
      : call.input,
    result: resultText(results[position]),
  }));
}

/** Returns the text of a result, without a target's note about dropped content. */
function resultText(result: ToolResultBlock | undefined): string {
  const texts = (result?.content ?? []).map((block) =>
    "text" in block ? block.text ?? "" : ""
  );
  return squeeze(texts.join("")).replace(/^Error:/, "")
    .replaceAll(/\[(image|file)attachedbelow\]|^\(empty\)$/g, "");
}

function blocksOf({ turns }: CanonicalRequest, kind: Block["kind"]): Block[] {
  return allBlocks(turns).filter((block) => block.kind === kind);
}

/** Returns all blocks, including those inside results. */
function allBlocks(turns: CanonicalRequest["turns"]): Block[] {
  return turns.flatMap(({ blocks }) => blocks).flatMap((block): Block[] =>
    block.kind === "tool_result" ? [block, ...block.content] : [block]
  );
}

function toolNames({ tools }: CanonicalRequest): string[] {
  // A served web search has the other protocol's type, which has no date.
  return tools.map((tool) =>
    tool.kind === "hosted" ? tool.type.replace(/_\d{8}$/, "") : tool.name
  );
}
