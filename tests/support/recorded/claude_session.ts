import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/base/json.ts";
import { type Counts, countsOf } from "./hand_price.ts";
import { loadRecordings, parseFrames, type Recording } from "./recordings.ts";

// A long session of Claude Code, made of Anthropic's recorded answers to it and to other clients.

/** Returns the last recorded value of each count; a 0 means that the event does not count it. */
function lastOf(usages: readonly JsonObject[]): JsonObject {
  const last: JsonObject = {};
  for (const usage of usages) {
    for (const [name, value] of Object.entries(usage)) {
      if (value !== null && (value !== 0 || last[name] === undefined)) {
        last[name] = value;
      }
    }
  }
  return last;
}

/** One answer of the provider. */
export interface Turn {
  readonly name: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly isStream: boolean;
  readonly counts: Counts;
  /** The model chooses the provider: `model-b` speaks Messages, `model-a` Chat Completions. */
  readonly model: "model-b" | "model-a";
}

/** Returns every `usage` of a recording. */
function usagesIn({ answer, stream }: Recording): JsonObject[] {
  const objects = stream === undefined
    ? [answer]
    : parseFrames(stream).map(({ data }) => parseJson(data));
  return objects.filter(isJsonObject).flatMap(({ usage, message }) => {
    const inside = isJsonObject(message) ? message.usage : undefined;
    return [usage, inside].filter(isJsonObject);
  });
}

/** Returns true when all counts are the model's own: an advisor has its own price. */
function isOwn(usages: readonly JsonObject[]): boolean {
  const parts = usages.flatMap(({ iterations }) =>
    Array.isArray(iterations) ? iterations.filter(isJsonObject) : []
  );
  return parts.every(({ type }) => type === "message");
}

/** Returns true when one recording joins two streams. */
function isTwo({ stream }: Recording): boolean {
  const text = new TextDecoder().decode(stream);
  return text.split('"type":"message_start"').length > 2 ||
    text.split('"type": "message_start"').length > 2;
}

/** Further ways in which Anthropic could have served Claude Code's answers. */
const CHANGES: readonly ((usage: JsonObject) => JsonObject)[] = [
  (usage) => ({
    ...usage,
    cache_creation: {
      ephemeral_5m_input_tokens: 0,
      ephemeral_1h_input_tokens: usage.cache_creation_input_tokens ?? 0,
    },
  }),
  (usage) => {
    const written = Number(usage.cache_creation_input_tokens ?? 0);
    const hour = Math.floor(written / 3);
    return {
      ...usage,
      cache_creation: {
        ephemeral_5m_input_tokens: written - hour,
        ephemeral_1h_input_tokens: hour,
      },
    };
  },
  (usage) => ({ ...usage, speed: "fast" }),
  (usage) => ({ ...usage, service_tier: "priority" }),
  (usage) => ({ ...usage, service_tier: "batch" }),
  (usage) => ({ ...usage, cache_read_input_tokens: 150_001 }),
];

/** Returns the recorded answers, and variants of Claude Code's answers, as streams and as JSON. */
export function longSession(): Turn[] {
  return loadRecordings("messages").flatMap((recording): Turn[] => {
    const usages = usagesIn(recording);
    if (usages.length === 0 || !isOwn(usages) || isTwo(recording)) return [];
    const { name, stream, answer } = recording;
    const usage = lastOf(usages);
    const counts = countsOf(usage);
    const recorded: Turn = {
      name,
      body: stream === undefined
        ? JSON.stringify(answer)
        : new Uint8Array(stream),
      isStream: stream !== undefined,
      counts,
      model: "model-b",
    };
    if (!name.includes("claude-agent-sdk")) return [recorded];
    const changed = CHANGES.map((change) => change(usage));
    return [
      recorded,
      ...[usage, ...changed].flatMap((one) => [
        { ...writtenAs(one, false), name },
        { ...writtenAs(one, true), name },
      ]),
      ...[usage, ...changed].map(countsOf).filter(isOfChat).flatMap((one) => [
        { ...writtenAsChat(one, false), name },
        { ...writtenAsChat(one, true), name },
      ]),
    ];
  });
}

/** Returns a Messages answer with this usage. */
function writtenAs(usage: JsonObject, isStream: boolean): Omit<Turn, "name"> {
  const counts = countsOf(usage);
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "model-b",
    content: [{ type: "text", text: "Hi" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage,
  };
  const rest = { isStream, counts, model: "model-b" } as const;
  if (!isStream) return { body: JSON.stringify(message), ...rest };
  const events = [
    {
      type: "message_start",
      message: {
        ...message,
        content: [],
        stop_reason: null,
        usage: { ...usage, output_tokens: 1 },
      },
    },
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "text", text: "" },
    },
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: "Hi" },
    },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: usage.output_tokens ?? 0 },
    },
    { type: "message_stop" },
  ];
  const text = events.map((event) =>
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  ).join("");
  return { body: text, ...rest };
}

/** Returns true when Chat Completions can express the counts: it has no speed and no one-hour cache. */
function isOfChat({ speed, written1h }: Counts): boolean {
  return speed !== "fast" && written1h === 0;
}

/** Returns a Chat Completions answer with the same usage. Its prompt count includes all cached tokens. */
function writtenAsChat(counts: Counts, isStream: boolean): Omit<Turn, "name"> {
  const { fresh, read, written5m, output, tier } = counts;
  const prompt = fresh + read + written5m;
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written5m,
    },
  };
  const head = { id: "c1", model: "model-a", created: 1, service_tier: tier };
  const rest = { isStream, counts, model: "model-a" } as const;
  const said = { role: "assistant", content: "Hi" };
  if (!isStream) {
    const choice = { index: 0, message: said, finish_reason: "stop" };
    const object = "chat.completion";
    const body = { ...head, object, choices: [choice], usage };
    return { body: JSON.stringify(body), ...rest };
  }
  const object = "chat.completion.chunk";
  const chunks = [
    { choices: [{ index: 0, delta: said, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { choices: [], usage },
  ].map((chunk) => JSON.stringify({ ...head, object, ...chunk }));
  const body = [...chunks, "[DONE]"].map((data) => `data: ${data}\n\n`)
    .join("");
  return { body, ...rest };
}
