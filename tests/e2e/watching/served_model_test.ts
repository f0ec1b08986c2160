import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/core/json.ts";
import { ALICE_TOKEN, tokenFile } from "../../support/gateway/config.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import { minimalFile } from "../../support/gateway/config.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import {
  type SeenRequest,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { JSON_HEADERS, SSE_HEADERS } from "../../support/wire/answers.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { protocolOfPath, WIRES } from "../../support/wire/wire.ts";
import { until } from "../../support/within.ts";

type Protocol = typeof PROTOCOLS[number];

const LETTERS = { chat: "a", messages: "b", responses: "c" } as const;

/** A provider that answers with its expensive model, for every requested model. */
function answerDear({ path, text }: SeenRequest): Response {
  const { start, output, end, answer } = WIRES[protocolOfPath(path)];
  const isStream = /"stream":\s*true/.test(text());
  const body = isStream ? start + output + end : JSON.stringify(answer);
  return new Response(body.replaceAll('"upstream"', '"lab/dear-1"'), {
    headers: isStream ? SSE_HEADERS : JSON_HEADERS,
  });
}

/**
 * Returns a configuration with one connection per protocol. Each has a cheap model and an expensive
 * one, with a limit in another unit.
 */
function fileFor(url: string, folder: string): Record<string, unknown> {
  const families = ["A", "B", "C"] as const;
  return minimalFile({
    server: { port: 0 },
    connections: families.map((family) => {
      const letter = family.toLowerCase();
      const price = { input: 1, output: 1 };
      return familyConnection(family, url, {
        models: [
          { id: `cheap-${letter}`, upstream: "lab/cheap-1", price },
          {
            id: `dear-${letter}`,
            upstream: "lab/dear-1",
            price: { input: 1000, output: 1000 },
          },
        ],
      });
    }),
    tokens: [
      tokenFile({
        limits: [
          { window: "month", requests: 2, models: ["dear-a"] },
          { window: "month", tokens: 100, models: ["dear-b"] },
          { window: "month", cost: 0.1, models: ["dear-c"] },
        ],
      }),
    ],
    usage: { replay: [`${folder}/*.jsonl`] },
  });
}

/** Returns the usage of each model in this month from `GET /usage`. */
async function monthOf(url: string): Promise<readonly unknown[]> {
  const { text } = await askOnce(`${url}/v1/usage`, {
    headers: { authorization: `Bearer ${ALICE_TOKEN}` },
  });
  const { windows } = JSON.parse(text);
  return windows.find(
    (one: { window: string }) => one.window === "month",
  ).data;
}

function messageOf(text: string): string {
  const body = parseJson(text);
  const error = isJsonObject(body) && isJsonObject(body.error)
    ? body.error
    : {};
  return String(error.message);
}

Deno.test("usage of another model than requested counts for that model, in every protocol and unit, also after a restart", async () => {
  await using upstream = startUpstream(answerDear);
  const folder = await Deno.makeTempDir();
  const file = fileFor(upstream.url, folder);
  const send = (url: string, protocol: Protocol, fields: JsonObject) =>
    askOnce(
      url + PATHS[protocol],
      ask(
        protocol,
        hello(protocol, {
          model: `cheap-${LETTERS[protocol]}`,
          models: ["lab/dear-1"],
          ...fields,
        }),
      ),
    );
  const long = "word ".repeat(100);
  const longer: Readonly<Record<Protocol, JsonObject>> = {
    chat: {},
    messages: { messages: [{ role: "user", content: long }] },
    responses: { input: long },
  };
  try {
    let log = "";
    let before: readonly unknown[] = [];
    {
      await using gateway = await serveFile(file);
      for (const protocol of PROTOCOLS) {
        for (const stream of [false, true]) {
          const received = await send(gateway.url, protocol, { stream });
          assert.equal(received.status, 200, received.text);
        }
        const refused = await send(gateway.url, protocol, longer[protocol]);
        assert.equal(refused.status, 429, refused.text);
        const dear = new RegExp(` for dear-${LETTERS[protocol]} and has`);
        assert.match(messageOf(refused.text), dear);
      }
      for (const stream of [false, true]) {
        const translated = { model: "cheap-b", stream };
        const received = await askOnce(
          gateway.url + PATHS.chat,
          ask("chat", hello("chat", translated)),
        );
        assert.equal(received.status, 200, received.text);
      }
      assert.equal(upstream.requests.items.length, 8);
      await until(
        () => gateway.lines("request").length === 11,
        "the log lines of the requests",
      );
      before = await monthOf(gateway.url);
      log = gateway.output();
    }
    const used = (letter: string, requests: number) => ({
      connection: `Family ${letter.toUpperCase()}`,
      model: `dear-${letter}`,
      requests,
      input_tokens: 3 * requests,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 2 * requests,
      reasoning_tokens: 0,
      cost_usd: 0.005 * requests,
      estimated_requests: 0,
    });
    assert.deepEqual(before, [used("a", 2), used("b", 4), used("c", 2)]);
    await Deno.writeTextFile(`${folder}/a.jsonl`, log);
    await using gateway = await serveFile(file);
    await gateway.line("usage_replayed");
    assert.deepEqual(await monthOf(gateway.url), before);
    assert.equal((await send(gateway.url, "chat", {})).status, 429);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
