/**
 * The test of a model in each protocol. `setup --check` and the page send the same requests. Pure functions.
 *
 * @typedef {import("./protocols.js").Protocol} Protocol
 *
 * @typedef {object} Probe
 * @property {string} path The path after `/v1` of a request in the protocol.
 * @property {(model: string, text: string) => Readonly<Record<string, unknown>>} body Returns the body of a request
 * with the prompt `text`, without a stream.
 * @property {Readonly<Record<string, unknown>>} tool The tool {@linkcode TOOL} in the protocol's shape.
 * @property {RegExp} streamEnd Matches the end of a complete stream.
 * @property {(answer: unknown) => boolean} callsTool Returns true when an answer calls {@linkcode TOOL}.
 */

/** A tool that any model can call without further knowledge. */
export const TOOL = {
  name: "note_number",
  description: "Notes a number.",
  schema: {
    type: "object",
    properties: { number: { type: "integer" } },
    required: ["number"],
  },
};

/** The prompt of a test without a tool. */
export const PROMPT = "Say OK.";

/** The prompt that makes a model call {@linkcode TOOL}. */
export const TOOL_PROMPT = `Use ${TOOL.name} with {"number":7}`;

/** The token limit of an answer, enough for a model that reasons first. */
const MAX_TOKENS = 2048;

/** @type {Readonly<Record<Protocol, Probe>>} */
export const PROBES = {
  chat: {
    path: "/chat/completions",
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
    callsTool: (answer) =>
      listAt(answer, "choices").some((choice) =>
        listAt(fieldOf(choice, "message"), "tool_calls").some((call) =>
          fieldOf(fieldOf(call, "function"), "name") === TOOL.name
        )
      ),
  },
  messages: {
    path: "/messages",
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
    callsTool: (answer) => listAt(answer, "content").some(isCall("tool_use")),
  },
  responses: {
    path: "/responses",
    body: (model, input) => ({ model, input, store: false }),
    tool: {
      type: "function",
      name: TOOL.name,
      description: TOOL.description,
      parameters: TOOL.schema,
      strict: false,
    },
    streamEnd: /^event: *response\.completed/m,
    callsTool: (answer) =>
      listAt(answer, "output").some(isCall("function_call")),
  },
};

/** @param {string} type @returns {(part: unknown) => boolean} */
function isCall(type) {
  return (part) =>
    fieldOf(part, "type") === type && fieldOf(part, "name") === TOOL.name;
}

/** @param {unknown} holder @param {string} key @returns {readonly unknown[]} */
function listAt(holder, key) {
  const list = fieldOf(holder, key);
  return Array.isArray(list) ? list : [];
}

/** @param {unknown} holder @param {string} key @returns {unknown} */
function fieldOf(holder, key) {
  return typeof holder === "object" && holder !== null
    ? Reflect.get(holder, key)
    : undefined;
}
