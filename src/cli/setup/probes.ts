import type { Protocol } from "../../core/protocol.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";

/** How a model is tried in a protocol. */
export interface Probe {
  /** The body of a request that says `text` to a model, and asks for no stream. */
  body(model: string, text: string): JsonObject;
  /** The tool {@linkcode TOOL}, as the protocol writes it. */
  readonly tool: JsonObject;
  /** What ends a whole stream. */
  readonly streamEnd: RegExp;
  /** Whether an answer calls {@linkcode TOOL}. */
  callsTool(answer: JsonObject): boolean;
}

/** A tool that any model can call without knowing anything. */
const TOOL = {
  name: "note_number",
  description: "Notes a number.",
  schema: {
    type: "object",
    properties: { number: { type: "integer" } },
    required: ["number"],
  },
};

/** What makes a model call {@linkcode TOOL}. */
export const TOOL_PROMPT = `Use ${TOOL.name} with {"number":7}`;

/** Enough for a model that thinks before it says a word. */
const MAX_TOKENS = 2048;

/** One row a protocol. */
export const PROBES: Readonly<Record<Protocol, Probe>> = {
  chat: {
    body: (model, content) => ({
      model,
      messages: [{ role: "user", content }],
    }),
    tool: {
      type: "function",
      function: {
        name: TOOL.name,
        description: TOOL.description,
        parameters: TOOL.schema,
      },
    },
    streamEnd: /^data: *\[DONE\]/m,
    callsTool: ({ choices }) =>
      objectsIn(choices).some(({ message }) =>
        isJsonObject(message) &&
        objectsIn(message.tool_calls).some(({ function: called }) =>
          isJsonObject(called) && called.name === TOOL.name
        )
      ),
  },
  messages: {
    body: (model, content) => ({
      model,
      max_tokens: MAX_TOKENS,
      messages: [{ role: "user", content }],
    }),
    tool: {
      name: TOOL.name,
      description: TOOL.description,
      input_schema: TOOL.schema,
    },
    streamEnd: /^event: *message_stop/m,
    callsTool: ({ content }) =>
      objectsIn(content).some(({ type, name }) =>
        type === "tool_use" && name === TOOL.name
      ),
  },
  responses: {
    body: (model, input) => ({ model, input, store: false }),
    tool: {
      type: "function",
      name: TOOL.name,
      description: TOOL.description,
      parameters: TOOL.schema,
      strict: false,
    },
    streamEnd: /^event: *response\.completed/m,
    callsTool: ({ output }) =>
      objectsIn(output).some(({ type, name }) =>
        type === "function_call" && name === TOOL.name
      ),
  },
};

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
