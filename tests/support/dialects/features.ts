import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import type {
  Block,
  CacheMark,
} from "../../../src/codecs/canonical/content/block.ts";
import { countCacheMarks } from "../../../src/codecs/canonical/request/loss.ts";
import type { CanonicalRequest } from "../../../src/codecs/canonical/request/request.ts";

/** A feature that a request may use. */
export interface Feature {
  /** The name in docs/translation.md. */
  readonly name: string;
  /**
   * The fields that use the feature in each protocol, added to the smallest request. Absent where
   * the protocol lacks the feature.
   */
  readonly asked: Readonly<Partial<Record<Protocol, JsonObject>>>;
  /**
   * Returns the form of the feature in the request that the upstream received; `undefined` when it
   * is absent.
   */
  found(request: CanonicalRequest): string | undefined;
}

const KEPT = "kept";

const PICTURE = "iVBORw0KGgo=";

const DOCUMENT = "JVBERi0xLjQ=";

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

const CHAT_TOOL = {
  type: "function",
  function: { name: "weather", parameters: SCHEMA },
};

const MESSAGES_TOOL = { name: "weather", input_schema: SCHEMA };

const RESPONSES_TOOL = {
  type: "function",
  name: "weather",
  parameters: SCHEMA,
};

const GRAMMAR = { syntax: "lark", definition: "start: /.+/" };

/** Every request feature of docs/translation.md, in the same order. */
export const FEATURES: readonly Feature[] = [
  {
    name: "text",
    asked: { chat: {}, messages: {}, responses: {} },
    found: (request) =>
      keptIf(
        blocksOf(request).some((block) =>
          block.kind === "text" && block.text === "Hello"
        ),
      ),
  },
  {
    name: "system and developer text",
    asked: {
      chat: turns("messages", { role: "developer", content: "Be brief" }),
      messages: { system: "Be brief" },
      responses: { instructions: "Be brief" },
    },
    found: (request) =>
      keptIf(JSON.stringify(request.turns).includes("Be brief")),
  },
  media("images, as bytes", "image", {
    chat: imageUrl(`data:image/png;base64,${PICTURE}`),
    messages: {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: PICTURE },
    },
    responses: inputImage(`data:image/png;base64,${PICTURE}`),
  }),
  media("images, by URL", "image", {
    chat: imageUrl("https://example.com/a.png"),
    messages: {
      type: "image",
      source: { type: "url", url: "https://example.com/a.png" },
    },
    responses: inputImage("https://example.com/a.png"),
  }),
  media("files, as bytes", "file", {
    chat: {
      type: "file",
      file: {
        filename: "a.pdf",
        file_data: `data:application/pdf;base64,${DOCUMENT}`,
      },
    },
    messages: {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: DOCUMENT },
    },
    responses: {
      type: "input_file",
      filename: "a.pdf",
      file_data: `data:application/pdf;base64,${DOCUMENT}`,
    },
  }),
  media("audio", "audio", {
    chat: {
      type: "input_audio",
      input_audio: { format: "wav", data: "UklGRg==" },
    },
  }),
  {
    name: "function tools",
    asked: {
      chat: { tools: [CHAT_TOOL] },
      messages: { tools: [MESSAGES_TOOL] },
      responses: { tools: [RESPONSES_TOOL] },
    },
    found: ({ tools: [tool] }) =>
      keptIf(tool?.kind === "function" && tool.name === "weather"),
  },
  {
    name: "custom tools",
    asked: {
      chat: {
        tools: [{
          type: "custom",
          custom: {
            name: "patch",
            format: { type: "grammar", grammar: GRAMMAR },
          },
        }],
      },
      responses: {
        tools: [{
          type: "custom",
          name: "patch",
          format: { type: "grammar", ...GRAMMAR },
        }],
      },
    },
    found({ tools: [tool] }) {
      if (tool?.kind === "custom") return KEPT;
      return tool?.kind === "function" && tool.name === "patch"
        ? "as a function"
        : undefined;
    },
  },
  {
    name: "deprecated `functions`",
    asked: { chat: { functions: [{ name: "weather", parameters: SCHEMA }] } },
    found: ({ tools: [tool] }) =>
      tool?.kind === "function" && tool.name === "weather"
        ? "as a tool"
        : undefined,
  },
  {
    name: "web search as a setting",
    asked: { chat: { web_search_options: {} } },
    found: ({ tools: [tool] }) =>
      tool?.kind === "hosted" && tool.type === "web_search"
        ? "as a tool"
        : undefined,
  },
  {
    name: "web search as a tool",
    asked: {
      messages: {
        tools: [{ type: "web_search_20250305", name: "web_search" }],
      },
      responses: { tools: [{ type: "web_search" }] },
    },
    found: ({ tools: [tool] }) =>
      keptIf(tool?.kind === "hosted" && tool.type.startsWith("web_search")),
  },
  {
    name: "a forced tool",
    asked: {
      chat: {
        tools: [CHAT_TOOL],
        tool_choice: { type: "function", function: { name: "weather" } },
      },
      messages: {
        tools: [MESSAGES_TOOL],
        tool_choice: { type: "tool", name: "weather" },
      },
      responses: {
        tools: [RESPONSES_TOOL],
        tool_choice: { type: "function", name: "weather" },
      },
    },
    found: ({ toolChoice }) => keptIf(toolChoice?.type === "tool"),
  },
  {
    name: "no parallel tools",
    asked: {
      chat: { tools: [CHAT_TOOL], parallel_tool_calls: false },
      messages: {
        tools: [MESSAGES_TOOL],
        tool_choice: { type: "auto", disable_parallel_tool_use: true },
      },
      responses: { tools: [RESPONSES_TOOL], parallel_tool_calls: false },
    },
    found: ({ parallelTools }) => keptIf(parallelTools === false),
  },
  {
    name: "structured output",
    asked: {
      chat: {
        response_format: {
          type: "json_schema",
          json_schema: { name: "place", schema: SCHEMA },
        },
      },
      messages: {
        output_config: { format: { type: "json_schema", schema: SCHEMA } },
      },
      responses: {
        text: {
          format: { type: "json_schema", name: "place", schema: SCHEMA },
        },
      },
    },
    found: ({ format }) => keptIf(format?.type === "schema"),
  },
  {
    name: "JSON without a schema",
    asked: {
      chat: { response_format: { type: "json_object" } },
      responses: { text: { format: { type: "json_object" } } },
    },
    found(request) {
      if (request.format?.type === "json") return KEPT;
      return /JSON/.test(JSON.stringify(request.turns))
        ? "in words"
        : undefined;
    },
  },
  setting("stop strings", {
    chat: { stop: ["END"] },
    messages: { stop_sequences: ["END"] },
  }, ({ stop }) => stop?.[0] === "END"),
  setting("token limit", {
    chat: { max_completion_tokens: 64 },
    messages: { max_tokens: 64 },
    responses: { max_output_tokens: 64 },
  }, ({ maxOutputTokens }) => maxOutputTokens === 64),
  same(
    "temperature",
    { temperature: 0.5 },
    ({ sampling }) => sampling.temperature === 0.5,
  ),
  same("`top_p`", { top_p: 0.5 }, ({ sampling }) => sampling.topP === 0.5),
  setting(
    "`top_k`",
    { messages: { top_k: 3 } },
    ({ sampling }) => sampling.topK === 3,
  ),
  setting("seed", { chat: { seed: 3 } }, ({ sampling }) => sampling.seed === 3),
  setting(
    "penalties",
    { chat: { frequency_penalty: 0.5 } },
    ({ sampling }) => sampling.frequencyPenalty === 0.5,
  ),
  {
    name: "reasoning effort",
    asked: {
      chat: { reasoning_effort: "high" },
      messages: { output_config: { effort: "high" } },
      responses: { reasoning: { effort: "high" } },
    },
    found: ({ reasoning }) => keptIf(reasoning?.effort === "high"),
  },
  {
    name: "thinking budget",
    asked: {
      chat: { thinking: { type: "enabled", budget_tokens: 10_000 } },
      messages: {
        max_tokens: 20_000,
        thinking: { type: "enabled", budget_tokens: 10_000 },
      },
    },
    found({ reasoning }) {
      if (reasoning?.mode === "budget") return KEPT;
      return reasoning?.effort === undefined ? undefined : "as effort";
    },
  },
  setting("verbosity", {
    chat: { verbosity: "low" },
    responses: { text: { verbosity: "low" } },
  }, ({ verbosity }) => verbosity === "low"),
  setting("service tier", {
    chat: { service_tier: "flex" },
    messages: { service_tier: "standard_only" },
    responses: { service_tier: "flex" },
  }, ({ serviceTier }) => serviceTier !== undefined),
  setting("user id", {
    chat: { user: "anna" },
    messages: { metadata: { user_id: "anna" } },
    responses: { safety_identifier: "anna" },
  }, ({ user }) => user === "anna"),
  setting("metadata", {
    chat: { metadata: { team: "a" } },
    responses: { metadata: { team: "a" } },
  }, ({ metadata }) => metadata?.team === "a"),
  {
    name: "prompt cache key",
    asked: {
      chat: { prompt_cache_key: "k" },
      responses: { prompt_cache_key: "k" },
    },
    found: (request) =>
      request.cacheKey === "k"
        ? KEPT
        : countCacheMarks(request) > 0
        ? "as marks"
        : undefined,
  },
  {
    name: "prompt cache marks",
    asked: {
      chat: content("chat", {
        type: "text",
        text: "Hello",
        cache_control: { type: "ephemeral" },
      }),
      messages: content("messages", {
        type: "text",
        text: "Hello",
        cache_control: { type: "ephemeral" },
      }),
    },
    found: (request) =>
      keptIf(blocksOf(request).some((block) => cacheOf(block) !== undefined)),
  },
  setting("several answers (`n`)", { chat: { n: 2 } }, () => false),
  setting(
    "log probabilities",
    { chat: { logprobs: true } },
    ({ extras: { responses } }) =>
      JSON.stringify(responses?.include?.value).includes(
        "output_text.logprobs",
      ),
  ),
  {
    name: "state at the provider",
    asked: {
      messages: { thread: { type: "create" } },
      responses: { previous_response_id: "resp_1" },
    },
    found: () => undefined,
  },
];

function keptIf(isThere: boolean): string | undefined {
  return isThere ? KEPT : undefined;
}

function setting(
  name: string,
  asked: Feature["asked"],
  isThere: (request: CanonicalRequest) => boolean,
): Feature {
  return { name, asked, found: (request) => keptIf(isThere(request)) };
}

/** Returns a setting with the same name in all protocols. */
function same(
  name: string,
  field: JsonObject,
  isThere: (request: CanonicalRequest) => boolean,
): Feature {
  const asked = { chat: field, messages: field, responses: field };
  return setting(name, asked, isThere);
}

/** Returns a feature that is a part of the user's message, such as an image. */
function media(
  name: string,
  kind: Block["kind"],
  parts: Readonly<Partial<Record<Protocol, JsonObject>>>,
): Feature {
  const { chat, messages, responses } = parts;
  return {
    name,
    asked: {
      ...(chat && { chat: content("chat", chat) }),
      ...(messages && { messages: content("messages", messages) }),
      ...(responses && { responses: content("responses", responses) }),
    },
    found: (request) =>
      keptIf(blocksOf(request).some((one) => one.kind === kind)),
  };
}

function imageUrl(url: string): JsonObject {
  return { type: "image_url", image_url: { url } };
}

function inputImage(url: string): JsonObject {
  return { type: "input_image", image_url: url };
}

/** Returns a user's message that holds `part`. */
function content(protocol: Protocol, part: JsonObject): JsonObject {
  const field = protocol === "responses" ? "input" : "messages";
  return { [field]: [{ role: "user", content: [part] }] };
}

/** Returns a message before the user's. */
function turns(field: string, turn: JsonValue): JsonObject {
  return { [field]: [turn, { role: "user", content: "Hello" }] };
}

function blocksOf({ turns }: CanonicalRequest): Block[] {
  return turns.flatMap(({ blocks }) => [...blocks]);
}

function cacheOf(block: Block): CacheMark | undefined {
  return "cache" in block ? block.cache : undefined;
}
