import assert from "node:assert/strict";
import { ALICE_TOKEN, tokenFile } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { ask, PATHS } from "../../support/wire/ask.ts";
import { until } from "../../support/within.ts";
import { loggedLine } from "../../support/wire/logged_line.ts";
import { WIRES } from "../../support/wire/wire.ts";

/** The month in `GET /usage`. */
async function monthOf(url: string): Promise<Record<string, unknown>> {
  const { status, text } = await askOnce(`${url}/v1/usage`, {
    headers: { authorization: `Bearer ${ALICE_TOKEN}` },
  });
  assert.equal(status, 200, text);
  const { windows, since } = JSON.parse(text);
  const { total } = windows.find(
    (one: { window: string }) => one.window === "month",
  );
  return { ...total, since };
}

Deno.test("a restarted gateway continues the counts of its log, once, with threads, too", async () => {
  await using upstream = startUpstream(() => Response.json(WIRES.chat.answer));
  const folder = await Deno.makeTempDir();
  const file = (limits: readonly unknown[], server = {}) =>
    familiesFile(upstream.url, {
      server: { port: 0, ...server },
      tokens: [tokenFile({ limits })],
      usage: { replay: [`${folder}/*.jsonl`, `${folder}/a*`] },
    });
  const time = new Date(Date.now() - 1000).toISOString();
  const earlier = {
    time,
    connection: "Family A",
    model: "model-a",
    usage: { input_tokens: 1000, output_tokens: 100 },
  };
  await Deno.writeTextFile(`${folder}/a.jsonl`, loggedLine(earlier));
  if (Deno.build.os !== "windows") {
    await Deno.symlink(`${folder}/a.jsonl`, `${folder}/current.jsonl`);
    await Deno.link(`${folder}/a.jsonl`, `${folder}/kept.jsonl`);
  }
  try {
    let log = "";
    {
      await using gateway = await serveFile(file([]));
      const replayed = await gateway.line("usage_replayed");
      assert.equal(replayed.requests, 1);
      assert.equal(replayed.complete_since, time);
      const before = await monthOf(gateway.url);
      assert.equal(before.input_tokens, 1000);
      assert.equal(before.since, time);
      const { status } = await askOnce(gateway.url + PATHS.chat, ask("chat"));
      assert.equal(status, 200);
      assert.equal((await monthOf(gateway.url)).input_tokens, 1003);
      await until(
        () => gateway.lines("request").some(({ model }) => model === "model-a"),
        "the log line of the request",
      );
      log = gateway.output();
    }
    await Deno.writeTextFile(`${folder}/a.jsonl`, log, { append: true });
    const limit = { window: "month", tokens: 1105 };
    await using gateway = await serveFile(file([limit], { workers: 2 }));
    const { requests, input_tokens, output_tokens, since } = await monthOf(
      gateway.url,
    );
    assert.equal(since, time);
    assert.deepEqual(
      { requests, input_tokens, output_tokens },
      { requests: 2, input_tokens: 1003, output_tokens: 102 },
    );
    // Usage before the start counts now.
    const refused = await askOnce(gateway.url + PATHS.chat, ask("chat"));
    assert.equal(refused.status, 429, refused.text);
    assert.match(refused.text, /token_limit_exceeded/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a gateway whose logs cannot be found serves, logs it and counts from its start", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await using gateway = await serveFile(
      familiesFile("http://127.0.0.1:9", {
        server: { port: 0 },
        usage: { replay: [`${folder}/none*.jsonl`] },
      }),
    );
    const { reason, level } = await gateway.line("usage_not_replayed");
    assert.deepEqual([level, reason], ["warn", "finds no file"]);
    assert.equal((await monthOf(gateway.url)).requests, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a gateway with a store serves and logs that it replays nothing", async () => {
  await using gateway = await serveFile(
    familiesFile("http://127.0.0.1:9", {
      server: { port: 0 },
      shared: { url: "redis://127.0.0.1:9" },
      usage: { replay: ["*.jsonl"] },
    }),
  );
  const { reason } = await gateway.line("usage_not_replayed");
  assert.equal(reason, "the store keeps the counts");
  assert.equal((await monthOf(gateway.url)).requests, 0);
});
