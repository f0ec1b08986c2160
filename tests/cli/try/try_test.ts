import assert from "node:assert/strict";
import { runCheck } from "../../../src/cli/commands/check.ts";
import { isJsonObject, type JsonObject } from "../../../src/core/json.ts";
import { randomIds } from "../../../src/core/ids.ts";
import { systemClock } from "../../../src/core/time/timers.ts";
import { createDemoUpstream } from "../../../src/demo/upstream.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { tryModels } from "../../../src/cli/try/try_models.ts";
import { answerAt } from "../../support/upstream/fake_answers.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  loadText,
  minimalFile,
  UPSTREAM_KEY,
} from "../../support/gateway/config.ts";
import { isServiceName } from "../../../src/config/services.ts";
import { starterFile } from "../../../src/config/starter.ts";
import { createStrictProvider } from "../../support/upstream/strict_provider/mod.ts";
import {
  FAKE_KEY,
  FAKE_PROVIDERS,
  type FakeProvider,
  refusalOf,
} from "../../support/upstream/fake_providers.ts";

/** Refuses a body with a message, as a provider would; `undefined` accepts it. */
type Judge = (body: JsonObject) => string | undefined;

/** Runs `check` on a file in front of the demo's provider of Chat Completions, which refuses what the judge refuses. */
async function check(
  args: readonly string[],
  { judge = () => undefined, connection = {} }: {
    readonly judge?: Judge;
    readonly connection?: Readonly<Record<string, unknown>>;
  } = {},
) {
  const file = minimalFile({
    connections: [connectionFile({
      endpoints: { chat: "https://demo-a.invalid/v1" },
      auth: { scheme: "bearer", key: UPSTREAM_KEY },
      models: [{ id: "m", upstream: "demo-a", reasoning: ["low", "high"] }],
      ...connection,
    })],
  });
  const directory = await Deno.makeTempDir();
  const path = `${directory}/gateway.yaml`;
  await Deno.writeTextFile(path, JSON.stringify(file));
  const demo = createDemoUpstream({
    ...{ clock: systemClock, ids: randomIds, wordMs: 0 },
  });
  const io = createMemoryIo();
  const sent: Request[] = [];
  const code = await runCheck(["--config", path, ...args], {
    ...io,
    async fetch(input, init) {
      const request = new Request(input, init);
      sent.push(request);
      const headers = new Headers(request.headers);
      headers.set("authorization", "Bearer demo-key-a");
      if (request.method === "GET") return demo(request.url, { headers });
      const text = await request.text();
      const body: unknown = JSON.parse(text);
      assert.ok(isJsonObject(body));
      const message = judge(body);
      return message === undefined
        ? demo(request.url, { method: "POST", headers, body: text })
        : Response.json({ error: { message } }, { status: 400 });
    },
    deadline: () => new AbortController().signal,
  });
  await Deno.remove(directory, { recursive: true });
  return { code, out: io.written(), error: io.complained(), sent };
}

const TRY = ["--quiet", "--live", "--try"];

Deno.test("check sends no model a request without --try", async () => {
  const { code, sent } = await check(["--live"]);
  assert.equal(code, 0);
  assert.deepEqual(sent.map(({ method }) => method), ["GET"]);
  const alone = await check(["--try"]);
  assert.equal(alone.code, 2);
  assert.match(alone.error, /--try needs --live/);
  assert.deepEqual(alone.sent, []);
  const json = await check(["--live", "--json"]);
  assert.match(json.error, /--json and --model need --try/);
});

Deno.test("check --try tries each model natively and by translation, and shows the results", async () => {
  const { code, out, error, sent } = await check(TRY);
  assert.equal(code, 0);
  const all =
    "a word, a stream, a temperature, a stop string, a schema, a picture, effort low, effort high, a tool, a tool loop";
  const rows = out.split("\n").map((row) => row.replace(/ {2,}/g, " | "));
  assert.deepEqual(rows.slice(0, 3), [
    `main | m | chat, native | works | ${all}`,
    `main | m | messages, translated | works | ${all}`,
    `main | m | responses, translated | works | ${
      all.replace("a stop string, ", "")
    }`,
  ]);
  assert.match(out, /\nSent 29 requests with \d+ tokens, for about \$0\.0000/);
  assert.doesNotMatch(out, /omit/);
  assert.equal(sent.length, 30);
  assert.match(error, /^Trying main: m, chat, native \(1 of 3\)\n/);
});

Deno.test("check --try shows the provider's words, the lesson of a refusal, and the line for the file", async () => {
  const { code, out } = await check(TRY, {
    judge: ({ temperature }) =>
      temperature === undefined
        ? undefined
        : `Unsupported parameter: 'temperature' is\nnot supported${
          " with this model".repeat(20)
        }`,
    connection: {
      models: [{ id: "m", upstream: "demo-a", omit: ["seed"], reasoning: [] }],
    },
  });
  assert.equal(code, 0);
  const rows = out.split("\n").map((row) => row.replace(/ {2,}/g, " | "));
  assert.match(
    rows[1] ?? "",
    /^ \| refused \| a temperature: Unsupported parameter: 'temperature' is not supported with.*…$/,
  );
  assert.ok((rows[1] ?? "").length < 220);
  assert.equal(
    rows[3],
    " | works without | a temperature: dropped temperature, learned to omit temperature",
  );
  assert.match(
    out,
    /\n {2}main, models: \{ id: m, omit: \[seed, temperature\] \}\n$/,
  );
});

Deno.test("check --try sends nothing more to a model that fails the first request", async () => {
  const { code, out, sent } = await check(TRY, {
    judge: () => `No such model; the key is ${UPSTREAM_KEY}`,
  });
  assert.equal(code, 1);
  assert.equal(sent.length, 1 + 3);
  assert.match(out, /refused +a word: The provider answered with status 400/);
  assert.match(out, /not tried +a stream, .*: a word failed\n/);
  assert.ok(!out.includes(UPSTREAM_KEY));
});

Deno.test("check --try tries one model alone, and prints JSON", async () => {
  const { out, error } = await check(
    ["--live", "--try", "--json", "--model", "n"],
    { connection: { models: ["demo-a", { id: "n", upstream: "demo-a" }] } },
  );
  const report = JSON.parse(out);
  assert.ok(report.requests > 30);
  assert.deepEqual(report.config, []);
  const [first] = report.results;
  assert.deepEqual(first, {
    ...{ connection: "main", model: "n", protocol: "chat", mode: "native" },
    ...{ trial: "a word", result: "works", dropped: [], lessons: [] },
    ...{ reason: "", tokens: first.tokens, cost_usd: 0 },
  });
  assert.ok(report.results.every(({ model }: JsonObject) => model === "n"));
  assert.match(error, /^main: reachable/);
});

/** The configuration of one model. */
async function oneModel() {
  return configOf(await loadFile(minimalFile()));
}

Deno.test("a model that does not answer in time gets no further request", async () => {
  let deadline = new AbortController();
  const results = await tryModels(await oneModel(), {
    elapsedMs: () => 0,
    onProgress() {},
    deadline() {
      deadline = new AbortController();
      return deadline.signal;
    },
    fetch: (_input, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(new Error()));
        deadline.abort(new DOMException("too late", "TimeoutError"));
      }),
  });
  const words = results.filter(({ result }) => result === "refused");
  assert.deepEqual(
    words.map(({ protocol, trial, reason }) => [protocol, trial, reason]),
    ["chat", "messages", "responses"].map((
      protocol,
    ) => [protocol, "a word", "no answer in 60 s"]),
  );
  const rest = results.filter(({ result }) => result === "untried");
  assert.equal(words.length + rest.length, results.length);
  assert.ok(rest.every(({ reason }) => reason === "a word failed"));
});

Deno.test("no request begins after twenty minutes", async () => {
  let elapsedMs = 0;
  const results = await tryModels(await oneModel(), {
    elapsedMs: () => elapsedMs,
    onProgress() {},
    deadline: () => new AbortController().signal,
    fetch(input) {
      elapsedMs += 7 * 60_000;
      return Promise.resolve(Response.json(answerAt(String(input))));
    },
  });
  assert.equal(results.filter(({ result }) => result !== "untried").length, 3);
  const reasons = new Set(results.slice(3).map(({ reason }) => reason));
  assert.deepEqual([...reasons], ["the most requests or the time are used up"]);
});

Deno.test("check --demo tries the simulated provider without a file or a network", async () => {
  const io = createMemoryIo();
  const refuse = () => Promise.reject(new Error("no network"));
  const args = ["--live", "--try", "--demo", "--model", "demo-b"];
  const code = await runCheck(args, {
    ...{ ...io, fetch: refuse },
    deadline: () => new AbortController().signal,
  });
  assert.equal(code, 0, io.complained());
  assert.match(io.written(), /Demo B +demo-b +chat, translated +works +a word/);
  assert.match(
    io.written(),
    /Sent \d+ requests with \d+ tokens, for about \$0\.0/,
  );
});

// `check --try` in front of a strict fake of every preset: what it refuses natively shows, and no translated request is
// refused for a fact that the tables know.

/** The strict demo provider that answers a protocol's path. */
const ANSWERING = {
  "/chat/completions": { letter: "a", key: "demo-key-a" },
  "/messages": { letter: "b", key: "demo-key-b" },
  "/responses": { letter: "c", key: "demo-key-c" },
} as const;

/** The path of Claude on Vertex AI, whose body has the version and no model. */
const VERTEX_REGEXP = /:(?:r|streamR)awPredict$/;

const strict = createStrictProvider({
  ...{ clock: systemClock, ids: randomIds, wordMs: 0 },
});

/** Answers a request as the strict provider of its protocol does, unless the fake of the preset refuses it. */
async function answer(request: Request, provider: FakeProvider) {
  const { url, headers } = request;
  const body: unknown = JSON.parse(await request.text());
  assert.ok(isJsonObject(body));
  const message = refusalOf(provider, { url, headers, body });
  if (message !== undefined) {
    return Response.json({ error: { message } }, { status: 400 });
  }
  const [path, target] =
    Object.entries(ANSWERING).find(([end]) =>
      url.replace(VERTEX_REGEXP, "/messages").endsWith(end)
    ) ?? [];
  assert.ok(path !== undefined && target !== undefined, url);
  const { letter, key } = target;
  return await strict(`https://demo-${letter}.invalid/v1${path}`, {
    method: "POST",
    headers: {
      "authorization": `Bearer ${key}`,
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      ...(letter === "b" ? { "x-api-key": key, "authorization": "" } : {}),
    },
    body: JSON.stringify({
      ...body,
      anthropic_version: undefined,
      model: `demo-${letter}`,
    }),
  });
}

/** Tries the first model of a preset's file. */
async function tryPreset(name: string, provider: FakeProvider) {
  assert.ok(isServiceName(name));
  const text = starterFile([name])
    .replace(/( +)# headers_drop/, "$1headers_drop");
  const config = configOf(
    await loadText(text, {
      readFile: (path) =>
        Promise.resolve(path.startsWith("keys/") ? FAKE_KEY : "tokens: []"),
      listFiles: () => Promise.resolve([]),
    }),
  );
  const results = await tryModels(config, {
    fetch: (input, init) => answer(new Request(input, init), provider),
    deadline: () => new AbortController().signal,
    elapsedMs: () => 0,
    onProgress() {},
    model: config.connections[0]?.models[0]?.id,
  });
  return { config, results };
}

for (
  const [name, provider] of Object.entries<FakeProvider>(FAKE_PROVIDERS)
) {
  Deno.test(`check --try shows the working features of ${name}, and translates nothing that it rejects`, async () => {
    const { results } = await tryPreset(name, provider);
    const words = results.filter(({ trial }) => trial === "a word");
    assert.ok(words.length > 0);
    for (const { protocol, result, reason } of words) {
      assert.notEqual(result, "refused", `${protocol}: ${reason}`);
    }
    // A caller who asks about a picture would miss it, so a model of text alone refuses it.
    const refused = results.filter(({ mode, result, trial }) =>
      mode === "translated" && result === "refused" && trial !== "a picture"
    );
    assert.deepEqual(
      refused.map(({ protocol, trial, reason }) =>
        `${protocol}, ${trial}: ${reason}`
      ),
      [],
    );
  });
}
