import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../src/base/json.ts";
import { ALICE_TOKEN, minimalFile } from "../support/gateway/config.ts";
import { familyConnection } from "../support/gateway/families.ts";
import { startGateway } from "../support/gateway/gateway.ts";
import {
  costByHand,
  type Counts,
  PRICE,
  sumByHand,
  sumsIn,
} from "../support/recorded/hand_price.ts";
import { startUpstream } from "../support/upstream/scripted_upstream.ts";
import { totalOfLog } from "../support/wire/total_of_log.ts";
import { clientNamed } from "./checked_client.ts";
import { installClient } from "./install.ts";
import { runClient } from "./run_client.ts";

// The cost of a long session of the real Claude Code, computed by hand and by the gateway. For
// tokens, Claude Code's own count is compared as well. `deno task test:clients` runs this;
// `deno task test` does not.

const TURNS = 40;

const claude = clientNamed("Claude Code");
const installed = await installClient(claude);

/**
 * Returns the provider's counts in answer `turn`: a prefix that grows, written to the cache for
 * minutes or for an hour.
 */
function countsAt(turn: number, read: number): Counts {
  const written = 900 + 37 * turn;
  const written1h = turn % 3 === 0 ? written : turn % 3 === 1 ? 0 : 300;
  return {
    fresh: 3 + turn,
    read,
    written5m: written - written1h,
    written1h,
    output: 60 + 11 * turn,
    speed: turn % 7 === 6 ? "fast" : "standard",
    tier: turn % 5 === 4 ? "priority" : "standard",
  };
}

/** Returns the counts that Chat Completions can express: it has no speed and no one-hour cache. */
function inChat({ written5m, written1h, ...counts }: Counts): Counts {
  const written = written5m + written1h;
  return { ...counts, written5m: written, written1h: 0, speed: undefined };
}

/** Writes a stream that calls a tool, or ends the session. */
type Write = (turn: number, counts: Counts, isCall: boolean) => string;

const writeMessages: Write = (turn, counts, isCall) => {
  const { fresh, read, written5m, written1h, output, speed, tier } = counts;
  const usage = {
    input_tokens: fresh,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written5m + written1h,
    cache_creation: {
      ephemeral_5m_input_tokens: written5m,
      ephemeral_1h_input_tokens: written1h,
    },
    service_tier: tier,
    speed,
  };
  const events: JsonObject[] = [
    {
      type: "message_start",
      message: {
        id: `msg_${turn}`,
        type: "message",
        role: "assistant",
        model: "model-b",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: JSON.parse(JSON.stringify({ ...usage, output_tokens: 1 })),
      },
    },
    {
      type: "content_block_start",
      index: 0,
      content_block: isCall
        ? { type: "tool_use", id: `toolu_${turn}`, name: "Bash", input: {} }
        : { type: "text", text: "" },
    },
    {
      type: "content_block_delta",
      index: 0,
      delta: isCall
        ? { type: "input_json_delta", partial_json: commandOf(turn) }
        : { type: "text_delta", text: "All counted" },
    },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: {
        stop_reason: isCall ? "tool_use" : "end_turn",
        stop_sequence: null,
      },
      usage: { output_tokens: output },
    },
    { type: "message_stop" },
  ];
  return events.map((event) =>
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  ).join("");
};

const writeChat: Write = (turn, counts, isCall) => {
  const { fresh, read, written5m, output, tier } = counts;
  const prompt = fresh + read + written5m;
  const call = {
    index: 0,
    id: `call_${turn}`,
    type: "function",
    function: { name: "Bash", arguments: commandOf(turn) },
  };
  const delta = isCall ? { tool_calls: [call] } : { content: "All counted" };
  const reason = isCall ? "tool_calls" : "stop";
  const chunks = [
    { choices: [{ index: 0, delta, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    {
      choices: [],
      usage: {
        prompt_tokens: prompt,
        completion_tokens: output,
        total_tokens: prompt + output,
        prompt_tokens_details: {
          cached_tokens: read,
          cache_write_tokens: written5m,
        },
      },
    },
  ].map((chunk) =>
    JSON.stringify({
      id: `c${turn}`,
      object: "chat.completion.chunk",
      model: "model-a",
      service_tier: tier,
      ...chunk,
    })
  );
  return [...chunks, "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
};

function commandOf(turn: number): string {
  const command = `echo turn ${turn}`;
  return JSON.stringify({ command, description: "Counts" });
}

const ROUTES = [
  {
    family: "B",
    endpoint: "messages",
    model: "model-b",
    write: writeMessages,
    countsIn: (counts: Counts) => counts,
  },
  {
    family: "A",
    endpoint: "chat",
    model: "model-a",
    write: writeChat,
    countsIn: inChat,
  },
] as const;

/**
 * Asserts that Claude Code has counted the same tokens. It knows only the cache counts of its own
 * protocol.
 */
function assertOwnCount(stdout: string, sent: readonly Counts[]): void {
  const { usage } = JSON.parse(stdout);
  const sum = (of: (counts: Counts) => number) =>
    sent.reduce((total, one) => total + of(one), 0);
  const written1h = sum((one) => one.written1h);
  assert.deepEqual({
    fresh: usage.input_tokens,
    read: usage.cache_read_input_tokens,
    written: usage.cache_creation_input_tokens,
    written1h: usage.cache_creation.ephemeral_1h_input_tokens,
    output: usage.output_tokens,
  }, {
    fresh: sum((one) => one.fresh),
    read: sum((one) => one.read),
    written: sum((one) => one.written5m) + written1h,
    written1h,
    output: sum((one) => one.output),
  });
}

for (const { family, endpoint, model, write, countsIn } of ROUTES) {
  Deno.test({
    name:
      `a long session of Claude Code through ${endpoint} has the cost computed by hand, and the tokens that Claude Code counts`,
    ignore: "reason" in installed,
    async fn() {
      const sent: Counts[] = [];
      await using upstream = startUpstream((seen) => {
        const body = parseJson(seen.text());
        const tools = isJsonObject(body) && Array.isArray(body.tools)
          ? body.tools
          : [];
        const read = sent.reduce(
          (sum, one) => sum + one.written5m + one.written1h,
          0,
        );
        const counts = countsIn(countsAt(sent.length, read));
        sent.push(counts);
        const isCall = tools.length > 0 && sent.length < TURNS;
        return new Response(write(sent.length, counts, isCall), {
          headers: { "content-type": "text/event-stream" },
        });
      });
      await using gateway = await startGateway(minimalFile({
        connections: [familyConnection(family, upstream.url, {
          endpoints: { [endpoint]: upstream.url },
          models: [{ id: model, price: PRICE }],
        })],
      }));
      assert.ok("command" in installed);
      const run = await runClient(installed.command, {
        program: {
          ...claude,
          launch(prompt, options) {
            const launch = claude.launch(prompt, options);
            return {
              ...launch,
              args: [...launch.args, "--output-format", "json"],
            };
          },
        },
        prompt: "Count",
        address: { url: gateway.url, token: ALICE_TOKEN, model },
      });
      assert.equal(run.code, 0, `${run.stdout}\n${run.stderr}`);
      assert.ok(sent.length >= TURNS, `${sent.length} answers`);
      const response = await gateway.call("/v1/usage", {
        headers: { authorization: `Bearer ${ALICE_TOKEN}` },
      });
      const { windows } = await response.json();
      const { total } = windows.find(({ window }: JsonObject) =>
        window === "month"
      );
      const byHand = sumByHand(sent);
      assert.deepEqual(sumsIn(total), byHand);
      const logged = gateway.lines.requests.items
        .map(({ cost_usd }) => cost_usd).filter((cost) => cost !== undefined);
      assert.deepEqual(
        logged,
        sent.map((counts) => Number(costByHand(counts)) / 1e9),
      );
      assert.deepEqual(sumsIn(await totalOfLog(gateway.lines.text())), byHand);
      assertOwnCount(run.stdout, sent);
    },
  });
}
