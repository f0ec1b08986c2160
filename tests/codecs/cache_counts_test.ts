import assert from "node:assert/strict";
import type { JsonObject } from "../../src/base/json.ts";
import { runStage } from "../../src/base/stage.ts";
import type { Usage } from "../../src/codecs/canonical/answer/answer.ts";
import { readInput } from "../../src/codecs/canonical/answer/cache_counts.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { counterIds } from "../contract/codec_contract.ts";
import { createRandom } from "../support/fakes/random.ts";
import { steps } from "../support/steps.ts";

// Cache tokens are recognized by the words in a field's name, in translated answers and in the log of native ones.

type Counts = readonly [
  input: number,
  read?: number | undefined,
  written?: number,
];

const chat = (fields: JsonObject): JsonObject => ({
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  ...fields,
});

/** The usage of Chat Completions, as each provider spells it. */
const CHAT: readonly (readonly [string, JsonObject, Counts])[] = [
  ["OpenAI", {
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 8 },
  }, [100, 60, 8]],
  ["Mistral at the top", { num_cached_tokens: 60 }, [100, 60]],
  ["Mistral in its details", {
    prompt_token_details: { cached_tokens: 60 },
  }, [100, 60]],
  ["DeepSeek", {
    prompt_cache_hit_tokens: 60,
    prompt_cache_miss_tokens: 40,
  }, [100, 60]],
  ["Kimi", { cached_tokens: 60 }, [100, 60]],
  ["xAI", {
    prompt_tokens_details: { cached_tokens: 60, text_tokens: 100 },
  }, [100, 60]],
  ["Bedrock", {
    cacheReadInputTokens: 60,
    cacheWriteInputTokens: 8,
  }, [100, 60, 8]],
  ["Gemini", { cachedContentTokenCount: 60 }, [100, 60]],
  ["an unknown spelling", { input_cached: 60 }, [100, 60]],
  ["DashScope", {
    prompt_tokens_details: {
      cached_tokens: 0,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 30 },
      cache_type: "ephemeral",
    },
  }, [100, 0, 30]],
  ["a cache by its lifetimes", {
    cache_creation: {
      ephemeral_5m_input_tokens: 10,
      ephemeral_1h_input_tokens: 5,
    },
  }, [100, undefined, 15]],
  ["a zero beside the count", {
    prompt_tokens_details: { cached_tokens: 0 },
    prompt_cache_hit_tokens: 60,
  }, [100, 60]],
  ["prices and other facts", {
    cache_discount: 3,
    cached_tokens_cost: 7,
    uncached_tokens: 40,
    is_cached: true,
    completion_tokens_details: { cached_tokens: 9 },
  }, [100]],
  ["times and names of a cache", {
    cache_created_at: 1_764_388_800,
    cache_read_latency_ms: 1_200,
    cacheReadTimeMs: 900,
    cache_creation_ttl: 3_600,
    cached_content_id: 77,
    cache_read_seconds: 3,
    cached_output_tokens: 9,
    prompt_tokens_details: {
      cached_until_at: 1_764_388_800,
      cached_tokens: 60,
    },
  }, [100, 60]],
  ["contradictory counts", {
    cached_tokens: 60.4,
    prompt_tokens_details: { cached_tokens: "80", cache_read: 20 },
  }, [100, 60]],
  ["counts in lists and further inside", {
    prompt_tokens_details: [{ cached_tokens: 60 }],
    details: { inner: { cached_tokens: 60 } },
  }, [100]],
  ["a part larger than the whole", { cached_tokens: 5000 }, [100, 100]],
  ["parts that are larger together", {
    prompt_tokens_details: { cached_tokens: 90, cache_write_tokens: 50 },
  }, [100, 90, 10]],
  ["negative and broken counts", {
    cached_tokens: -5,
    num_cached_tokens: "many",
    cached: null,
    cache_read: [60],
  }, [100]],
  ["Claude's counts beside the input", {
    prompt_tokens: 10,
    total_tokens: 30,
    cache_read_input_tokens: 500,
    cache_creation_input_tokens: 40,
  }, [550, 500, 40]],
  ["counts beside the input that the total has", {
    total_tokens: 720,
    cached_tokens: 600,
  }, [700, 600]],
  ["small counts beside the input that the total has", {
    total_tokens: 160,
    cache_read_input_tokens: 40,
  }, [140, 40]],
  ["an input that was read whole", {
    prompt_tokens: 0,
    total_tokens: 20,
    cache_read_input_tokens: 500,
  }, [500, 500]],
];

const RESPONSES: readonly (readonly [string, JsonObject, Counts])[] = [
  ["OpenAI", {
    input_tokens_details: { cached_tokens: 60, cache_write_tokens: 8 },
  }, [100, 60, 8]],
  ["OpenAI with lifetimes", {
    input_tokens_details: {
      cached_tokens: 60,
      cache_write_tokens: 8,
      cache_write_tokens_details: { ttl_30m_tokens: 3, ttl_12h_tokens: 5 },
    },
  }, [100, 60, 8]],
  ["others", { num_cached_tokens: 60 }, [100, 60]],
  ["a part larger than the whole", {
    input_tokens_details: { cached_tokens: 5000 },
  }, [100, 100]],
];

const MESSAGES: readonly (readonly [string, JsonObject, Counts])[] = [
  ["Claude", {
    cache_read_input_tokens: 60,
    cache_creation_input_tokens: 8,
  }, [168, 60, 8]],
  ["Claude by lifetimes", {
    cache_creation: {
      ephemeral_5m_input_tokens: 10,
      ephemeral_1h_input_tokens: 5,
    },
  }, [115, undefined, 15]],
  ["Claude without a cache", {
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  }, [100, 0, 0]],
  ["other names", { cached_tokens: 60 }, [100, 60]],
  ["other names beside zeros", {
    cache_read_input_tokens: 0,
    prompt_tokens_details: { cached_tokens: 60 },
  }, [100, 60]],
  ["a part larger than the whole", { cached_tokens: 5000 }, [100, 100]],
];

Deno.test("Chat answers report cached tokens, whatever the provider calls them", async (t) => {
  await steps(t, CHAT, ([, fields, counts]) => {
    const usage = chat(fields);
    const message = { role: "assistant", content: "Hi" };
    const choice = { index: 0, finish_reason: "stop" };
    const whole = { id: "a", choices: [{ ...choice, message }], usage };
    const chunks = [
      { id: "a", choices: [{ ...choice, delta: message }] },
      { id: "a", choices: [], usage },
    ];
    check("chat", { whole, events: [...chunks, "[DONE]"] }, counts);
  });
});

Deno.test("Responses answers report cached tokens, whatever the provider calls them", async (t) => {
  await steps(t, RESPONSES, ([, fields, counts]) => {
    const usage = {
      input_tokens: 100,
      output_tokens: 20,
      total_tokens: 120,
      ...fields,
    };
    const content = [{ type: "output_text", text: "Hi" }];
    const output = [{ type: "message", id: "m", role: "assistant", content }];
    const whole = { id: "a", status: "completed", output, usage };
    const last = { type: "response.completed", response: whole };
    check("responses", { whole, events: [last] }, counts);
  });
});

Deno.test("Messages answers report cached tokens, whatever the provider calls them", async (t) => {
  await steps(t, MESSAGES, ([, fields, counts]) => {
    const usage = { input_tokens: 100, output_tokens: 20, ...fields };
    const head = { id: "a", type: "message", role: "assistant", model: "m" };
    const ending = { stop_reason: "end_turn", stop_sequence: null };
    const whole = { ...head, content: [], ...ending, usage };
    const message = {
      ...head,
      content: [],
      usage: { ...usage, output_tokens: 1 },
    };
    check("messages", {
      whole,
      events: [
        { type: "message_start", message },
        { type: "message_delta", delta: ending, usage: { output_tokens: 20 } },
        { type: "message_stop" },
      ],
    }, counts);
  });
});

interface Exchange {
  readonly whole: JsonObject;
  readonly events: readonly (JsonObject | string)[];
}

/** Checks the counts of an answer, translated and native, in JSON and in a stream. */
function check(
  protocol: keyof typeof CODECS,
  { whole, events }: Exchange,
  [input, read, written]: Counts,
): void {
  const codec = CODECS[protocol];
  const answer = codec.decodeAnswer(whole, counterIds());
  const frames = events.map((one) =>
    typeof one === "string" ? { data: one } : {
      data: JSON.stringify(one),
      ...(typeof one.type === "string" ? { event: one.type } : {}),
    }
  );
  const decoded = runStage(codec.createStreamDecoder(counterIds()), frames);
  const end = decoded.at(-1);
  const objects = events.filter((one) => typeof one !== "string");
  const seen: Readonly<Record<string, Usage | undefined>> = {
    "translated": answer.usage,
    "translated stream": end?.type === "end" ? end.usage : undefined,
    "native": codec.watch.usageOf(whole),
    "native stream": objects.reduce<Usage | undefined>(
      (before, one) => codec.watch.usageOf(one, before) ?? before,
      undefined,
    ),
  };
  for (const [name, usage] of Object.entries(seen)) {
    assert.deepEqual(
      [usage?.inputTokens, usage?.cachedInputTokens, usage?.cacheWriteTokens],
      [input, read, written],
      name,
    );
    assert.equal(usage?.outputTokens, 20, name);
  }
}

Deno.test("readInput() reads a limited depth of nested details", () => {
  let deep: JsonObject = { cached_tokens: 9 };
  for (let depth = 0; depth < 200_000; depth++) deep = { details: deep };
  assert.deepEqual(
    readInput({ deep, prompt_tokens_details: { cached_tokens: 3 } }, [5, 1]),
    {
      inputTokens: 5,
      cachedInputTokens: 3,
      cacheWriteTokens: undefined,
      cacheWrite1hTokens: undefined,
    },
  );
});

Deno.test("readInput() never counts more cache tokens than input tokens", () => {
  const random = createRandom(51);
  const names = [
    ..."cached_tokens cache_read cacheWriteInputTokens details".split(" "),
    ..."cache_read_input_tokens cache_creation_input_tokens".split(" "),
    ..."cache_creation ephemeral_1h_input_tokens total_tokens".split(" "),
  ];
  const values = [0, 7, 60, -5, 2.5, 1e300, NaN, Infinity, "60", null, true];
  const usageOf = (depth: number): JsonObject =>
    Object.fromEntries(
      names.filter(() => random.below(3) === 0).map((name) => {
        const pick = random.below(values.length + 3);
        if (pick < values.length) return [name, values[pick]];
        const inner = depth === 0 ? {} : usageOf(depth - 1);
        return [name, pick === values.length ? [inner] : inner];
      }),
    );
  for (let round = 0; round < 3_000; round++) {
    const usage = usageOf(3);
    const input = random.below(200);
    const counts = readInput(usage, [input, 20], random.below(2) === 0);
    const { inputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = counts;
    const message = JSON.stringify({ usage, input, counts });
    const all = [inputTokens, cachedInputTokens, cacheWriteTokens];
    assert.ok(
      all.every((count) => Number.isInteger(count) && count >= 0),
      message,
    );
    assert.ok(inputTokens >= input, message);
    assert.ok(cachedInputTokens + cacheWriteTokens <= inputTokens, message);
  }
});
