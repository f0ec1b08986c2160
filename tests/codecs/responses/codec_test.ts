import assert from "node:assert/strict";
import { GatewayError } from "../../../src/base/error.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/base/json.ts";
import { responsesCodec } from "../../../src/codecs/responses/mod.ts";
import {
  codecContract,
  plain,
  respellings,
} from "../../contract/codec_contract.ts";
import {
  loadClientRequests,
  loadRecordings,
} from "../../support/recorded/recordings.ts";
import { RESPONSES_CASES } from "./cases.ts";
import { responsesWatch } from "../../../src/codecs/responses/watch.ts";

/** Services with their own dialect. */
const SERVICES: readonly (readonly [prefix: string, service: string])[] = [
  ["chatgpt-codex", "codex"],
  ["openai", "openai"],
  ["azure", "openai"],
  ["codex", "openai"],
  ["openrouter", "openrouter"],
];

/** State that the gateway does not keep. */
const STATE_FIELDS = [
  "previous_response_id",
  "conversation",
  "background",
  "prompt",
];

const recordings = loadRecordings("responses").filter(({ tags }) =>
  ![...tags].some((tag) => tag.startsWith("endpoint:"))
);
const clientRequests = loadClientRequests()
  .filter(({ request }) => "input" in request);
const requests = [...recordings, ...clientRequests];

codecContract({
  codec: responsesCodec,
  request: { model: "m", input: "hi" },
  cases: RESPONSES_CASES,
  recordings: [
    ...recordings.map(({ name, request, answer, stream }) => ({
      name,
      service: serviceOf(name),
      ...(request === undefined || heldState(request).length > 0
        ? {}
        : { request: explicit(request) }),
      ...(answer === undefined || isUnfinished(answer) ? {} : { answer }),
      ...(stream === undefined ? {} : { stream }),
    })),
    ...clientRequests.filter(({ request }) => heldState(request).length === 0)
      .map(({ name, request }) => ({
        name,
        // The recorded models of clients do not exist. Only another gateway accepts them unchanged.
        service: "gateway",
        request: explicit(request),
      })),
  ],
  differences: [],
  respellings: respellings(`
^text.format.schema.$schema$ → every schema is written in draft 2020-12
^store$ → the default is true, and no upstream shall keep anything
^include$ → what is not kept upstream must come back encrypted
^stream$ → false is the default
.strict$ → an absent one counts as true, which tools of other protocols never mean
^tools[].description$ → null is none
^tools[](.tools[])?.parameters(.$schema|.type|.properties)?$ → a schema without type or properties is refused, and by some the name of its dialect
^input[].(encrypted_content|content)$ → null is none
^input[].content[].(annotations|logprobs)$ → an empty list is none
^input[].call_id$ → an id that OpenAI would refuse; its result gets the same one
^reasoning(.summary)?$ → the Codex back end shows no reasoning unless asked to
^previous_response_id$ → null is none
^text.format$ → free text is the default
^tools$ → an empty list is none
^prompt_cache_key$ → requests of one user share a cache where no key is given
^tool_choice$ → without tools there is nothing to choose, and a summary calls none
^parallel_tool_calls$ → without tools there is nothing to call
`),
});

for (const { name, request } of requests) {
  if (request === undefined) continue;
  const [field] = heldState(request);
  if (field !== undefined) {
    Deno.test(`decodeRequest() rejects ${field} of "${name}"`, () => {
      assert.throws(
        () => responsesCodec.decodeRequest(request),
        (error) => error instanceof GatewayError && error.param === field,
      );
    });
  } else {
    Deno.test(`decodeRequest() reads the short spelling of "${name}" as the explicit one`, () => {
      assert.deepEqual(
        plain(responsesCodec.decodeRequest(request)),
        plain(responsesCodec.decodeRequest(explicit(request))),
      );
    });
  }
}

function serviceOf(name: string): string {
  return SERVICES.find(([prefix]) => name.startsWith(prefix))?.[1] ?? "custom";
}

/** Returns the fields and items of a request that refer to the provider's state. */
function heldState(request: JsonObject): string[] {
  const items = Array.isArray(request.input) ? request.input : [];
  const references = items.flatMap((item, index) =>
    isJsonObject(item) && item.type === "item_reference"
      ? [`input[${index}]`]
      : []
  );
  return [
    ...STATE_FIELDS.filter((field) => request[field] || false),
    ...references,
  ];
}

/** Returns true for answers in the background, which the gateway never requests. */
function isUnfinished(answer: JsonValue): boolean {
  return isJsonObject(answer) &&
    (answer.status === "queued" || answer.status === "in_progress");
}

/**
 * Returns the request in the protocol's longer spelling: items for text, typed messages, parts for
 * their text.
 */
function explicit(request: JsonObject): JsonObject {
  const { input } = request;
  const items = typeof input === "string"
    ? [{ role: "user", content: input }]
    : Array.isArray(input)
    ? input
    : [];
  return { ...request, input: items.map(explicitItem) };
}

function explicitItem(item: JsonValue): JsonValue {
  if (!isJsonObject(item) || typeof item.role !== "string") return item;
  if (item.type !== undefined && item.type !== "message") return item;
  const type = item.role === "assistant" ? "output_text" : "input_text";
  return {
    ...item,
    type: "message",
    content: typeof item.content === "string"
      ? [{ type, text: item.content }]
      : item.content,
  };
}

Deno.test("responsesWatch.usageOf() reads the usage of an answer, and of an event with an answer", () => {
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 3 },
  };
  for (const body of [{ usage }, { type: "x", response: { usage } }]) {
    assert.deepEqual(responsesWatch.usageOf(body), {
      inputTokens: 10,
      cachedInputTokens: 4,
      cacheWriteTokens: undefined,
      cacheWrite1hTokens: undefined,
      outputTokens: 5,
      reasoningTokens: 3,
      speed: undefined,
      serviceTier: undefined,
    });
  }
});

Deno.test("responsesWatch.usageOf() returns a discounted window as the service tier", () => {
  const tierOf = (completion_window: string) =>
    responsesWatch.usageOf({
      usage: { input_tokens: 1, output_tokens: 1 },
      service_tier: "default",
      background_options: { completion_window },
    })?.serviceTier;
  assert.equal(tierOf("8h"), "background_8h");
  assert.equal(tierOf("soonest"), "default");
});

Deno.test("responsesWatch.usageOf() keeps counts when a later usage has zeros", () => {
  const before = { inputTokens: 10, outputTokens: 5, reasoningTokens: 3 };
  const later = responsesWatch.usageOf({
    response: { usage: { input_tokens: 0, output_tokens: 6 } },
  }, before);
  assert.equal(later?.inputTokens, 10);
  assert.equal(later.outputTokens, 6);
  assert.equal(later.reasoningTokens, 3);
});
