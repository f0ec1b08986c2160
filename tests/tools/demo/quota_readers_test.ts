import assert from "node:assert/strict";
import type { Connection } from "../../../src/gateway/config/config.ts";
import { loadConfig } from "../../../src/gateway/config/load.ts";
import type { Family } from "../../../src/base/protocol.ts";
import { demoConfigText } from "../../../src/tools/demo/config.ts";
import { createHarvest } from "../../../src/gateway/quotas/harvest.ts";
import { readQuota } from "../../../src/gateway/quotas/read.ts";
import { readerOf } from "../../../src/gateway/quotas/readers/mod.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import { createFakeClock, createFixedDemo, demoRequest } from "./harness.ts";

async function connectionOf(family: Family): Promise<Connection> {
  const result = await loadConfig(demoConfigText("ab".repeat(32)), {
    env: () => undefined,
    readFile: () => Promise.reject(new Error("the demo reads no file")),
    listFiles: () => Promise.resolve([]),
    nowMs: 0,
  });
  assert("config" in result);
  const found = result.config.connections.find((each) =>
    each.family === family
  );
  assert(found !== undefined);
  return found;
}

/** Returns a line for each window, such as `five_hour 1% until 2026-…`. */
function linesOf(windows: readonly QuotaWindow[]): string[] {
  return windows.map(({ window, used_percent, resets_at }) =>
    `${window} ${Math.floor(used_percent ?? NaN)}% until ${resets_at}`
  );
}

const CALLS = [
  {
    family: "A",
    path: "/v1/chat/completions",
    body: { model: "demo-a", messages: [{ role: "user", content: "Hello" }] },
    polled: [
      "five_hour 0% until 2026-11-20T17:00:00.000Z",
      "weekly 28% until 2026-11-23T12:00:00.000Z",
    ],
    headers: [],
  },
  {
    family: "B",
    path: "/v1/messages",
    body: {
      model: "demo-b",
      max_tokens: 9,
      messages: [{ role: "user", content: "Hello" }],
    },
    polled: [
      "five_hour 0% until 2026-11-20T17:00:00.000Z",
      "weekly 28% until 2026-11-25T12:00:00.000Z",
    ],
    headers: [
      "five_hour 0% until 2026-11-20T17:00:00.000Z",
      "weekly 28% until 2026-11-25T12:00:00.000Z",
    ],
  },
  {
    family: "C",
    path: "/v1/responses",
    body: { model: "demo-c", input: "Hello" },
    polled: [
      "five_hour 0% until 2026-11-20T17:00:00.000Z",
      "weekly 48% until 2026-11-22T12:00:00.000Z",
    ],
    headers: [
      "five_hour 0% until 2026-11-20T17:00:00.000Z",
      "weekly 48% until 2026-11-22T12:00:00.000Z",
    ],
  },
] as const;

for (const { family, path, body, polled, headers } of CALLS) {
  Deno.test(`the gateway reads the quota of family ${family} from the demo's endpoint and headers`, async () => {
    const clock = createFakeClock();
    const demo = createFixedDemo({ clock });
    const connection = await connectionOf(family);
    const { quota } = connection;
    assert(quota !== undefined);
    const answer = await demo(
      demoRequest(family, path, { body: JSON.stringify(body) }),
    );
    await answer.body?.cancel();

    const harvest = createHarvest({ clock });
    harvest.observe(connection, answer.headers);
    const seen = harvest.reading(connection)?.windows ?? [];
    assert.deepEqual(linesOf(seen), headers);

    const { poll } = readerOf(quota);
    const source = { connection, quota };
    assert(poll !== undefined && poll.appliesTo?.(source) !== false);
    const reading = await readQuota(poll, source, {
      fetch: demo,
      clock,
      signal: new AbortController().signal,
    });
    assert("windows" in reading, JSON.stringify(reading));
    assert.deepEqual(linesOf(reading.windows), polled);
  });
}
