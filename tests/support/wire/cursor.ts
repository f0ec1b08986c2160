import type { JsonObject, JsonValue } from "../../../src/base/json.ts";

/** The input of the tool of {@linkcode cursorBody}. */
export const PATCH = "*** Begin Patch\n*** Add File: a.txt\n+Hi\n*** End Patch";

const GRAMMAR = {
  type: "grammar",
  syntax: "lark",
  definition: "start: begin_patch hunk end_patch",
};

/**
 * Returns a request of Cursor's agent to `/chat/completions` of a custom base URL: a Responses
 * request with `stream_options` of Chat Completions. Fields and values as reported in
 * forum.cursor.com/t/153019, forum.cursor.com/t/159298 and
 * github.com/icebear0828/codex-proxy/issues/707.
 */
export function cursorBody(
  model: string,
  overrides: JsonObject = {},
): JsonObject {
  return {
    model,
    user: "google-oauth2|user_1",
    input: [
      { role: "system", content: "You are a coding agent" },
      { role: "user", content: [{ type: "input_text", text: "Write a file" }] },
    ],
    tools: [
      {
        type: "function",
        name: "Shell",
        description: "Runs a command",
        strict: false,
        parameters: {
          type: "object",
          properties: { command: { type: "string" } },
          required: ["command"],
        },
      },
      {
        type: "custom",
        name: "ApplyPatch",
        description: "Edits files",
        format: GRAMMAR,
      },
    ],
    tool_choice: "auto",
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    prompt_cache_retention: "24h",
    reasoning: { effort: "medium", summary: "auto" },
    text: { verbosity: "low" },
    stream_options: { include_usage: true },
    ...overrides,
  };
}

/**
 * Returns the additional items of the next request, after the tool has run. Cursor uses the call's
 * id from the Chat Completions answer.
 */
export function cursorTurn(callId: string): JsonValue[] {
  return [
    {
      type: "function_call",
      call_id: callId,
      name: "ApplyPatch",
      arguments: PATCH,
    },
    { type: "function_call_output", call_id: callId, output: "Done" },
  ];
}
