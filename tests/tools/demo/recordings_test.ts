import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../src/base/json.ts";
import { foldChat } from "../../support/sdk/chat_fold.ts";
import { foldMessages } from "../../support/sdk/messages_fold.ts";
import { foldResponses } from "../../support/sdk/responses_fold.ts";
import { framesOf } from "../../support/wire/sse_frames.ts";
import { askStream } from "./harness.ts";
import { testNeeding } from "../../support/ignored.ts";
import { steps } from "../../support/steps.ts";

/** The folder of recordings of real providers, outside the repository. It may be missing. */
const RECORDINGS = new URL("../../../../shared/recordings/", import.meta.url);

const isAbsent = await Deno.stat(RECORDINGS).then(() => false, () => true);

function recorded(path: string): Promise<string> {
  return Deno.readTextFile(new URL(`${path}/response.sse`, RECORDINGS));
}

const SAME_GRAMMAR: readonly (readonly [
  path: string,
  fold: (text: string) => unknown,
])[] = [
  ["chat/openai-gpt-4o-async-stream", foldChat],
  ["chat/openai-gpt-4o-2024-11-20-object-streaming", foldChat],
  [
    "messages/anthropic-anthropicthinking-claude-sonnet-4-thinking-streaming",
    foldMessages,
  ],
  [
    "messages/anthropic-claude-agent-sdk-v1-messages-beta-true-post-2",
    foldMessages,
  ],
  ["responses/openai-gpt-4o-async-stream-2", foldResponses],
];

testNeeding(
  "recorded streams of real providers pass the checks of the grammar",
  isAbsent && "there are no recordings here",
  async (t) => {
    for (const [path, fold] of SAME_GRAMMAR) {
      await t.step(path, async () => void fold(await recorded(path)));
    }
  },
);

testNeeding(
  "the strict provider streams only fields that real providers stream",
  isAbsent && "there are no recordings here",
  async (t) => {
    await steps(
      t,
      Object.entries(await demoStreams()),
      async ([, { text, folder, providers }]) => {
        const known = await recordedFields(folder, providers);
        const unknown = [...fieldsOf(text)].filter((field) =>
          !known.has(field)
        );
        assert.deepEqual(unknown, []);
      },
    );
  },
);

async function demoStreams() {
  const tools = [{ name: "f", input_schema: { type: "object" } }];
  const messages = [{ role: "user", content: "use the tool" }];
  return {
    chat: {
      folder: "chat",
      providers: /^(openai|zai|deepseek)-/,
      text: await askStream("A", "/v1/chat/completions", {
        model: "demo-a-think",
        messages,
        tools: [{ type: "function", function: { name: "f" } }],
        stream_options: { include_usage: true },
      }),
    },
    messages: {
      folder: "messages",
      providers: /^anthropic-/,
      text: await askStream("B", "/v1/messages", {
        model: "demo-b-think",
        max_tokens: 500,
        messages,
        tools,
      }),
    },
    responses: {
      folder: "responses",
      providers: /^openai-/,
      text: await askStream("C", "/v1/responses", {
        model: "demo-c-think",
        input: "use the tool",
        include: ["reasoning.encrypted_content"],
        tools: [{ type: "function", name: "f", parameters: {} }],
      }),
    },
    "responses, a text": {
      folder: "responses",
      providers: /^openai-/,
      text: await askStream("C", "/v1/responses", {
        model: "demo-c",
        input: "hello",
        max_output_tokens: 16,
      }),
    },
  };
}

async function recordedFields(
  folder: string,
  providers: RegExp,
): Promise<Set<string>> {
  const fields = new Set<string>();
  for await (const { name } of Deno.readDir(new URL(folder, RECORDINGS))) {
    if (!providers.test(name)) continue;
    const text = await recorded(`${folder}/${name}`).catch(() => "");
    for (const field of fieldsOf(text)) fields.add(field);
  }
  return fields;
}

/**
 * Returns the paths of all fields in a stream. A path begins with the event's type, such as
 * `message_start.message.usage`.
 */
function fieldsOf(text: string): Set<string> {
  const fields = new Set<string>();
  for (const { data } of framesOf(text)) {
    const payload = parseJson(data);
    if (!isJsonObject(payload)) continue;
    collect(payload, kindOf(payload), fields);
  }
  return fields;
}

/**
 * Returns the kind of an event or a body. Incomplete answers count as completed ones: the fields agree, and few were
 * recorded.
 */
function kindOf({ type, object }: JsonObject): string {
  return String(type ?? object).replace("incomplete", "completed");
}

function collect(value: JsonValue, path: string, fields: Set<string>): void {
  fields.add(path);
  if (Array.isArray(value)) {
    for (const each of value) collect(each, `${path}[]`, fields);
  } else if (isJsonObject(value)) {
    for (const [name, each] of Object.entries(value)) {
      if (each !== undefined) collect(each, `${path}.${name}`, fields);
    }
  }
}
