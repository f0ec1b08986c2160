import { isJsonObject, type JsonValue } from "../../core/json.ts";
import type { Protocol } from "../../core/protocol.ts";
import { PROBES, PROMPT, TOOL_PROMPT } from "../../http/wording/probes.js";
import { dialectOf } from "../../protocols/chat/dialect.ts";
import type { Deployment } from "../../config/config.ts";

/** The body of a request. */
type Body = Readonly<Record<string, unknown>>;

/** One small request to a model. */
export interface Trial {
  /** What it tries, such as `a tool`. */
  readonly name: string;
  /** Returns the body; `undefined` when the answer before it has nothing to continue. */
  body(before: JsonValue | undefined): Body | undefined;
  /** Returns the reason why an answer with status 200 does not show that it works; `undefined` when it does. */
  fault?(text: string, answer: JsonValue | undefined): string | undefined;
}

/** The most tokens of an answer, enough for a sentence behind some reasoning. */
const MAX_TOKENS = 400;

/** The efforts to try where the configuration names none. */
const EFFORTS = ["none", "low", "medium", "high", "xhigh", "max"];

/**
 * Returns the requests that try a model in a caller's protocol. A tool loop follows the request whose answer it
 * continues.
 */
export function trialsOf(
  { connection, model }: Deployment,
  protocol: Protocol,
): readonly Trial[] {
  const { body, tool, streamEnd, callsTool } = PROBES[protocol];
  const spelling = SPELLINGS[protocol];
  const target = { service: connection.service, model: model.upstream };
  const ask = (prompt: string, fields: Body = {}): Body => ({
    ...body(model.id, prompt),
    [spelling.limitField(target)]: MAX_TOKENS,
    ...fields,
  });
  const simple = (name: string, fields: Body, prompt = PROMPT): Trial => ({
    name,
    body: () => ask(prompt, fields),
  });
  const takesPictures = model.input?.includes("image") ?? true;
  const efforts = (model.efforts ?? EFFORTS).filter((effort) =>
    protocol !== "messages" || effort !== "none" && effort !== "minimal"
  );
  return [
    simple("a word", {}),
    {
      ...simple("a stream", { stream: true }),
      fault: (text) => streamEnd.test(text) ? undefined : "it broke off",
    },
    simple("a temperature", { temperature: 0.5 }),
    ...(spelling.stop === undefined
      ? []
      : [simple("a stop string", spelling.stop, "Say START and then END.")]),
    simple("a schema", spelling.schema),
    ...(takesPictures ? [simple("a picture", spelling.picture)] : []),
    ...efforts.map((effort) =>
      simple(`effort ${effort}`, spelling.effort(effort))
    ),
    {
      ...simple("a tool", { tools: [tool] }, TOOL_PROMPT),
      fault: (_text, answer) =>
        callsTool(answer) ? undefined : "it called no tool",
    },
    {
      name: "a tool loop",
      body: (before) => {
        const loop = callsTool(before)
          ? spelling.loop(TOOL_PROMPT, before)
          : undefined;
        return loop && ask(TOOL_PROMPT, { tools: [tool], ...loop });
      },
    },
  ];
}

const SCHEMA = {
  type: "object",
  properties: { word: { type: "string" } },
  required: ["word"],
  additionalProperties: false,
};

/** A red square of 32 by 32 pixels; some providers refuse smaller ones. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC";

const PNG_URL = `data:image/png;base64,${PNG}`;

const RESULT = "Noted.";

/** The parts of the requests that each protocol spells in its own way. */
interface Spelling {
  /** The field of the limit of an answer. */
  limitField(target: Parameters<typeof dialectOf>[0]): string;
  readonly effort: (effort: string) => Body;
  /** Absent where the protocol has no stop strings. */
  readonly stop?: Body;
  readonly schema: Body;
  readonly picture: Body;
  /** Continues an answer that has calls: repeats it, with a result for each call. */
  readonly loop: (prompt: string, answer: JsonValue | undefined) => Body;
}

const SPELLINGS: Readonly<Record<Protocol, Spelling>> = {
  chat: {
    limitField: (target) => dialectOf(target).limitField,
    effort: (effort) => ({ reasoning_effort: effort }),
    stop: { stop: ["END"] },
    schema: {
      response_format: {
        type: "json_schema",
        json_schema: { name: "word", strict: true, schema: SCHEMA },
      },
    },
    picture: {
      messages: [{
        role: "user",
        content: [
          { type: "text", text: PROMPT },
          { type: "image_url", image_url: { url: PNG_URL } },
        ],
      }],
    },
    loop: (prompt, answer) => {
      const [choice] = listAt(answer, "choices");
      const message = fieldOf(choice, "message");
      return {
        messages: [
          { role: "user", content: prompt },
          message,
          ...listAt(message, "tool_calls").map((call) => ({
            role: "tool",
            tool_call_id: fieldOf(call, "id"),
            content: RESULT,
          })),
        ],
      };
    },
  },
  messages: {
    limitField: () => "max_tokens",
    effort: (effort) => ({ output_config: { effort } }),
    stop: { stop_sequences: ["END"] },
    schema: {
      output_config: { format: { type: "json_schema", schema: SCHEMA } },
    },
    picture: {
      messages: [{
        role: "user",
        content: [
          { type: "text", text: PROMPT },
          {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: PNG },
          },
        ],
      }],
    },
    loop: (prompt, answer) => {
      const content = listAt(answer, "content");
      return {
        messages: [
          { role: "user", content: prompt },
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
  },
  responses: {
    limitField: () => "max_output_tokens",
    effort: (effort) => ({ reasoning: { effort } }),
    schema: {
      text: {
        format: {
          type: "json_schema",
          name: "word",
          strict: true,
          schema: SCHEMA,
        },
      },
    },
    picture: {
      input: [{
        role: "user",
        content: [
          { type: "input_text", text: PROMPT },
          { type: "input_image", image_url: PNG_URL },
        ],
      }],
    },
    loop: (prompt, answer) => {
      const output = listAt(answer, "output");
      return {
        input: [
          { role: "user", content: prompt },
          ...output,
          ...ofType(output, "function_call").map((call) => ({
            type: "function_call_output",
            call_id: fieldOf(call, "call_id"),
            output: RESULT,
          })),
        ],
      };
    },
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
