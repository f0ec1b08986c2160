import type { Deployment } from "@gateway/gateway/config";
import { isJsonObject, type JsonValue } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import { PROBES, PROMPT, TOOL, TOOL_PROMPT } from "@gateway/page/wording";
import { type Lesson, remediesFor, translateRequest } from "@gateway/codecs";

/** The body of a request. */
type Body = Readonly<Record<string, JsonValue>>;

/** One small request to a model. */
export interface Trial {
  /** The feature that the request tries, such as `a tool`. */
  readonly name: string;
  /** Returns the body; `undefined` when the trial continues a tool call, but the previous answer has no call. */
  body(
    before: JsonValue | undefined,
  ): Readonly<Record<string, unknown>> | undefined;
  /** Returns the reason why an answer with status 200 fails the trial; `undefined` when it passes. */
  fault?(text: string, answer: JsonValue | undefined): string | undefined;
  /**
   * Lists of lessons that may avoid a refusal. They are tried one after another when the provider's refusal named no
   * cause.
   */
  readonly remedies?: readonly (readonly Lesson[])[] | undefined;
}

/** The output limit of most requests, in tokens. It is enough for a sentence after some reasoning. */
const MAX_TOKENS = 400;

/** The output limit that coding agents send. */
const AGENT_TOKENS = 64_000;

/** The efforts to try when the configuration names no efforts. */
const EFFORTS = ["none", "low", "medium", "high", "xhigh", "max"];

/** A tool's name that uses all that the protocols allow: 64 characters, a digit at the beginning, and a hyphen. */
const TOOL_NAME = "7-note".padEnd(64, "_number");

/** A schema with keywords that some providers refuse. */
const PATTERNS = {
  type: "object",
  properties: {
    word: { type: "string", pattern: "^[a-z]+$", minLength: 1, maxLength: 9 },
    day: { type: "string", format: "date", default: "2030-01-01" },
    number: { type: "integer", minimum: 0, maximum: 9, multipleOf: 1 },
    list: {
      ...{ type: "array", items: { type: "string" } },
      ...{ minItems: 0, maxItems: 3, uniqueItems: true },
    },
  },
  additionalProperties: false,
};

/**
 * Returns the requests that try a model in a caller's protocol. A request that continues a tool call directly follows
 * the request for that call. A request that the protocol cannot express is left out.
 */
export function trialsOf(
  { connection, model }: Deployment,
  protocol: Protocol,
): readonly Trial[] {
  const { streamEnd, callsTool } = PROBES[protocol];
  const limit = protocol === "chat"
    ? limitField({ service: connection.service, model: model.upstream })
    : "max_tokens";
  const ask = (fields: Body, prompt = PROMPT) =>
    written({
      ...{ model: model.id, [limit]: MAX_TOKENS },
      messages: [{ role: "user", content: prompt }],
      ...fields,
    }, protocol);
  const trial = (
    name: string,
    fields: Body,
    { prompt = PROMPT, ...more }:
      & Partial<Pick<Trial, "fault" | "remedies">>
      & { readonly prompt?: string } = {},
  ): readonly Trial[] => {
    const body = ask(fields, prompt);
    return body === undefined ? [] : [{ name, body: () => body, ...more }];
  };
  const streamFault = (text: string) =>
    streamEnd.test(text) ? undefined : "it broke off";
  const takesPictures = model.input?.includes("image") ?? true;
  const efforts = (model.efforts ?? EFFORTS).filter((effort) =>
    protocol !== "messages" || effort !== "none" && effort !== "minimal"
  );
  return [
    ...trial("a word", {}),
    ...trial("a stream", { stream: true }, { fault: streamFault }),
    ...trial("a temperature", { temperature: 0.5 }, {
      remedies: remediesFor("temperature"),
    }),
    ...trial("a stop string", { stop: ["END"] }, {
      prompt: "Say START and then END.",
      remedies: remediesFor("stop"),
    }),
    ...trial("a high limit", { stream: true, [limit]: AGENT_TOKENS }, {
      fault: streamFault,
      remedies: remediesFor("limit"),
    }),
    ...trial("a schema", { response_format: FORMAT }),
    ...(takesPictures
      ? [
        ...trial("a picture", { messages: [PICTURE] }),
        ...trial("an earlier picture", {
          messages: [PICTURE, ANSWER, { role: "user", content: PROMPT }],
        }, { remedies: remediesFor("pictures") }),
      ]
      : []),
    ...trial("a begun answer", {
      messages: [{ role: "user", content: PROMPT }, ANSWER],
    }, { remedies: remediesFor("prefill") }),
    ...efforts.flatMap((effort) =>
      trial(`effort ${effort}`, { reasoning_effort: effort }, {
        remedies: remediesFor({ effort }),
      })
    ),
    ...trial("a strict tool", {
      tools: [toolOf({ strict: true, parameters: STRICT })],
    }, {
      remedies: remediesFor("strict"),
    }),
    ...trial("patterns", { tools: [toolOf({ parameters: PATTERNS })] }, {
      remedies: remediesFor("keywords"),
    }),
    ...trial("a long tool name", { tools: [toolOf({ name: TOOL_NAME })] }, {
      remedies: remediesFor("names"),
    }),
    ...trial("a tool", { tools: [toolOf()] }, {
      prompt: TOOL_PROMPT,
      fault: (text, answer) =>
        streamEnd.test(text) || callsTool(answer)
          ? undefined
          : "it called no tool",
    }),
    {
      name: "a tool loop",
      body: (before) =>
        callsTool(before)
          ? {
            ...ask({ tools: [toolOf()] }),
            ...LOOPS[protocol](before),
          }
          : undefined,
    },
  ];
}

/** Returns the field of Chat Completions in which the provider takes the output limit. */
function limitField(target: { service: string; model: string }): string {
  const { body } = translateRequest(
    { model: "m", max_tokens: 1, messages: [{ role: "user", content: "Hi" }] },
    { from: "chat", to: "chat", target },
  );
  return body.max_tokens === undefined ? "max_completion_tokens" : "max_tokens";
}

/** A target that accepts every field of the protocols. Another gateway is such a target. */
const PLAIN_TARGET = { service: "gateway", model: "" };

/**
 * Translates a body of Chat Completions to a protocol. Returns `undefined` when the protocol has no place for a field
 * of the body.
 */
function written(
  { reasoning_effort, ...chat }: Body,
  protocol: Protocol,
): Body | undefined {
  const effort = reasoning_effort === undefined ? {} : { reasoning_effort };
  if (protocol === "chat") return { ...chat, ...effort };
  const isMessages = protocol === "messages";
  const { body, dropped } = translateRequest(
    { ...chat, ...(isMessages ? {} : effort) },
    { from: "chat", to: protocol, target: PLAIN_TARGET },
  );
  return dropped.size > 0 ? undefined : {
    ...body,
    model: chat.model ?? "",
    ...(isMessages && reasoning_effort !== undefined
      ? { output_config: { effort: reasoning_effort } }
      : {}),
  };
}

const STRICT = { ...TOOL.schema, additionalProperties: false };

const FORMAT = {
  type: "json_schema",
  json_schema: { name: "number", strict: true, schema: STRICT },
};

/** Returns the tool that {@linkcode TOOL_PROMPT} asks for. The tool's definition also gets these fields. */
function toolOf(fields: Body = {}): JsonValue {
  const { name, description, schema: parameters } = TOOL;
  return {
    type: "function",
    function: { ...{ name, description, parameters }, ...fields },
  };
}

/** A red square of 32 by 32 pixels. Some providers refuse smaller images. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC";

const PICTURE = {
  role: "user",
  content: [
    { type: "text", text: PROMPT },
    { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
  ],
};

const ANSWER = { role: "assistant", content: "O" };

const RESULT = "Noted.";

/**
 * The fields that continue an answer with tool calls, for each protocol: they repeat the answer, and add a result for
 * each call.
 */
const LOOPS: Readonly<
  Record<
    Protocol,
    (answer: JsonValue | undefined) => Readonly<Record<string, unknown>>
  >
> = {
  chat: (answer) => {
    const [choice] = listAt(answer, "choices");
    const message = fieldOf(choice, "message");
    return {
      messages: [
        { role: "user", content: TOOL_PROMPT },
        message,
        ...listAt(message, "tool_calls").map((call) => ({
          role: "tool",
          tool_call_id: fieldOf(call, "id"),
          content: RESULT,
        })),
      ],
    };
  },
  messages: (answer) => {
    const content = listAt(answer, "content");
    return {
      messages: [
        { role: "user", content: TOOL_PROMPT },
        { role: "assistant", content },
        {
          role: "user",
          content: ofType(content, "tool_use").map((call) => ({
            type: "tool_result",
            tool_use_id: fieldOf(call, "id"),
            content: RESULT,
          })),
        },
      ],
    };
  },
  responses: (answer) => {
    const output = listAt(answer, "output");
    return {
      input: [
        { role: "user", content: TOOL_PROMPT },
        ...output,
        ...ofType(output, "function_call").map((call) => ({
          type: "function_call_output",
          call_id: fieldOf(call, "call_id"),
          output: RESULT,
        })),
      ],
    };
  },
};

function ofType(list: readonly JsonValue[], type: string) {
  return list.filter((part) => fieldOf(part, "type") === type);
}

function fieldOf(
  holder: JsonValue | undefined,
  key: string,
): JsonValue | undefined {
  return isJsonObject(holder) ? holder[key] : undefined;
}

function listAt(
  holder: JsonValue | undefined,
  key: string,
): readonly JsonValue[] {
  const list = fieldOf(holder, key);
  return Array.isArray(list) ? list : [];
}
