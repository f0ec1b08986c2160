import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import { ALICE_TOKEN, minimalFile } from "../../support/gateway/config.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { needing } from "../../support/ignored.ts";
import {
  longSession,
  type Turn,
} from "../../support/recorded/claude_session.ts";
import {
  costByHand,
  PRICE,
  sumByHand,
  sumsIn,
} from "../../support/recorded/hand_price.ts";
import { hasRecordings } from "../../support/recorded/recordings.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { totalOfLog } from "../../support/wire/total_of_log.ts";
import { until } from "../../support/within.ts";

// The cost of a long session of Claude Code, computed by hand from the recorded usage. The log,
// /usage, `model-gateway usage` and a restarted gateway must report the same.

/** Returns the total of this month from `GET /usage`. */
async function monthOf(url: string): Promise<JsonObject> {
  const { text } = await askOnce(`${url}/v1/usage`, {
    headers: { authorization: `Bearer ${ALICE_TOKEN}` },
  });
  const { windows } = JSON.parse(text);
  return windows.find(({ window }: JsonObject) => window === "month").total;
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
      const byHand = sumByHand(asked.map(({ turn }) => turn.counts));
      assert.deepEqual(sumsIn(month), byHand);
      assert.deepEqual(sumsIn(await totalOfLog(log)), byHand);
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
