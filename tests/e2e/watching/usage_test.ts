import assert from "node:assert/strict";
import { fromFileUrl } from "../../support/program/paths.ts";
import { loggedLine } from "../../support/wire/logged_line.ts";
import { testNeeding } from "../../support/ignored.ts";
import {
  ALICE_TOKEN,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { until } from "../../support/within.ts";
import { WIRES } from "../../support/wire/wire.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
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
import { totalOfLog } from "../../support/wire/total_of_log.ts";
import { openTempFolder } from "../../support/temp_folder.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** Runs `usage` from a shell, with the permissions of the executable. */
async function usage(words: string, directory: string) {
  const program = [
    ...[Deno.execPath(), "run", "--no-prompt"],
    ...[
      "--allow-net",
      "--allow-read",
      "--allow-env",
      "src/tools/main.ts",
      "usage",
    ],
  ];
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", `"$@" ${words}`, "sh", ...program],
    cwd: ROOT,
    env: { DIRECTORY: directory },
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), error: decoder.decode(stderr) };
}

testNeeding(
  "usage reads files and standard input from a shell, and ends quietly when its reader leaves",
  Deno.build.os === "windows" && "Windows has no such signals",
  async (t) => {
    await using folder = await openTempFolder();
    const { path: directory } = folder;
    const log = `${directory}/gateway.jsonl`;
    await Deno.writeTextFile(log, loggedLine().repeat(3));
    const sessions = Array.from(
      { length: 20_000 },
      (_, index) => loggedLine({ session: `session-${index}` }),
    );
    await Deno.writeTextFile(`${directory}/long.jsonl`, sessions.join(""));
    await t.step("a file under several names", async () => {
      await Deno.symlink(log, `${directory}/current.jsonl`);
      await Deno.link(log, `${directory}/kept.jsonl`);
      const { code, out, error } = await usage(
        '"$DIRECTORY"/*t*.jsonl "$DIRECTORY/gateway.jsonl" --json',
        directory,
      );
      assert.equal(error, "");
      assert.equal(code, 0);
      assert.equal(JSON.parse(out).total.requests, 3);
    });
    await t.step("standard input", async () => {
      const { code, out } = await usage(
        '- --json < "$DIRECTORY/gateway.jsonl"',
        directory,
      );
      assert.equal(code, 0);
      assert.equal(JSON.parse(out).total.requests, 3);
    });
    await t.step(
      "a missing file, and a folder",
      async () => {
        const { code, error } = await usage(
          '"$DIRECTORY/none" "$DIRECTORY"',
          directory,
        );
        assert.equal(code, 1);
        assert.deepEqual(error.split("\n"), [
          `Cannot read ${directory}/none to its end: it does not exist.`,
          `Cannot read ${directory} to its end: it is a directory.`,
          "",
        ]);
      },
    );
    await t.step("a reader who leaves", async () => {
      const { out, error } = await usage(
        '"$DIRECTORY/long.jsonl" --by session --csv | head -n 1',
        directory,
      );
      assert.match(out, /^session,requests,/);
      assert.equal(error, "");
    });
  },
);

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

Deno.test("a restarted gateway continues the counts of its log exactly once, even with threads", async () => {
  await using upstream = startUpstream(() => Response.json(WIRES.chat.answer));
  await using temp = await openTempFolder();
  const { path: folder } = temp;
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
  // Usage from before the start counts now.
  const refused = await askOnce(gateway.url + PATHS.chat, ask("chat"));
  assert.equal(refused.status, 429, refused.text);
  assert.match(refused.text, /token_limit_exceeded/);
});

Deno.test("a gateway that finds no logs to replay logs a warning, serves and counts from its start", async () => {
  await using folder = await openTempFolder();
  await using gateway = await serveFile(
    familiesFile("http://127.0.0.1:9", {
      server: { port: 0 },
      usage: { replay: [`${folder.path}/none*.jsonl`] },
    }),
  );
  const { reason, level } = await gateway.line("usage_not_replayed");
  assert.deepEqual([level, reason], ["warn", "matches no file"]);
  assert.equal((await monthOf(gateway.url)).requests, 0);
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

// The cost of a long session of Claude Code, computed by hand from the recorded usage. The log,
// /usage, `model-gateway usage` and a restarted gateway must report the same.

/** Returns the total of this month from `GET /usage`. */
async function monthOfSessionCost(url: string): Promise<JsonObject> {
  const { text } = await askOnce(`${url}/v1/usage`, {
    headers: { authorization: `Bearer ${ALICE_TOKEN}` },
  });
  const { windows } = JSON.parse(text);
  return windows.find(({ window }: JsonObject) => window === "month").total;
}

testNeeding(
  "every count of a long session of Claude Code agrees with its cost computed by hand",
  !hasRecordings() && "the recordings are not at hand",
  async () => {
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
    await using folder = await openTempFolder();
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
      month = await monthOfSessionCost(gateway.url);
      log = gateway.output();
      const lines = new Map(
        gateway.lines("request").map((line) => [line.client_request_id, line]),
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
    await Deno.writeTextFile(`${folder.path}/a.jsonl`, log);
    await using again = await serveFile(
      file({ usage: { replay: [`${folder.path}/a.jsonl`] } }),
    );
    await again.line("usage_replayed");
    assert.deepEqual(sumsIn(await monthOfSessionCost(again.url)), byHand);
  },
);
