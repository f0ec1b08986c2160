import assert from "node:assert/strict";
import {
  NoModelList,
  readModelList,
} from "../../../src/gateway/catalog/read_list.ts";
import type { Connection } from "../../../src/gateway/config/config.ts";
import {
  connectionFile,
  minimalConfig,
  UPSTREAM_KEY,
} from "../../support/gateway/config.ts";
import { systemClock } from "../../../src/base/time/timers.ts";
import { turnsDuring } from "../../support/turns_during.ts";
import { steps } from "../../support/steps.ts";

async function connectionWith(
  overrides: Readonly<Record<string, unknown>> = {},
): Promise<Connection> {
  const config = await minimalConfig({
    connections: [connectionFile({
      endpoints: { chat: "https://a.example/v1" },
      ...overrides,
    })],
  });
  const [connection] = config.connections;
  assert.ok(connection);
  return connection;
}

/** Returns a provider that answers by address and records its requests. */
function provider(answers: Readonly<Record<string, unknown>>) {
  const asked: { url: string; init: RequestInit }[] = [];
  return {
    asked,
    urls: () => asked.map(({ url }) => url),
    fetch(url: string, init: RequestInit): Promise<Response> {
      asked.push({ url, init });
      const answer = answers[url];
      return Promise.resolve(
        answer === undefined
          ? new Response("no such page", { status: 404 })
          : answer instanceof Response
          ? answer
          : Response.json(answer),
      );
    },
  };
}

const read = (
  connection: Connection,
  { fetch }: Pick<ReturnType<typeof provider>, "fetch">,
  signal = new AbortController().signal,
) =>
  readModelList(connection, {
    ...{ fetch, messagesVendor: "anthropic", signal },
    clock: systemClock,
  });

/** Returns the reason of a missing list. */
async function reasonOf(reading: Promise<unknown>): Promise<string> {
  const error = await reading.then(() => undefined, (error) => error);
  assert.ok(error instanceof NoModelList, String(error));
  return error.message;
}

const ENTRY = { id: "model-a", context_length: 10 };

Deno.test("readModelList() sends the connection's key and headers to its base URL, and follows no redirect", async () => {
  const { asked, fetch } = provider({
    "https://a.example/v1/models": { data: [ENTRY] },
  });
  const connection = await connectionWith({ headers: { "x-team": "a" } });
  const list = await read(connection, { fetch });
  assert.equal(list.get("model-a")?.contextWindow, 10);
  assert.equal(asked.length, 1);
  assert.equal(asked[0]?.init.redirect, "manual");
  assert.equal(asked[0]?.init.body, undefined);
  assert.deepEqual(Object.fromEntries(new Headers(asked[0]?.init.headers)), {
    accept: "application/json",
    "accept-encoding": "identity",
    authorization: `Bearer ${UPSTREAM_KEY}`,
    "x-team": "a",
  });
});

Deno.test("readModelList() returns the facts about the connection's own models, by upstream name", async () => {
  const { fetch } = provider({
    "https://a.example/v1/models": {
      data: [{ id: "other", context_length: 1 }, ENTRY, { id: "up" }],
    },
  });
  const connection = await connectionWith({
    models: ["model-a", { id: "mine", upstream: "up" }, "absent"],
  });
  assert.deepEqual([...(await read(connection, { fetch })).keys()], [
    "model-a",
    "up",
  ]);
});

Deno.test("readModelList() reads all pages of a Messages provider, with Anthropic's headers", async () => {
  const first = "https://a.example/v1/models?limit=1000";
  const second = `${first}&after_id=x`;
  const { urls, asked, fetch } = provider({
    [first]: { data: [{ id: "x" }], has_more: true, last_id: "x" },
    [second]: { data: [ENTRY], has_more: true, last_id: "model-a" },
  });
  const connection = await connectionWith({
    family: "B",
    endpoints: { messages: "https://a.example/v1" },
    auth: { scheme: "x-api-key", key: UPSTREAM_KEY },
  });
  const list = await read(connection, { fetch });
  assert.equal(list.get("model-a")?.contextWindow, 10);
  // All wanted models are known by then.
  assert.deepEqual(urls(), [first, second]);
  const headers = new Headers(asked[0]?.init.headers);
  assert.equal(headers.get("anthropic-version"), "2023-06-01");
  assert.equal(headers.get("x-api-key"), UPSTREAM_KEY);
});

Deno.test("readModelList() sends the configured version header only to the base URL of Messages", async () => {
  const { asked, fetch } = provider({});
  const connection = await connectionWith({
    endpoints: {
      chat: "https://a.example/v1",
      messages: "https://b.example/v1",
      completions: "https://c.example/v1",
    },
  });
  const { signal } = new AbortController();
  await assert.rejects(
    readModelList(connection, {
      ...{ fetch, messagesVendor: "acme", signal },
      clock: systemClock,
    }),
    NoModelList,
  );
  const versions = asked.map(({ url, init }) => [
    new URL(url).host,
    new Headers(init.headers).get("acme-version"),
    new Headers(init.headers).get("anthropic-version"),
  ]);
  assert.deepEqual(versions, [
    ["a.example", null, null],
    ["b.example", "2023-06-01", null],
    ["c.example", null, null],
  ]);
});

Deno.test("readModelList() requests OpenRouter's next page by the number of entries read so far", async () => {
  const base = "https://openrouter.ai/api/v1/models?limit=200";
  const { urls, fetch } = provider({
    [base]: { data: [{ id: "x" }, {}], links: { next: "/elsewhere" } },
    [`${base}&offset=2`]: { data: [ENTRY], links: { next: null } },
  });
  const connection = await connectionWith({
    service: "openrouter",
    family: undefined,
    endpoints: undefined,
  });
  const list = await read(connection, { fetch });
  assert.equal(list.get("model-a")?.contextWindow, 10);
  assert.deepEqual(urls(), [base, `${base}&offset=2`]);
});

Deno.test("readModelList() sends the version that the back end of ChatGPT plans requires", async () => {
  const { urls, fetch } = provider({
    "https://chatgpt.com/backend-api/codex/models?client_version=0.169.0": {
      models: [{ slug: "model-a", context_window: 10 }],
    },
  });
  const connection = await connectionWith({
    service: "codex",
    family: undefined,
    endpoints: undefined,
  });
  const list = await read(connection, { fetch });
  assert.equal(list.get("model-a")?.contextWindow, 10);
  assert.equal(urls().length, 1);
});

Deno.test("readModelList() keeps entries of Codex's catalog only for the service codex", async () => {
  const entry = { id: "model-a", slug: "model-a", context_window: 10 };
  const plain = await read(
    await connectionWith(),
    provider({ "https://a.example/v1/models": { data: [entry] } }),
  );
  assert.equal(plain.get("model-a")?.contextWindow, 10);
  assert.equal(plain.get("model-a")?.codexEntry, undefined);
  const codex = await read(
    await connectionWith({
      service: "codex",
      family: undefined,
      endpoints: undefined,
    }),
    provider({
      "https://chatgpt.com/backend-api/codex/models?client_version=0.169.0": {
        models: [entry],
      },
    }),
  );
  assert.deepEqual(codex.get("model-a")?.codexEntry, entry);
});

Deno.test("readModelList() reads at most ten pages", async () => {
  let asked = 0;
  const connection = await connectionWith();
  await read(connection, {
    fetch: () => {
      asked += 1;
      const data = [{ id: `other-${asked}` }];
      return Promise.resolve(
        Response.json({ data, has_more: true, last_id: `other-${asked}` }),
      );
    },
  });
  assert.equal(asked, 10);
});

Deno.test("readModelList() tries the connection's other base URLs, each once", async () => {
  const { urls, fetch } = provider({
    "https://b.example/v1/models?limit=1000": { data: [ENTRY] },
  });
  const connection = await connectionWith({
    endpoints: {
      chat: "https://a.example/v1",
      responses: "https://a.example/v1",
      messages: "https://b.example/v1",
    },
  });
  const list = await read(connection, { fetch });
  assert.equal(list.get("model-a")?.contextWindow, 10);
  assert.deepEqual(urls(), [
    "https://a.example/v1/models",
    "https://b.example/v1/models?limit=1000",
  ]);
});

/** Responses without a list, with the reason. */
const NO_LISTS: readonly (readonly [string, () => Response, string])[] = [
  [
    "an error",
    () => new Response("secret words", { status: 403 }),
    "the provider answered with status 403",
  ],
  [
    "a redirect",
    () =>
      new Response(null, {
        status: 302,
        headers: { location: "https://evil.example/" },
      }),
    "the provider answered with status 302",
  ],
  [
    "no JSON",
    () => new Response("<html>"),
    "the response is not a list of models",
  ],
  ["nothing", () => new Response(null), "the response is not a list of models"],
  [
    "no list",
    () => Response.json({ ok: true }),
    "the response is not a list of models",
  ],
  [
    "more than 1 MiB",
    () => new Response(" ".repeat(1024 * 1024 + 1)),
    "a page of the list is longer than 1 MiB",
  ],
  [
    "more values than others can wait for",
    () => new Response(`{"data":[${"{},".repeat(300_000)}{}]}`),
    "the response is not a list of models",
  ],
  [
    "the connection's key",
    () => Response.json({ data: [{ id: "model-a", name: UPSTREAM_KEY }] }),
    "the list contains the connection's key",
  ],
];

Deno.test("readModelList() returns the reason of a missing list", async (t) => {
  const connection = await connectionWith();
  await steps(t, NO_LISTS, async ([, answer, reason]) => {
    const fetch = () => Promise.resolve(answer());
    assert.equal(await reasonOf(read(connection, { fetch })), reason);
  });
  await t.step("no server", async () => {
    const fetch = () => Promise.reject(new TypeError("secret words"));
    assert.equal(
      await reasonOf(read(connection, { fetch })),
      "the gateway cannot reach the provider",
    );
  });
  await t.step("a body that breaks off", async () => {
    const fetch = () =>
      Promise.resolve(
        new Response(
          new ReadableStream({ pull: (to) => to.error(new Error("reset")) }),
        ),
      );
    assert.equal(
      await reasonOf(read(connection, { fetch })),
      "the gateway cannot reach the provider",
    );
  });
});

Deno.test("readModelList() tries no other base URL after its timeout", async () => {
  const end = new AbortController();
  let asked = 0;
  const connection = await connectionWith({
    endpoints: {
      chat: "https://a.example/v1",
      messages: "https://b.example/v1",
    },
  });
  const reading = read(connection, {
    fetch: (_, { signal }) => {
      asked += 1;
      end.abort();
      return Promise.reject(signal?.reason);
    },
  }, end.signal);
  assert.equal(await reasonOf(reading), "the provider did not answer in time");
  assert.equal(asked, 1);
});

Deno.test("readModelList() sends nothing for a connection without a base URL", async () => {
  const connection = await connectionWith();
  const { fetch } = provider({});
  assert.equal(
    await reasonOf(read({ ...connection, endpoints: {} }, { fetch })),
    "the connection has no endpoint",
  );
});

Deno.test("readModelList() yields to other work while it searches a long page for the key", async () => {
  const connection = await connectionWith();
  const { fetch } = provider({
    "https://a.example/v1/models": { data: [], text: "%41".repeat(340_000) },
  });
  const turns = await turnsDuring(read(connection, { fetch }));
  assert.ok(turns >= 16, `${turns} turns`);
});

Deno.test("readModelList() finds the key at any position of a long page", async () => {
  const connection = await connectionWith();
  const escaped = Array.from(
    UPSTREAM_KEY,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  ).join("");
  for (const key of [UPSTREAM_KEY, escaped]) {
    for (let before = 64 * 1024 - 120; before < 64 * 1024 + 10; before += 7) {
      const text = `{"data":[],"text":"${" ".repeat(before)}${key}"}`;
      const { fetch } = provider({
        "https://a.example/v1/models": new Response(text),
      });
      assert.equal(
        await reasonOf(read(connection, { fetch })),
        "the list contains the connection's key",
        `${before}: ${key}`,
      );
    }
  }
});
