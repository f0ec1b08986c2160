import { CallerLeft } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { request } from "node:http";
import type { ModelCatalog } from "../../../src/gateway/catalog/model_catalog.ts";
import {
  modelResponse,
  type ModelsContext,
  modelsResponse,
} from "../../../src/gateway/http/models.ts";
import {
  ALICE_TOKEN,
  configOf,
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import type { ModelFacts } from "../../../src/gateway/catalog/model_facts.ts";
import { listedModels } from "../../../src/gateway/config/assignment.ts";
import { modelEntry } from "../../../src/gateway/http/model_entry.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import { startDemoGateway } from "../../support/gateway/demo_gateway.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { testNeeding } from "../../support/ignored.ts";
import { hasProgram } from "../../support/program/has_program.ts";
import { readError } from "../../support/wire/error_answer.ts";

/** Returns facts with only the inputs. */
function catalogOf(
  facts: (connection: string) => ReturnType<ModelCatalog["factsOf"]>,
): ModelCatalog {
  return {
    refresh: () => Promise.resolve(),
    factsOf: ({ connection }) => facts(connection.name),
  };
}

async function scene(
  token: Readonly<Record<string, unknown>> = {},
): Promise<ModelsContext> {
  const config = await minimalConfig({
    connections: [
      connectionFile({ name: "one", models: ["org/a", "b"] }),
      connectionFile({ name: "two", models: ["b", "c"] }),
    ],
    tokens: [tokenFile(token)],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  const catalog = catalogOf(() => ({}));
  const { signal } = new AbortController();
  const headers = new Headers();
  return { query: "", headers, caller, config, catalog, signal };
}

const entry = (id: string) => ({
  id,
  object: "model",
  type: "model",
  created: 0,
  created_at: "1970-01-01T00:00:00.000Z",
  display_name: id,
  owned_by: "custom",
  protocols: ["chat", "messages", "responses"],
  native_protocols: ["chat"],
});

Deno.test("modelsResponse() lists each of the caller's models once, for both SDKs", async () => {
  const context = await scene();
  assert.deepEqual(await (await modelsResponse(context)).json(), {
    object: "list",
    data: [entry("org/a"), entry("b"), entry("c")],
    has_more: false,
    first_id: "org/a",
    last_id: "c",
  });
});

Deno.test("modelsResponse() returns an empty list for a caller without models", async () => {
  const context = await scene();
  const caller = { ...context.caller, connectionIds: new Set<string>() };
  const response = await modelsResponse({ ...context, caller });
  assert.deepEqual(await response.json(), {
    object: "list",
    data: [],
    has_more: false,
    first_id: null,
    last_id: null,
  });
});

Deno.test("modelsResponse() adds the caller's unlisted models, with a mark, only for the page", async () => {
  const config = await minimalConfig({
    connections: [
      connectionFile({
        models: [
          { id: "a", listed: false },
          { id: "b", aliases: [{ id: "b-2", listed: false }] },
          { id: "c", listed: false },
        ],
      }),
    ],
    tokens: [tokenFile({ models: ["a", "b"] })],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  const shown = async (headers: Headers, query = "") => {
    const context = { ...await scene(), config, caller, headers, query };
    const { data, models } = await (await modelsResponse(context)).json();
    return (data ?? models).map(
      ({ id, slug, listed }: Record<string, unknown>) => [id ?? slug, listed],
    );
  };
  const all = new Headers({ "x-gateway-models": "all" });
  assert.deepEqual(await shown(all), [
    ["b", undefined],
    ["a", false],
    ["b-2", false],
  ]);
  assert.deepEqual(await shown(new Headers()), [["b", undefined]]);
  const codex = "?client_version=0.169.0";
  assert.deepEqual(await shown(all, codex), [["b", undefined]]);
});

Deno.test("modelResponse() returns one of the caller's models", async () => {
  const response = await modelResponse("org/a", await scene());
  assert.deepEqual(await response.json(), entry("org/a"));
});

Deno.test("modelsResponse() reports the common facts of a model on all of the caller's connections", async () => {
  const context = await scene();
  const catalog = catalogOf((connection) => ({
    contextWindow: connection === "one" ? 10 : 5,
  }));
  const { data } = await (await modelsResponse({ ...context, catalog })).json();
  assert.deepEqual(
    data.map(({ id, context_length }: Record<string, unknown>) => [
      id,
      context_length,
    ]),
    [["org/a", 10], ["b", 5], ["c", 5]],
  );
});

Deno.test("modelsResponse() reads the list of each connection of the caller once", async () => {
  const asked: string[][] = [];
  const context = await scene({ models: ["b", "c"] });
  const catalog: ModelCatalog = {
    refresh: (connections) => {
      asked.push(connections.map(({ name }) => name));
      return Promise.resolve();
    },
    factsOf: () => ({}),
  };
  await modelsResponse({ ...context, catalog });
  await modelResponse("c", { ...context, catalog });
  assert.deepEqual(asked, [["one", "two"], ["two"]]);
});

Deno.test("modelsResponse() returns Codex's catalog to Codex", async () => {
  const query = "?client_version=0.169.0";
  const response = await modelsResponse({ ...await scene(), query });
  const { models, data } = await response.json();
  assert.equal(data, undefined);
  assert.deepEqual(
    models.map(({ slug }: { slug: string }) => slug),
    ["org/a", "b", "c"],
  );
});

Deno.test("modelsResponse() rejects when the caller disconnects while lists are read", async () => {
  const context = await scene();
  const signal = AbortSignal.abort();
  const refused = new Error("left");
  const catalog: ModelCatalog = {
    refresh: () => Promise.reject(refused),
    factsOf: () => ({}),
  };
  for (
    const answer of [
      modelsResponse({ ...context, catalog, signal }),
      modelResponse("b", { ...context, catalog, signal }),
    ]
  ) await assert.rejects(answer, CallerLeft);
  await assert.rejects(modelsResponse({ ...context, catalog }), refused);
});

async function entryWith(facts: ModelFacts): Promise<Record<string, unknown>> {
  const config = await minimalConfig();
  const [caller] = config.callers.values();
  assert.ok(caller);
  const deployments = listedModels(caller, config).get("model-a");
  assert.ok(deployments);
  return JSON.parse(
    JSON.stringify(modelEntry({ name: "some-alias", deployments, facts })),
  );
}

const PLAIN = {
  id: "some-alias",
  object: "model",
  type: "model",
  created: 0,
  created_at: "1970-01-01T00:00:00.000Z",
  display_name: "some-alias",
  owned_by: "custom",
  protocols: ["chat", "messages", "responses"],
  native_protocols: ["chat"],
};

/** Connections that serve a model, in order, each with its family and endpoints, and the expected native protocols. */
const NATIVE: Readonly<
  Record<string, readonly [readonly string[], readonly string[]]>
> = {
  "each family's own protocol": [["B messages"], ["messages"]],
  "a family's own protocol even if others could be translated": [[
    "C responses",
  ], [
    "responses",
  ]],
  "the protocols of further endpoints, after the family's own": [
    ["A messages responses chat"],
    ["chat", "messages", "responses"],
  ],
  "the protocols of all connections": [
    ["A chat messages", "B messages"],
    ["messages"],
  ],
  "the first connection's protocols if the connections have none in common": [
    ["C responses", "A chat"],
    ["responses"],
  ],
};

for (const [name, [connections, expected]] of Object.entries(NATIVE)) {
  Deno.test(`modelEntry() reports as native ${name}`, async () => {
    const file = minimalFile({
      connections: connections.map((text, index) => {
        const [family, ...endpoints] = text.split(" ");
        return connectionFile({
          name: `one-${index}`,
          family,
          endpoints: Object.fromEntries(
            endpoints.map((one) => [one, `http://127.0.0.1:9/${index}`]),
          ),
        });
      }),
    });
    const config = configOf(await loadFile(file));
    const [caller] = config.callers.values();
    assert.ok(caller);
    const deployments = listedModels(caller, config).get("model-a");
    assert.ok(deployments);
    const entry = modelEntry({ name: "model-a", deployments, facts: {} });
    assert.deepEqual(entry.native_protocols, expected);
  });
}

Deno.test("modelEntry() leaves out unknown facts", async () => {
  assert.deepEqual(await entryWith({}), PLAIN);
});

Deno.test("modelEntry() returns all known facts, in the fields of every client", async () => {
  const entry = await entryWith({
    displayName: "Model A",
    createdMs: Date.UTC(2026, 4, 6, 7, 8, 9, 500),
    contextWindow: 200_000,
    maxOutputTokens: 64_000,
    input: { text: true, image: true, pdf: true, audio: false },
    callsTools: true,
    reasons: true,
    efforts: ["low", "max", "ultra"],
  });
  assert.deepEqual(entry, {
    ...PLAIN,
    display_name: "Model A",
    created: Date.UTC(2026, 4, 6, 7, 8, 9) / 1000,
    created_at: "2026-05-06T07:08:09.500Z",
    max_input_tokens: 200_000,
    max_tokens: 64_000,
    capabilities: {
      image_input: { supported: true },
      pdf_input: { supported: true },
      thinking: { supported: true },
      effort: {
        supported: true,
        low: { supported: true },
        medium: { supported: false },
        high: { supported: false },
        xhigh: { supported: false },
        max: { supported: true },
      },
    },
    context_length: 200_000,
    max_output_tokens: 64_000,
    top_provider: { context_length: 200_000, max_completion_tokens: 64_000 },
    architecture: { input_modalities: ["text", "image", "file"] },
    supported_parameters: ["tools", "tool_choice", "reasoning"],
    reasoning: { supported_efforts: ["low", "max", "ultra"] },
  });
});

Deno.test("modelEntry() reports capabilities in Anthropic's form, except those that the configuration denies", async () => {
  const entry = await entryWith({
    capabilities: {
      batch: { supported: true },
      thinking: { supported: true, types: { adaptive: { supported: true } } },
      image_input: { supported: true },
      context_management: { supported: true, compact_20260112: null },
    },
    input: { text: true, image: false },
    reasons: true,
  });
  assert.deepEqual(entry.capabilities, {
    batch: { supported: true },
    thinking: { supported: true, types: { adaptive: { supported: true } } },
    image_input: { supported: false },
    context_management: { supported: true, compact_20260112: null },
  });
});

Deno.test("modelEntry() shows that a model does not reason", async () => {
  const entry = await entryWith({ reasons: false, efforts: [] });
  assert.deepEqual(entry.reasoning, { supported_efforts: [] });
  const { thinking, effort } = Object(entry.capabilities);
  assert.deepEqual(thinking, { supported: false });
  assert.equal(effort.supported, false);
});

Deno.test("modelEntry() omits parameters without a fact about tools", async () => {
  const parameters = async (facts: ModelFacts) =>
    (await entryWith(facts)).supported_parameters;
  assert.equal(await parameters({ reasons: true }), undefined);
  assert.deepEqual(await parameters({ callsTools: false, reasons: true }), [
    "reasoning",
  ]);
  assert.deepEqual(await parameters({ callsTools: true }), [
    "tools",
    "tool_choice",
  ]);
});

const LOGIN = "/.well-known/opencode";
const CONFIG = "/.well-known/opencode/config";
const BEARER = { authorization: `Bearer ${ALICE_TOKEN}` };

Deno.test("opencode's login gets the token command and the configuration's address, but nothing about callers", async () => {
  await using gateway = await startDemoGateway();
  const response = await gateway.call(LOGIN);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("cache-control"), "no-store");
  const { auth, remote_config: remote, ...rest } = await response.json();
  assert.deepEqual(rest, {});
  assert.equal(auth.env, "MODEL_GATEWAY_TOKEN");
  assert.deepEqual(remote, {
    url: `${gateway.url}${CONFIG}`,
    headers: { authorization: "Bearer {env:MODEL_GATEWAY_TOKEN}" },
  });
});

testNeeding(
  "opencode's login command prints the token of the environment, and fails without one or a terminal",
  !await hasProgram("setsid") && "there is no setsid here",
  async () => {
    await using gateway = await startDemoGateway();
    const { auth: { command: [program, ...args] } } =
      await (await gateway.call(LOGIN)).json();
    const run = async (token: string) => {
      const { code, stdout } = await new Deno.Command("setsid", {
        args: ["-w", program, ...args],
        env: { MODEL_GATEWAY_TOKEN: token },
        stdin: "null",
        stderr: "null",
      }).output();
      return { good: code === 0, output: new TextDecoder().decode(stdout) };
    };
    assert.deepEqual(await run("it's $HOME"), {
      good: true,
      output: "it's $HOME",
    });
    assert.deepEqual(await run(""), { good: false, output: "" });
  },
);

Deno.test("opencode's configuration has only the caller's models, each with its protocol", async () => {
  const file = familiesFile("http://127.0.0.1:9");
  await using gateway = await startGateway(file);
  const response = await gateway.call(CONFIG, { headers: BEARER });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("cache-control"), "no-store");
  const { provider: { gateway: { options, models } }, model } = await response
    .json();
  assert.deepEqual(options, {
    baseURL: `${gateway.url}/v1`,
    apiKey: "{env:MODEL_GATEWAY_TOKEN}",
  });
  assert.ok(isJsonObject(models));
  const list = await gateway.call("/v1/models", { headers: BEARER });
  const { data }: { data: { id: string }[] } = await list.json();
  assert.deepEqual(Object.keys(models), data.map(({ id }) => id));
  assert.equal(model, `gateway/${data[0]?.id}`);
});

Deno.test("opencode's configuration has a model's configured inputs", async () => {
  await using gateway = await startGateway({
    connections: [connectionFile({
      models: [{ id: "m", input: ["text", "image"], context_window: 131072 }],
    })],
    tokens: [tokenFile({})],
  });
  const response = await gateway.call(CONFIG, { headers: BEARER });
  const { provider } = await response.json();
  const { attachment, modalities, limit } = provider.gateway.models.m;
  assert.deepEqual({ attachment, modalities, limit }, {
    attachment: true,
    modalities: { input: ["text", "image"], output: ["text"] },
    limit: { context: 131_072, output: 32_000 },
  });
});

Deno.test("opencode's configuration without a token is an error that names no model", async () => {
  await using gateway = await startDemoGateway();
  for (const headers of [{}, { authorization: "Bearer mg_wrong" }]) {
    const response = await gateway.call(CONFIG, { headers });
    const error = await readError(response, "chat");
    assert.equal(error.status, 401);
  }
});

/** Headers of a request, and the address that opencode gets. */
const ADDRESSES: Readonly<Record<string, [Record<string, string>, string]>> = {
  "of a proxy with TLS": [
    { host: "models.example", "x-forwarded-proto": "https" },
    "https://models.example",
  ],
  "of the outer one of two proxies": [
    {
      host: "inner",
      "x-forwarded-host": "Models.example:8443, inner",
      "x-forwarded-proto": "https, http",
    },
    "https://models.example:8443",
  ],
  "without a proxy": [{ host: "10.0.0.7:8787" }, "http://10.0.0.7:8787"],
};

for (const [name, [headers, expected]] of Object.entries(ADDRESSES)) {
  Deno.test(`opencode gets the address ${name}`, async () => {
    await using gateway = await startDemoGateway();
    const { remote_config: { url } } =
      await (await askWith(gateway.url, headers))
        .json();
    assert.equal(url, `${expected}${CONFIG}`);
  });
}

Deno.test("opencode gets no invalid address", async () => {
  await using gateway = await startDemoGateway();
  const hostile = [
    { "x-forwarded-proto": "javascript" },
    { "x-forwarded-host": "evil.example/path" },
    { "x-forwarded-host": "user@evil.example" },
    { "x-forwarded-host": "a b" },
    { "x-forwarded-host": "" },
  ];
  for (const headers of hostile) {
    const error = await readError(await askWith(gateway.url, headers), "chat");
    assert.equal(error.status, 400, JSON.stringify(headers));
  }
});

/** Sends the request directly to the handler, since `fetch` sets `host` itself. */
async function askWith(
  url: string,
  headers: Record<string, string>,
): Promise<Response> {
  return await new Promise((resolve, reject) => {
    request(url + LOGIN, { headers, agent: false }, (answer) => {
      const parts: Uint8Array[] = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () =>
        resolve(
          new Response(new Blob(parts.map((part) => part.slice())), {
            status: answer.statusCode ?? 0,
            headers: Object.entries(answer.headers).map((
              [name, value],
            ): [string, string] => [name, String(value)]),
          }),
        ));
    }).on("error", reject).end();
  });
}
