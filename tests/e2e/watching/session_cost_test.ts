import assert from "node:assert/strict";
import { runUsage } from "../../../src/cli/usage/command.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import { ALICE_TOKEN, minimalFile } from "../../support/gateway/config.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { needing } from "../../support/ignored.ts";
import {
  type Counts,
  longSession,
  type Turn,
} from "../../support/recorded/claude_session.ts";
import { hasRecordings } from "../../support/recorded/recordings.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { inPieces } from "../../support/wire/pieces.ts";
import { until } from "../../support/within.ts";

// What a long session of Claude Code costs: added up by hand from the usage that was recorded, and as the log, /usage,
// `model-gateway usage` and a gateway that starts again tell it.

/** In US dollars per million tokens. */
const PRICE = {
  input: 5,
  cached_input: 0.5,
  cache_write: 6.25,
  cache_write_1h: 10,
  output: 25,
  rates: [
    { when: { speed: "fast" }, times: 6 },
    { when: { service_tier: "priority" }, input: 8.01, output: 40.007 },
    {
      when: { input_over: 20_000 },
      input: 10,
      cached_input: 1,
      cache_write: 12.5,
      cache_write_1h: 20,
      output: 37.5,
    },
    { when: { service_tier: "batch" }, times: 0.5 },
  ],
};

/** What an answer costs in billionths of a dollar, by the words of the price list. */
function costByHand(counts: Counts): bigint {
  const { fresh, read, written5m, written1h, output, speed, tier } = counts;
  const prompt = fresh + read + written5m + written1h;
  const cost = (
    input: number,
    cached: number,
    write: number,
    hour: number,
    out: number,
  ) =>
    BigInt(fresh) * BigInt(input) + BigInt(read) * BigInt(cached) +
    BigInt(written5m) * BigInt(write) + BigInt(written1h) * BigInt(hour) +
    BigInt(output) * BigInt(out);
  if (speed === "fast") return cost(30_000, 3_000, 37_500, 60_000, 150_000);
  if (tier === "priority") return cost(8_010, 500, 6_250, 10_000, 40_007);
  if (prompt > 20_000) return cost(10_000, 1_000, 12_500, 20_000, 37_500);
  if (tier === "batch") return cost(2_500, 250, 3_125, 5_000, 12_500);
  return cost(5_000, 500, 6_250, 10_000, 25_000);
}

/** The total of this month that `GET /usage` tells. */
async function monthOf(url: string): Promise<JsonObject> {
  const { text } = await askOnce(`${url}/v1/usage`, {
    headers: { authorization: `Bearer ${ALICE_TOKEN}` },
  });
  const { windows } = JSON.parse(text);
  return windows.find(({ window }: JsonObject) => window === "month").total;
}

/** What `model-gateway usage` says of a log. */
async function totalOf(log: string): Promise<JsonObject> {
  let out = "";
  const code = await runUsage(["--json"], {
    write: (text) => out += text,
    writeError: (text) => assert.fail(text),
    env: () => undefined,
    identify: () => Promise.resolve(undefined),
    open: () => Promise.resolve(inPieces(log, 4096)),
    isTyped: () => false,
    columns: () => undefined,
  });
  assert.equal(code, 0);
  return JSON.parse(out).total;
}

/** The fields of sums that a person can add up. */
function sumsIn(total: JsonObject): JsonObject {
  const { requests, input_tokens, cached_input_tokens } = total;
  const { cache_write_tokens, output_tokens, cost_usd } = total;
  return {
    requests: requests ?? null,
    input_tokens: input_tokens ?? null,
    cached_input_tokens: cached_input_tokens ?? null,
    cache_write_tokens: cache_write_tokens ?? null,
    output_tokens: output_tokens ?? null,
    cost_usd: cost_usd ?? null,
  };
}

Deno.test({
  ...needing(
    "a long session of Claude Code costs by every count what it costs by hand",
    !hasRecordings() && "the recordings are not at hand",
  ),
  async fn() {
    const session = longSession();
    const asked: { turn: Turn; from: Protocol }[] = session.flatMap((turn) =>
      (["messages", "chat"] as const).map((from) => ({ turn, from }))
    );
    let current = session[0];
    await using upstream = startUpstream(() =>
      new Response(current?.body ?? "", {
        headers: {
          "content-type": current?.isStream
            ? "text/event-stream"
            : "application/json",
        },
      })
    );
    const file = (overrides: JsonObject = {}) =>
      minimalFile({
        server: { port: 0 },
        connections: [
          familyConnection("B", upstream.url, {
            models: [{ id: "model-b", price: PRICE }],
          }),
          familyConnection("A", upstream.url, {
            endpoints: { chat: `${upstream.url}/a` },
            models: [{ id: "model-a", price: PRICE }],
          }),
        ],
        ...overrides,
      });
    const folder = await Deno.makeTempDir();
    try {
      let log = "";
      let month: JsonObject = {};
      {
        await using gateway = await serveFile(file());
        for (const [index, { turn, from }] of asked.entries()) {
          current = turn;
          const { status, text } = await askOnce(
            gateway.url + PATHS[from],
            ask(
              from,
              hello(from, { model: turn.model, stream: turn.isStream }),
              { "x-client-request-id": String(index) },
            ),
          );
          assert.equal(status, 200, `${turn.name} ${from}: ${text}`);
        }
        await until(
          () => gateway.lines("request").length >= asked.length,
          "the log lines of the session",
        );
        month = await monthOf(gateway.url);
        log = gateway.output();
        const lines = new Map(
          gateway.lines("request").map((line) => [
            line.client_request_id,
            line,
          ]),
        );
        for (const [index, { turn, from }] of asked.entries()) {
          const line = lines.get(String(index));
          assert.equal(
            line?.cost_usd,
            Number(costByHand(turn.counts)) / 1e9,
            `${turn.name} ${from} ${JSON.stringify(line?.usage)}`,
          );
        }
      }
      const counts = asked.map(({ turn }) => turn.counts);
      const sum = (of: (counts: Counts) => number) =>
        counts.reduce((total, one) => total + of(one), 0);
      const nanos = counts.map(costByHand).reduce((a, b) => a + b, 0n);
      const byHand = {
        requests: asked.length,
        input_tokens: sum((one) =>
          one.fresh + one.read + one.written5m + one.written1h
        ),
        cached_input_tokens: sum(({ read }) => read),
        cache_write_tokens: sum((one) => one.written5m + one.written1h),
        output_tokens: sum(({ output }) => output),
        cost_usd: Number(nanos) / 1e9,
      };
      assert.deepEqual(sumsIn(month), byHand);
      assert.deepEqual(sumsIn(await totalOf(log)), byHand);
      await Deno.writeTextFile(`${folder}/a.jsonl`, log);
      await using again = await serveFile(
        file({ usage: { replay: [`${folder}/a.jsonl`] } }),
      );
      await again.line("usage_replayed");
      assert.deepEqual(sumsIn(await monthOf(again.url)), byHand);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
