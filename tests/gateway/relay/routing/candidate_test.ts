import assert from "node:assert/strict";
import { assignedModels } from "../../../../src/gateway/config/assignment.ts";
import type {
  Caller,
  Config,
  Connection,
  Deployment,
} from "../../../../src/gateway/config/config.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import {
  type Endpoint,
  type Family,
  isFurther,
  type Operation,
  OPERATIONS,
  type Protocol,
  PROTOCOLS,
} from "../../../../src/base/protocol.ts";
import {
  assign,
  candidatesFor,
} from "../../../../src/gateway/relay/routing/candidate.ts";
import { servingDeployments } from "../../../../src/gateway/relay/routing/named_in_body.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../../../support/gateway/config.ts";

/** Returns a model on a connection of `family` with `endpoints`. */
async function deployment(
  family: Family,
  endpoints: readonly Endpoint[],
  paths: readonly Protocol[] = [],
): Promise<Deployment> {
  const { connections: [first] } = await minimalConfig();
  const [model] = first?.models ?? [];
  assert.ok(first && model);
  const connection: Connection = {
    ...first,
    name: `${family}: ${endpoints.join(" ")}`,
    family,
    paths,
    endpoints: Object.fromEntries(
      endpoints.map((endpoint) => [endpoint, `http://127.0.0.1:9/${endpoint}`]),
    ),
  };
  return { connection, model };
}

/** Returns `native`, the protocol of the translation, or the status of the error. */
async function outcome(
  operation: Operation,
  family: Family,
  endpoints: readonly Endpoint[],
  paths: readonly Protocol[] = [],
): Promise<string> {
  try {
    const [first] = candidatesFor(operation, [
      await deployment(family, endpoints, paths),
    ]);
    return first.mode === "native" ? "native" : first.protocol;
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return `${error.status} ${error.code}`;
  }
}

const GONE = "404 operation_not_supported";
const WRONG = "400 unsupported_path";

/**
 * The table of docs/design.md#paths: per operation, a family with its endpoints and the outcome.
 * Every connection also has the endpoint of its family.
 */
const TABLE: Readonly<
  Record<Operation, readonly (readonly [Family, string, string])[]>
> = {
  chat_completions: [
    ["A", "chat", "native"],
    ["A", "chat messages responses", "native"],
    ["B", "messages", "messages"],
    ["B", "chat messages", "messages"],
    ["C", "responses", "responses"],
    ["C", "chat responses", "responses"],
  ],
  completions: [
    ["A", "chat", "chat"],
    ["A", "chat completions", "native"],
    ["B", "messages", WRONG],
    ["B", "messages completions", WRONG],
    ["C", "responses", WRONG],
  ],
  messages: [
    ["A", "chat", "chat"],
    ["A", "chat responses", "chat"],
    ["A", "chat messages", "native"],
    ["B", "messages", "native"],
    ["C", "responses", WRONG],
    ["C", "messages responses", WRONG],
  ],
  count_tokens: [
    ["A", "chat", GONE],
    ["A", "chat messages", "native"],
    ["B", "messages", "native"],
    ["C", "responses", WRONG],
    ["C", "messages responses", WRONG],
  ],
  responses: [
    ["A", "chat", "chat"],
    ["A", "chat messages", "chat"],
    ["A", "chat responses", "native"],
    ["B", "messages", WRONG],
    ["B", "messages responses", WRONG],
    ["C", "responses", "native"],
  ],
  compact: [
    ["A", "chat", GONE],
    ["A", "chat responses", "native"],
    ["B", "messages", WRONG],
    ["B", "messages responses", WRONG],
    ["C", "responses", "native"],
  ],
};

const ENDPOINTS: readonly Endpoint[] = [
  "chat",
  "messages",
  "responses",
  "completions",
];

Deno.test("candidatesFor() returns the expected protocol or error for each path, family and endpoint", async (t) => {
  for (const operation of operations()) {
    for (const [family, names, expected] of TABLE[operation]) {
      await t.step(`${operation} of ${family} with ${names}`, async () => {
        const endpoints = ENDPOINTS.filter((one) =>
          names.split(" ").includes(one)
        );
        assert.equal(await outcome(operation, family, endpoints), expected);
      });
    }
  }
});

function operations(): readonly Operation[] {
  return [
    "chat_completions",
    "completions",
    "messages",
    "count_tokens",
    "responses",
    "compact",
  ];
}

Deno.test("candidatesFor() uses no endpoint that the connection lacks", async () => {
  for (let bits = 0; bits < 2 ** ENDPOINTS.length; bits++) {
    const endpoints = ENDPOINTS.filter((_, index) => bits & (1 << index));
    for (const family of ["A", "B", "C"] as const) {
      for (const operation of operations()) {
        const found = await outcome(operation, family, endpoints);
        if (/^\d/.test(found)) continue;
        const used = ENDPOINTS.find((one) => one === found) ??
          OPERATIONS[operation].endpoint;
        assert.ok(endpoints.includes(used), `${operation} ${family} ${found}`);
      }
    }
  }
});

/** The outcomes for a connection that offers all paths, where they differ from {@linkcode TABLE}. */
const OFFERED: readonly (readonly [Operation, Family, string, string])[] = [
  ["responses", "B", "messages", "messages"],
  ["responses", "B", "messages responses", "messages"],
  ["compact", "B", "messages", GONE],
  ["compact", "B", "messages responses", GONE],
  ["messages", "C", "responses", "responses"],
  ["messages", "C", "messages responses", "responses"],
  ["count_tokens", "C", "responses", GONE],
  ["count_tokens", "C", "messages responses", GONE],
];

Deno.test("candidatesFor() translates only the additional paths that a connection offers", async (t) => {
  for (const operation of operations()) {
    for (const [family, names, usual] of TABLE[operation]) {
      await t.step(`${operation} of ${family} with ${names}`, async () => {
        const offered = OFFERED.find(([path, letter, endpoints]) =>
          path === operation && letter === family && endpoints === names
        );
        const endpoints = ENDPOINTS.filter((one) =>
          names.split(" ").includes(one)
        );
        const further = PROTOCOLS.filter((one) => isFurther(one, family));
        assert.equal(
          await outcome(operation, family, endpoints, further),
          offered?.[3] ?? usual,
        );
      });
    }
  }
});

Deno.test("candidatesFor() translates to the connection's endpoint that suits the model best", async () => {
  const cases = [
    // These models refuse tools beside reasoning in Chat Completions.
    ["gpt-5.4", ["chat", "responses"], "responses"],
    ["gpt-6-astra", ["chat", "responses"], "responses"],
    ["openai/gpt-6.1-sol", ["chat", "responses"], "responses"],
    // These have no Chat Completions.
    ["gpt-5-codex", ["chat", "responses"], "responses"],
    // The other models, and connections without that endpoint, keep the protocol of the family.
    ["gpt-5.2", ["chat", "responses"], "chat"],
    ["glm-5", ["chat", "responses"], "chat"],
    ["gpt-6-astra", ["chat"], "chat"],
  ] as const;
  for (const [upstream, endpoints, protocol] of cases) {
    const { connection, model } = await deployment("A", endpoints);
    const only = { connection, model: { ...model, upstream } };
    assert.deepEqual(
      candidatesFor("messages", [only]),
      [{ mode: "translated", deployment: only, protocol }],
      upstream,
    );
    assert.deepEqual(
      candidatesFor("chat_completions", [only]),
      [{ mode: "native", deployment: only }],
      upstream,
    );
  }
});

Deno.test("candidatesFor() sends only OpenAI's models to the Responses endpoint of azure-chat", async () => {
  const at = async (upstream: string, operation: Operation) => {
    const { connection, model } = await deployment("A", ["chat", "responses"]);
    const [first] = candidatesFor(operation, [{
      connection: { ...connection, service: "azure-chat" },
      model: { ...model, upstream },
    }]);
    return first.mode === "native" ? "native" : first.protocol;
  };
  assert.equal(await at("gpt-6.1-sol", "messages"), "responses");
  assert.equal(await at("gpt-6.1-sol", "responses"), "native");
  assert.equal(await at("Kimi-K2.6", "messages"), "chat");
  assert.equal(await at("Kimi-K2.6", "responses"), "chat");
  assert.equal(await at("Kimi-K2.6", "chat_completions"), "native");
});

/** Services and models, with the effort and number of tools of a Chat request, and how it is served. */
const CHAT_OF_OPENAI = [
  ["azure-chat", "gpt-6.1-sol", undefined, 7, "responses"],
  ["azure-chat", "prod-gpt-6.1-sol", "low", 7, "responses"],
  ["openai-chat", "gpt-5.5", undefined, 7, "responses"],
  ["openai-chat", "gpt-5.5", "none", 7, "native"],
  ["openai-chat", "gpt-5.4", undefined, 7, "native"],
  ["openai-chat", "gpt-5.4", "high", 7, "responses"],
  ["openai-chat", "gpt-6.1-sol", "high", 0, "native"],
  ["openai-chat", "gpt-5-codex", undefined, 0, "responses"],
  ["openai-chat", "gpt-5.2", "high", 7, "native"],
  ["azure-chat", "Kimi-K2.6", "high", 7, "native"],
  ["custom", "gpt-6.1-sol", "high", 7, "native"],
] as const;

Deno.test("candidatesFor() uses Responses for requests that OpenAI's and Azure's Chat Completions refuse", async () => {
  for (const [service, upstream, effort, toolCount, served] of CHAT_OF_OPENAI) {
    const at = async (endpoints: readonly Endpoint[]) => {
      const { connection, model } = await deployment("A", endpoints);
      const [first] = candidatesFor("chat_completions", [{
        connection: { ...connection, service },
        model: { ...model, upstream },
      }], { prompt: { toolCount, effort } });
      return first.mode === "native" ? "native" : first.protocol;
    };
    assert.equal(await at(["chat", "responses"]), served, upstream);
    assert.equal(await at(["chat"]), "native", upstream);
  }
});

Deno.test("candidatesFor() omits deployments that accept fewer tools, and its error names count, limit and service", async () => {
  const at = async (
    service: Connection["service"],
    endpoints: readonly Endpoint[],
  ) => {
    const { connection, model } = await deployment("A", endpoints);
    return {
      connection: { ...connection, service },
      model: { ...model, upstream: "gpt-5.5" },
    };
  };
  const few = await at("openai-chat", ["chat"]);
  const other = await at("xai", ["chat"]);
  const any = await at("custom", ["chat"]);
  const found = (toolCount: number) =>
    candidatesFor("chat_completions", [few, other, any], {
      prompt: { toolCount, effort: "none" },
    }).map(({ deployment: { connection } }) => connection.service);
  assert.deepEqual(found(128), ["openai-chat", "xai", "custom"]);
  assert.deepEqual(found(129), ["xai", "custom"]);
  assert.deepEqual(found(201), ["custom"]);
  const ask = (operation: Operation, deployment: Deployment, facts = {}) =>
    candidatesFor(operation, [deployment], {
      prompt: { toolCount: 604, effort: "none" },
      ...facts,
    });
  assert.throws(
    () => ask("chat_completions", few),
    /Cannot send 604 tools .* \(openai-chat\) takes at most 128\./,
  );
  // The translation counts the tools that it sends.
  assert.deepEqual(ask("messages", few), [
    { mode: "translated", deployment: few, protocol: "chat" },
  ]);
  const both = await at("openai-chat", ["chat", "responses"]);
  for (const facts of [{}, { bodyProtocol: "responses" }]) {
    assert.deepEqual(ask("chat_completions", both, facts), [
      { mode: "translated", deployment: both, protocol: "responses" },
    ]);
  }
});

const OF_MESSAGES = "/messages or /chat/completions instead";
const OF_RESPONSES = "/responses or /chat/completions instead";

Deno.test("candidatesFor() throws an error that names the path, and the paths that serve the model", async () => {
  const cases: readonly (readonly [Operation, Family, string, string])[] = [
    ["responses", "B", "/responses", OF_MESSAGES],
    ["compact", "B", "/responses/compact", OF_MESSAGES],
    ["completions", "B", "/completions", OF_MESSAGES],
    ["messages", "C", "/messages", OF_RESPONSES],
    ["count_tokens", "C", "/messages/count_tokens", OF_RESPONSES],
    ["completions", "C", "/completions", OF_RESPONSES],
    ["compact", "A", "/responses/compact", "another model"],
    ["count_tokens", "A", "/messages/count_tokens", "another model"],
  ];
  for (const [operation, family, path, instead] of cases) {
    const endpoint =
      ({ A: "chat", B: "messages", C: "responses" } as const)[family];
    const only = await deployment(family, [endpoint]);
    assert.throws(() => candidatesFor(operation, [only]), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(
        error.message,
        `Cannot serve ${path} for this model: its provider does not support this operation. Use ${instead}.`,
      );
      return true;
    });
  }
});

Deno.test("candidatesFor() keeps the order of the deployments", async () => {
  const deployments = [
    await deployment("C", ["responses"]),
    await deployment("A", ["chat"]),
    await deployment("B", ["messages"]),
  ] as const;
  const [c, a, b] = deployments;
  assert.deepEqual(candidatesFor("messages", [c, a, b]), [
    { mode: "translated", deployment: a, protocol: "chat" },
    { mode: "native", deployment: b },
  ]);
  assert.deepEqual(
    candidatesFor("messages", [b, a, c]).map(({ deployment }) => deployment),
    [b, a],
  );
});

Deno.test("candidatesFor() throws the first deployment's error when none can serve", async () => {
  const a = await deployment("A", ["chat"]);
  const b = await deployment("B", ["messages"]);
  assert.throws(() => candidatesFor("compact", [a, b]), /Use another model/);
  assert.throws(() => candidatesFor("compact", [b, a]), /Use \/messages/);
});

Deno.test("candidatesFor() prefers an endpoint in the body's protocol if the body does not match its path", async () => {
  const cases = [
    ["A", ["chat"], "chat"],
    ["A", ["chat", "messages"], "chat"],
    ["A", ["chat", "responses"], "responses"],
    ["B", ["messages"], "messages"],
    ["C", ["responses"], "responses"],
  ] as const;
  for (const [family, endpoints, protocol] of cases) {
    const only = await deployment(family, endpoints);
    assert.deepEqual(
      candidatesFor("chat_completions", [only], { bodyProtocol: "responses" }),
      [{ mode: "translated", deployment: only, protocol }],
    );
  }
});

/** Loads a configuration with three connections. All have `shared`, and the third is disabled. */
function loadConfig(): Promise<Config> {
  return minimalConfig({
    connections: [
      connectionFile({ name: "one", models: ["shared", "only-one"] }),
      connectionFile({ name: "two", models: ["only-two", "shared"] }),
      connectionFile({
        name: "three",
        enabled: false,
        models: ["shared", "only-three"],
      }),
    ],
    tokens: [
      tokenFile({ name: "everything" }),
      tokenFile({
        name: "second",
        sha256: "2".repeat(64),
        connections: ["two", "three"],
      }),
      tokenFile({
        name: "narrow",
        sha256: "3".repeat(64),
        models: ["only-one"],
      }),
      tokenFile({
        name: "crossed",
        sha256: "4".repeat(64),
        connections: ["one"],
        models: ["shared"],
      }),
    ],
  });
}

function callerOf(config: Config, name: string): Caller {
  const caller = [...config.callers.values()].find((one) => one.name === name);
  assert.ok(caller);
  return caller;
}

/** Returns the connections that serve a model to a caller. */
async function connectionsFor(
  name: string,
  model: string,
): Promise<readonly string[]> {
  const config = await loadConfig();
  return assign(model, callerOf(config, name), config)
    .map(({ connection }) => connection.name);
}

Deno.test("assign() returns the enabled connections that the caller may use, in the file's order", async () => {
  assert.deepEqual(await connectionsFor("everything", "shared"), [
    "one",
    "two",
  ]);
  assert.deepEqual(await connectionsFor("everything", "only-two"), ["two"]);
  assert.deepEqual(await connectionsFor("second", "shared"), ["two"]);
  assert.deepEqual(await connectionsFor("narrow", "only-one"), ["one"]);
  assert.deepEqual(await connectionsFor("crossed", "shared"), ["one"]);
});

Deno.test("assign() escapes an unknown name in its error", async () => {
  const config = await minimalConfig();
  const rejectsAs = (name: string, quoted: string) =>
    assert.throws(
      () => assign(name, callerOf(config, "alice"), config),
      ({ message }: Error) => message.includes(quoted),
    );
  rejectsAs('a"\n\u001bb', '"a\\"\\n\\u001bb"');
  rejectsAs("x".repeat(10_000), `"${"x".repeat(100)}…"`);
  rejectsAs("x".repeat(100), `"${"x".repeat(100)}"`);
});

Deno.test("assignedModels() lists a caller's models in the file's order, each with its first connection", async () => {
  const config = await loadConfig();
  const listFor = (name: string) =>
    [...assignedModels(callerOf(config, name), config)]
      .map(([id, [{ connection }]]) => `${id} on ${connection.name}`);
  assert.deepEqual(listFor("everything"), [
    "shared on one",
    "only-one on one",
    "only-two on two",
  ]);
  assert.deepEqual(listFor("second"), ["shared on two", "only-two on two"]);
  assert.deepEqual(listFor("narrow"), ["only-one on one"]);
  assert.deepEqual(listFor("crossed"), ["shared on one"]);
});

Deno.test("assignedModels() lists exactly the models that assign() serves", async () => {
  const config = await loadConfig();
  for (const caller of config.callers.values()) {
    const listed = assignedModels(caller, config);
    for (const model of config.pools.keys()) {
      if (listed.has(model)) {
        const deployments = assign(model, caller, config);
        assert.deepEqual(listed.get(model), deployments);
      } else {
        assert.throws(() => assign(model, caller, config), GatewayError);
      }
    }
  }
});

Deno.test("servingDeployments() lists the requested model once, even if the body names the model again", async () => {
  const config = await minimalConfig({
    connections: [connectionFile({
      models: [
        { id: "other", upstream: "same" },
        { id: "called", upstream: "same" },
        { id: "named", upstream: "helper" },
      ],
    })],
  });
  const [caller] = config.callers.values();
  const [called] = config.pools.get("called") ?? [];
  assert.ok(caller && called);
  const names = ["same", "helper", "unknown"]
    .map((name) => ({ param: "models", name }));
  const serving = servingDeployments(
    { mode: "native", deployment: called },
    { names, protocol: "chat" },
    caller,
  );
  assert.deepEqual(serving.map(({ model }) => model.id), ["called", "named"]);
});

Deno.test("assign() names the caller's regions only if nothing else keeps the caller from the model", async () => {
  const config = await minimalConfig({
    connections: [
      connectionFile({ name: "eu", region: "eu", models: ["a"] }),
      connectionFile({ name: "us", region: "us", models: ["a", "b"] }),
      connectionFile({ name: "none", models: ["a", "b"] }),
      connectionFile({ name: "not assigned", models: ["c"] }),
    ],
    tokens: [
      tokenFile({ connections: ["eu", "us", "none"], regions: ["eu"] }),
    ],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  const served = assign("a", caller, config);
  assert.deepEqual(served.map(({ connection }) => connection.name), ["eu"]);
  const codes = ["b", "c", "d"].map((model) => {
    try {
      return assign(model, caller, config);
    } catch (error) {
      assert.ok(error instanceof GatewayError);
      return [error.kind, error.code, /regions eu,/.test(error.message)];
    }
  });
  const unknown = ["not_found", "model_not_found", false];
  assert.deepEqual(codes, [
    ["invalid_request", "region_not_allowed", true],
    unknown,
    unknown,
  ]);
  assert.deepEqual([...assignedModels(caller, config).keys()], ["a"]);
});

Deno.test("candidatesFor() reads the tables of models once for each deployment", async () => {
  const { exec } = RegExp.prototype;
  const read: string[] = [];
  const services = ["custom", "azure-chat", "openai-chat", "moonshot"] as const;
  for (const service of services) {
    const { connection, model } = await deployment("A", ["chat", "responses"]);
    const chosen = {
      connection: { ...connection, service },
      model: { ...model, upstream: "kimi-k3-preview" },
    };
    const route = () => {
      for (const operation of ["chat_completions", "responses"] as const) {
        candidatesFor(operation, [chosen]);
      }
    };
    route();
    // A pattern calls a changed `exec` for each text that it reads.
    RegExp.prototype.exec = function (text) {
      if (text.includes("kimi-k3")) read.push(`${service}: ${this.source}`);
      return exec.call(this, text);
    };
    try {
      route();
    } finally {
      RegExp.prototype.exec = exec;
    }
  }
  assert.deepEqual(read, []);
});
