import assert from "node:assert/strict";
import { runCheck } from "../../../src/tools/commands/check.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { randomIds } from "../../../src/base/ids.ts";
import { systemClock } from "../../../src/base/time/timers.ts";
import { createDemoUpstream } from "../../../src/tools/demo/upstream.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { tryModels } from "../../../src/tools/try/try_models.ts";
import { answerAt } from "../../support/upstream/fake_answers.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  loadText,
  minimalFile,
  UPSTREAM_KEY,
} from "../../support/gateway/config.ts";
import { isServiceName } from "../../../src/services/services.ts";
import { starterFile } from "../../../src/services/starter.ts";
import { createStrictProvider } from "../../support/upstream/strict_provider/mod.ts";
import { parseYaml } from "../../support/yaml.ts";
import {
  FAKE_KEY,
  FAKE_PROVIDERS,
  type FakeProvider,
  refusalOf,
} from "../../support/upstream/fake_providers.ts";

/** Returns the error message of a provider for a body, or `undefined` to accept it. */
type Judge = (body: JsonObject) => string | undefined;

/** Runs `check` with the demo's provider of Chat Completions, which also refuses what the judge refuses. */
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

Deno.test("check sends requests to models only with --try", async () => {
  const { code, sent } = await check(["--live"]);
  assert.equal(code, 0);
  assert.deepEqual(sent.map(({ method }) => method), ["GET"]);
  const alone = await check(["--try"]);
  assert.equal(alone.code, 2);
  assert.match(alone.error, /--try needs --live/);
  assert.deepEqual(alone.sent, []);
  const json = await check(["--live", "--json"]);
  assert.match(json.error, /--json needs --try/);
});

Deno.test("check --try tries each model natively and by translation, and shows the results", async () => {
  const { code, out, error, sent } = await check(TRY);
  assert.equal(code, 0);
  const all =
    "a word, a stream, a temperature, a stop string, a high limit, a schema, a picture, an earlier picture, a begun answer, effort low, effort high, a strict tool, patterns, a long tool name, a tool, a tool loop";
  const rows = out.split("\n").map((row) => row.replace(/ {2,}/g, " | "));
  assert.deepEqual(rows.slice(0, 3), [
    `main | m | chat, native | works | ${all}`,
    `main | m | messages, translated | works | ${all}`,
    `main | m | responses, translated | works | ${
      all.replace("a stop string, ", "")
    }`,
  ]);
  assert.match(out, /\nSent 47 requests with \d+ tokens, for about \$0\.0000/);
  assert.doesNotMatch(out, /omit/);
  assert.equal(sent.length, 48);
  assert.match(error, /^Trying main: m, chat, native \(1 of 3\)\n/);
});

Deno.test("check --try shows the provider's error, the learned lesson, and the line for the file", async () => {
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

/** Returns the tools of a body as text. */
function toolsOf({ tools }: JsonObject): string {
  return JSON.stringify(tools ?? "");
}

function textOf({ messages }: JsonObject): string {
  return JSON.stringify(messages);
}

function isFromUser({ messages }: JsonObject): boolean {
  assert.ok(Array.isArray(messages));
  const last = messages.at(-1);
  return !isJsonObject(last) || last.role !== "assistant";
}

/** A feature that a provider refuses: in clear words, or in words that the program does not recognize. */
const REFUSED: readonly {
  readonly feature: string;
  readonly refuses: (body: JsonObject) => boolean;
  readonly words: string;
  readonly line: string;
  readonly unclear: string;
}[] = [
  {
    feature: "a temperature",
    refuses: ({ temperature }) => temperature !== undefined,
    words: "Unsupported parameter: 'temperature'",
    line: "omit: [temperature]",
    unclear: "omit: [temperature]",
  },
  {
    feature: "a stop string",
    refuses: ({ stop }) => stop !== undefined,
    words: "This model does not support the stop parameter.",
    line: "omit: [stop]",
    unclear: "omit: [stop]",
  },
  {
    feature: "a strict tool",
    refuses: (body) => toolsOf(body).includes('"strict":true'),
    words: "Tools with strict=True are not supported by this model",
    line: 'lessons: ["omit tools[].function.strict of strict tools"]',
    unclear: 'lessons: ["omit tools[].function.strict of strict tools"]',
  },
  {
    feature: "effort high",
    refuses: ({ reasoning_effort }) => reasoning_effort === "high",
    words: "reasoning_effort: Input should be 'low' or 'medium'",
    line: 'lessons: ["nearest reasoning_effort: low, medium"]',
    unclear:
      'lessons: ["nearest reasoning_effort: none, minimal, low, medium, xhigh, max"]',
  },
  {
    feature: "patterns",
    refuses: (body) => toolsOf(body).includes('"pattern"'),
    words: "Unsupported JSON schema fields: {'pattern'}",
    line: 'lessons: ["describe pattern"]',
    unclear: 'lessons: ["describe pattern"]',
  },
  {
    feature: "a long tool name",
    refuses: (body) => /"name":"[^"]*-/.test(toolsOf(body)),
    words: "Function name is invalid, must be letters and underscores",
    line: 'lessons: ["rename tools: 64"]',
    unclear: 'lessons: ["rename tools: 64"]',
  },
  {
    feature: "a long tool name",
    refuses: (body) => /"name":"[\w-]{41}/.test(toolsOf(body)),
    words: "The tool's name has too many letters",
    line: 'lessons: ["rename tools: 32"]',
    unclear: 'lessons: ["rename tools: 32"]',
  },
  {
    feature: "an earlier picture",
    refuses: (body) => textOf(body).includes("image_url"),
    words: "This is not a multimodal model: image input is not supported",
    line: 'lessons: ["mention image"]',
    unclear: 'lessons: ["mention image"]',
  },
  {
    feature: "a high limit",
    refuses: ({ max_tokens }) => Number(max_tokens) > 8192,
    words: "max_tokens must be less than or equal to 8192",
    line: "max_output_tokens: 8192",
    unclear: "max_output_tokens: 8192",
  },
  {
    feature: "a begun answer",
    refuses: (body) => !isFromUser(body),
    words: "The last message must be from the user",
    line: 'lessons: ["omit prefill"]',
    unclear: 'lessons: ["omit prefill"]',
  },
];

for (const { feature, refuses, words, line, unclear } of REFUSED) {
  for (
    const [kind, message, row] of [
      ["clear words", words, line],
      ["a number alone", "1210", unclear],
      [
        "words without a name",
        "Request contains an invalid argument.",
        unclear,
      ],
      ["words of its own", "The flux of your 'gizmo' is out of phase", unclear],
    ] as const
  ) {
    Deno.test(`check --try finds the line for a model that refuses ${feature} in ${kind} (${words})`, async () => {
      const { code, out, config } = await tryRefusing((body) =>
        refuses(body) ? message : undefined
      );
      assert.equal(code, 0, out);
      assert.deepEqual(config, [`  main, models: { id: m, ${row} }`], out);
      const translated = out.split("\n")
        .filter((one) => one.includes("refused ")).slice(1);
      assert.ok(
        translated.every((one) => /refused +a picture:/.test(one)),
        out,
      );
      // The line prevents the refusals.
      const lines = parseYaml(`{ id: m, upstream: demo-a, ${row} }`);
      const again = await tryRefusing(
        (body) => refuses(body) ? message : undefined,
        lines,
      );
      assert.deepEqual(again.config, [], again.out);
    });
  }
}

/** Tries the model with a judge. Returns the suggested lines for the file. */
async function tryRefusing(
  judge: Judge,
  model: unknown = { id: "m", upstream: "demo-a", reasoning: ["low", "high"] },
) {
  const checked = await check(TRY, { judge, connection: { models: [model] } });
  const [, lines = ""] = checked.out.split("put this into the file:\n");
  return { ...checked, config: lines.split("\n").filter(Boolean) };
}

Deno.test("the documentation shows a real output of check --try", async () => {
  const { out } = await check(TRY, {
    judge: (body) => {
      if (body.temperature !== undefined) {
        return "Unsupported parameter: 'temperature'";
      }
      if (Number(body.max_tokens) > 8192) {
        return "max_tokens must be at most 8192";
      }
      return toolsOf(body).includes('"strict":true')
        ? "Tools with strict=True are not supported"
        : undefined;
    },
    connection: {
      models: [{
        ...{ id: "m", upstream: "demo-a" },
        ...{ reasoning: ["low"], input: ["text"] },
      }],
    },
  });
  const page = await Deno.readTextFile(
    new URL("../../../docs/running.md", import.meta.url),
  );
  assert.ok(page.includes("```text\n" + out + "```\n"), out);
});

Deno.test("check --try finds the line for a provider that only streams, and uses that line in all further tries", async () => {
  const { code, out, config } = await tryRefusing(({ stream }) =>
    stream === true ? undefined : "This model only support stream mode"
  );
  assert.equal(code, 0, out);
  assert.deepEqual(config, ["  main, stream_only: true"]);
  assert.match(out, /chat, native +works without +a word: learned to stream/);
  assert.match(out, /translated +works without +a word, /);
  assert.doesNotMatch(out, /refused /);
  assert.match(out, /not tried +a tool loop: there was no call to answer/);
});

Deno.test("check --try sends no second request to a model that fails the first", async () => {
  const { code, out, sent } = await check(TRY, {
    judge: () => `No such model; the key is ${UPSTREAM_KEY}`,
  });
  assert.equal(code, 1);
  assert.equal(sent.length, 1 + 3);
  assert.match(out, /refused +a word: The provider answered with status 400/);
  assert.match(out, /not tried +a stream, .*: a word failed\n/);
  assert.ok(!out.includes(UPSTREAM_KEY));
});

Deno.test("check --try names a model that no connection has, and sends no request", async () => {
  const connection = { models: [{ id: "glm-5", upstream: "demo-a" }] };
  for (
    const [model, words] of [
      ["nosuch", "has it. Name one by its id."],
      ["glm-6", 'has it. Did you mean "glm-5"?'],
    ] as const
  ) {
    const { code, out, error, sent } = await check(
      [...TRY, "--model", model],
      { connection },
    );
    assert.deepEqual([code, out, sent.length], [1, "", 0]);
    assert.equal(
      error,
      `Cannot check the model "${model}": no enabled connection ${words}\n`,
    );
  }
});

Deno.test("check --try skips the rest of a model when its provider cannot be reached", async () => {
  const { code, out, sent } = await check([...TRY, "--model", "m"], {
    judge: ({ temperature }) => {
      if (temperature !== undefined) throw new TypeError("connection refused");
      return undefined;
    },
  });
  assert.equal(code, 0);
  const [row = "", failed, untried] = out.split("\n");
  assert.match(row, /chat, native +works +a word, a stream$/);
  assert.match(failed ?? "", /refused +a temperature: .*(reach|connect)/);
  assert.match(
    untried ?? "",
    /not tried +a stop string, .*: the provider gave no answer$/,
  );
  const paths = sent.filter(({ method }) => method === "POST").length;
  assert.ok(paths <= 3 * 5, `${paths} requests`);
});

Deno.test("check --try tries only the named model, and prints JSON", async () => {
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

Deno.test("check --try sends no more requests to a model that misses its deadline", async () => {
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

Deno.test("check --try begins no request after twenty minutes", async () => {
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
  assert.deepEqual([...reasons], ["the bound on requests or time was reached"]);
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

// `check --try` with a strict fake of every preset. It shows what the fake refuses natively. No translated request may
// be refused for a fact in our tables.

/** The strict demo provider that answers a protocol's path. */
const ANSWERING = {
  "/chat/completions": { letter: "a", key: "demo-key-a" },
  "/messages": { letter: "b", key: "demo-key-b" },
  "/responses": { letter: "c", key: "demo-key-c" },
} as const;

/** Matches the path of Claude on Vertex AI. Its body has the version and no model. */
const VERTEX_REGEXP = /:(?:r|streamR)awPredict$/;

const strict = createStrictProvider({
  ...{ clock: systemClock, ids: randomIds, wordMs: 0 },
});

/** Responds as the strict provider of the protocol does, unless the fake of the preset refuses the request. */
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
    .replace(/( +)# headers_drop/, "$1headers_drop")
    .replace(/(?<=models:\n +- )\S+/, provider.model ?? "$&");
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
  Deno.test(`check --try shows the working features of ${name}, and ${name} rejects no translated request`, async () => {
    const { results } = await tryPreset(name, provider);
    const words = results.filter(({ trial }) => trial === "a word");
    assert.ok(words.length > 0);
    for (const { protocol, result, reason } of words) {
      assert.notEqual(result, "refused", `${protocol}: ${reason}`);
    }
    // A model without image input refuses a picture: dropping it would change the question.
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
