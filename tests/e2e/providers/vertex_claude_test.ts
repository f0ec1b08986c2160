import assert from "node:assert/strict";
import { parseJson } from "../../../src/base/json.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalFile,
} from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import {
  createStrictVertex,
  VERTEX_TOKEN,
} from "../../support/upstream/strict_vertex.ts";

const MODELS =
  "/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models";

const MESSAGES = [{ role: "user", content: "Hi." }];

/**
 * Requests of npm `@anthropic-ai/vertex-sdk` 1.1.3 for the project `my-project`, recorded on 2026-11-26:
 * `messages.create()` with and without `stream`, and `messages.countTokens()`.
 */
const RECORDED = {
  whole: {
    path: `${MODELS}/demo-b@20260101:rawPredict`,
    body:
      '{"max_tokens":50,"messages":[{"role":"user","content":"Hi."}],"anthropic_version":"2026-10-21"}',
  },
  stream: {
    path: `${MODELS}/demo-b@20260101:streamRawPredict`,
    body:
      '{"max_tokens":50,"messages":[{"role":"user","content":"Hi."}],"stream":true,"anthropic_version":"2026-10-21"}',
  },
  count: {
    path: `${MODELS}/count-tokens:rawPredict`,
    body:
      '{"model":"demo-b@20260101","messages":[{"role":"user","content":"Hi."}],"anthropic_version":"2026-10-21"}',
  },
};

/** The headers of the same version's SDK for Anthropic's own API. */
const SDK_HEADERS = {
  "authorization": `Bearer ${ALICE_TOKEN}`,
  "content-type": "application/json",
  "anthropic-version": "2026-10-21",
};

async function open(key = VERTEX_TOKEN) {
  const vertex = createStrictVertex();
  const gateway = await startGateway(
    minimalFile({
      connections: [connectionFile({
        ...{ service: "vertex-claude", family: undefined },
        ...{ endpoints: undefined, auth: { key } },
        ...{ project: "my-project", region: "europe-west1" },
        models: [
          { id: "claude", upstream: "demo-b@20260101" },
          "demo-b@20260101",
          { id: "gone", upstream: "a/../demo-b@20260101" },
        ],
      })],
    }),
    { fetch: vertex.fetch },
  );
  return {
    ...gateway,
    received: vertex.received,
    fetchOfVertex: vertex.fetch,
    async send(path: string, body: unknown, headers = {}) {
      const response = await gateway.call(`/v1${path}`, {
        method: "POST",
        headers: { ...SDK_HEADERS, ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
      return { status: response.status, text: await response.text() };
    },
  };
}

/** The caller's request for each recorded one. */
const SENT = {
  whole: ["/messages", { max_tokens: 50, messages: MESSAGES }],
  stream: ["/messages", { max_tokens: 50, messages: MESSAGES, stream: true }],
  count: ["/messages/count_tokens", { messages: MESSAGES }],
} as const;

const KINDS = ["whole", "stream", "count"] as const;

Deno.test("Vertex gets the path, the fields and the headers that Anthropic's SDK for Vertex sends", async () => {
  await using gateway = await open();
  for (const kind of KINDS) {
    const [path, body] = SENT[kind];
    const { status, text } = await gateway.send(path, {
      model: "claude",
      ...body,
    }, { "anthropic-beta": "context-1m-2025-08-07" });
    assert.equal(status, 200, text);
    const got = gateway.received.at(-1);
    assert.equal(got?.path, RECORDED[kind].path);
    assert.deepEqual(parseJson(got.text), parseJson(RECORDED[kind].body));
    assert.equal(got.headers.get("anthropic-beta"), "context-1m-2025-08-07");
    assert.equal(got.headers.get("anthropic-version"), null);
  }
});

Deno.test("the strict fake of Vertex accepts the SDK's recorded requests, and refuses requests for Anthropic's own API", async () => {
  await using gateway = await open();
  const at = "https://europe-west1-aiplatform.googleapis.com";
  const authorization = `Bearer ${VERTEX_TOKEN}`;
  for (const { path, body } of Object.values(RECORDED)) {
    const ask = (body: string, headers: Record<string, string>) =>
      gateway.fetchOfVertex(at + path, { method: "POST", headers, body });
    const taken = await ask(body, { authorization });
    assert.equal(taken.status, 200, await taken.text());
    const old = await ask(body.replace("2026-10-21", "2023-06-01"), {
      authorization,
    });
    assert.equal(old.status, 400, await old.text());
    const keyed = await ask(body, { authorization, "x-api-key": "a" });
    assert.equal(keyed.status, 400, await keyed.text());
    const foreign = await ask(body, { authorization: "Bearer other" });
    assert.equal(foreign.status, 401, await foreign.text());
  }
});

Deno.test("only the `model` member changes in the bytes for Vertex", async () => {
  await using gateway = await open();
  for (const model of ["claude", "demo-b@20260101"]) {
    for (
      const [before, name, after] of [
        ["{", '"model"', ',"max_tokens":9,"messages":[]}'],
        [
          ' {"max_tokens":9.0, ',
          '"mod\\u0065l" ',
          ' ,"messages":[{"role":"user","content":"é\\u00e9 \\"model\\": 1"}]}\n',
        ],
        ['{"messages":[],"max_tokens":9\n,', '"model"\t', "}"],
      ] as const
    ) {
      await gateway.send("/messages", `${before}${name}: "${model}"${after}`, {
        "anthropic-version": "2023-06-01",
      });
      assert.equal(
        gateway.received.at(-1)?.text,
        `${before}"anthropic_version":"vertex-2023-10-16"${after}`,
      );
    }
  }
});

Deno.test("a caller's anthropic_version reaches Vertex unchanged, and only once", async () => {
  await using gateway = await open();
  const sent = async (body: string, path = "/messages") => {
    const { status, text } = await gateway.send(path, body);
    assert.equal(status, 200, text);
    return gateway.received.at(-1)?.text;
  };
  const model = '"model": "claude"';
  const version = '"anthropic_version" :"vertex-2023-10-16"';
  const put = version.replace(" :", ":");
  const rest = '"max_tokens":9,"messages":[{"role":"user","content":"Hi."}]';
  for (
    const [body, arrives] of [
      [`{${model} , ${rest} ,\n ${version}}`, `{${put} , ${rest}}`],
      [`{${version},${rest}, ${model} }`, `{${put},${rest} }`],
      [`{${model},${version},${rest}}`, `{${put},${rest}}`],
      [`{ ${version},${model} ,${rest}}`, `{ ${put} ,${rest}}`],
      [
        `{${rest},"anthropic\\u005fversion":"vertex-2023-10-16",${model}}`,
        `{${rest},${put}}`,
      ],
    ] as const
  ) assert.equal(await sent(body), arrives);
  const counted = rest.replace('"max_tokens":9,', "");
  assert.equal(
    await sent(`{${version},${counted},${model}}`, "/messages/count_tokens"),
    `{"model":"demo-b@20260101",${put},${counted}}`,
  );
  const long = "x".repeat(400_000);
  assert.ok(
    await sent(`{${model},${rest.replace("Hi.", long)},${version}}`) ===
      `{${put},${rest.replace("Hi.", long)}}`,
  );
  const twice = await gateway.send(
    "/messages",
    `{${model},${version},${rest},${version}}`,
  );
  assert.equal(twice.status, 400);
  assert.match(twice.text, /\\"anthropic_version\\" occurs in it twice/);
});

Deno.test("in a long body for Vertex, anthropic_version replaces the model, and nothing else changes", async () => {
  await using gateway = await open();
  const content = "x".repeat(400_000);
  const after =
    `,"max_tokens":9,"messages":[{"role":"user","content":"${content}"}]}`;
  const { status } = await gateway.send(
    "/messages",
    `{"model":"claude"${after}`,
  );
  assert.equal(status, 200);
  assert.ok(
    gateway.received.at(-1)?.text ===
      `{"anthropic_version":"2026-10-21"${after}`,
  );
});

Deno.test("callers of Chat Completions get Claude on Vertex, whole and streamed", async () => {
  await using gateway = await open();
  for (const stream of [false, true]) {
    const { status, text } = await gateway.send("/chat/completions", {
      ...{ model: "claude", messages: MESSAGES, stream },
    });
    assert.equal(status, 200, text);
    assert.match(text, stream ? /data: \[DONE\]\n\n$/ : /"finish_reason"/);
    const { path, text: sent } = gateway.received.at(-1) ?? {};
    assert.equal(path, RECORDED[stream ? "stream" : "whole"].path);
    assert.match(sent ?? "", /"anthropic_version":"vertex-2023-10-16"/);
    assert.doesNotMatch(sent ?? "", /"model"/);
  }
});

Deno.test("a stream of Claude on Vertex arrives completely", async () => {
  await using gateway = await open();
  const { text } = await gateway.send("/messages", {
    ...{ model: "claude", max_tokens: 50, messages: MESSAGES, stream: true },
  });
  assert.match(text, /^event: message_start\n/);
  assert.match(text, /event: message_stop\ndata: .*\n\n$/);
});

Deno.test("an error of Vertex reaches the caller with its status, or as 502 without its text if it concerns the gateway's token", async () => {
  await using gateway = await open();
  const body = { model: "gone", max_tokens: 50, messages: MESSAGES };
  const gone = await gateway.send("/messages", body);
  assert.equal(gone.status, 404, gone.text);
  assert.equal(
    gateway.received.at(-1)?.path,
    `${MODELS}/a%2F..%2Fdemo-b@20260101:rawPredict`,
  );
  const wrong = await gateway.send("/messages", {
    ...{ model: "claude", max_tokens: 50, messages: [{ role: "user" }] },
  });
  assert.equal(wrong.status, 400, wrong.text);
  assert.match(wrong.text, /content: Field required/);
  await using refused = await open("another-token");
  const response = await refused.send("/messages", {
    ...body,
    model: "claude",
  });
  assert.equal(response.status, 502, response.text);
  assert.doesNotMatch(response.text, /UNAUTHENTICATED|another-token/);
});
