import type { Fetch } from "../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { systemClock } from "../../src/base/time/timers.ts";
import { randomIds } from "../../src/base/ids.ts";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { demoConfigText } from "../../src/tools/demo/config.ts";
import { createStrictProvider } from "../support/upstream/strict_provider/mod.ts";
import { ALICE_TOKEN } from "../support/gateway/config.ts";
import {
  type RunningGateway,
  startGateway,
} from "../support/gateway/gateway.ts";
import { parseYaml } from "../support/yaml.ts";

// Run by `toy_protocol_test.ts`, under an import map that puts the tables of this folder in the place of the gateway's.

/** A request that a provider received. */
interface Asked {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

/** A gateway in front of the simulated providers and a scripted one that speaks the toy protocol. */
interface Scene extends RunningGateway {
  readonly asked: readonly Asked[];
  /** Sets the response of the toy's provider to all later requests. */
  play(answer: Response): void;
  /** Posts as `alice`. */
  post(path: string, body: string | JsonObject): Promise<Response>;
}

const TOY_HOST = "toy.invalid";

async function openScene(): Promise<Scene> {
  const file = parseYaml(demoConfigText(sha256Hex(ALICE_TOKEN)));
  assert.ok(isJsonObject(file) && Array.isArray(file.connections));
  const demo = createStrictProvider({
    clock: systemClock,
    ids: randomIds,
    wordMs: 0,
  });
  const asked: Asked[] = [];
  let answer: Response | undefined;
  const fetch: Fetch = async (url, init) => {
    const request = new Request(url, init);
    const { headers } = request;
    asked.push({ url, headers, body: await request.clone().text() });
    if (new URL(url).host !== TOY_HOST) return await demo(request);
    return answer ?? Response.error();
  };
  const toy = {
    name: "Toy",
    service: "custom",
    family: "D",
    endpoints: { toy: `https://${TOY_HOST}/v1` },
    auth: { scheme: "bearer", key: "toy-key" },
    models: ["toy/one", { id: "toy-two", upstream: "two/up é" }],
  };
  const connections = [...file.connections, toy];
  const gateway = await startGateway({ ...file, connections }, { fetch });
  return {
    ...gateway,
    asked,
    play(next) {
      answer = next;
    },
    post: (path, body) =>
      gateway.call(path, {
        method: "POST",
        headers: {
          "authorization": `Bearer ${ALICE_TOKEN}`,
          "content-type": "application/json",
          "anthropic-version": "2023-06-01",
        },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
  };
}

function sse(...events: readonly (JsonObject | string)[]): Response {
  const text = events.map((event) =>
    `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`
  );
  return new Response(text.join(""), {
    headers: { "content-type": "text/event-stream" },
  });
}

/** Returns the data of every event. */
async function eventsOf(response: Response): Promise<readonly JsonObject[]> {
  const lines = (await response.text()).split("\n")
    .filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)));
}

const ANSWER = { text: "Hello", why: "done", cost: { read: 3, wrote: 1 } };

/** A body in an unusual spelling, with an unknown field. */
const ODD = '{ "said" : [{"by":"you","text":"H\\u0069"}],"x":1.50 }';

Deno.test("a toy request reaches an upstream of its protocol byte for byte, with the model in the path", async () => {
  await using scene = await openScene();
  const bytes = '{ "text":"Hello","why" :"done","cost":{"read":3,"wrote":1}}';
  scene.play(
    new Response(bytes, { headers: { "content-type": "application/json" } }),
  );
  for (
    const [model, upstream] of [
      ["toy/one", "toy%2Fone"],
      ["toy%2Fone", "toy%2Fone"],
    ] as const
  ) {
    scene.play(
      new Response(bytes, { headers: { "content-type": "application/json" } }),
    );
    const response = await scene.post(`/v1/toy/${model}/ask`, ODD);
    assert.equal(response.status, 200);
    assert.equal(await response.text(), bytes);
    const { url, body, headers } = scene.asked.at(-1) ?? assert.fail();
    assert.equal(url, `https://${TOY_HOST}/v1/toy/${upstream}/ask`);
    assert.equal(body, ODD);
    assert.equal(headers.get("authorization"), "Bearer toy-key");
    const line = await scene.lines.of(response);
    assert.equal(line.model, "toy/one");
    assert.equal(line.mode, "native");
    assert.deepEqual(line.usage, { input_tokens: 3, output_tokens: 1 });
  }
});

Deno.test("a renamed model is renamed in the path, and nothing in the body", async () => {
  await using scene = await openScene();
  scene.play(Response.json(ANSWER));
  const response = await scene.post("/api/v1/toy/toy-two/ask", ODD);
  await response.body?.cancel();
  const { url, body } = scene.asked.at(-1) ?? assert.fail();
  assert.equal(url, `https://${TOY_HOST}/v1/toy/two%2Fup%20%C3%A9/ask`);
  assert.equal(body, ODD);
});

Deno.test("a toy stream is requested by its path and passes byte for byte", async () => {
  await using scene = await openScene();
  const stream = [{ more: "Hel" }, { more: "lo" }, {
    why: "done",
    cost: { read: 3, wrote: 2 },
  }];
  scene.play(sse(...stream));
  const response = await scene.post("/v1/toy/toy/one/ask-live", ODD);
  assert.equal(await response.text(), await sse(...stream).text());
  const { url, body } = scene.asked.at(-1) ?? assert.fail();
  assert.equal(url, `https://${TOY_HOST}/v1/toy/toy%2Fone/ask-live`);
  assert.equal(body, ODD);
  const line = await scene.lines.of(response);
  assert.equal(line.ended, "complete");
  assert.deepEqual(line.usage, { input_tokens: 3, output_tokens: 2 });
  assert.equal(typeof line.first_output_ms, "number");
});

Deno.test("a toy stream without its last event is reported as broken", async () => {
  await using scene = await openScene();
  scene.play(sse({ more: "Hel" }));
  const response = await scene.post("/v1/toy/toy/one/ask-live", ODD);
  await response.text().catch(() => {});
  assert.equal((await scene.lines.of(response)).ended, "upstream_broken");
});

const MODELS = { chat: "demo-a", messages: "demo-b", responses: "demo-c" };

for (const [protocol, model] of Object.entries(MODELS)) {
  const request = { said: [{ by: "you", text: "Say 4 words" }] };
  const text = "one two three four";

  Deno.test(`a toy request is translated to ${protocol} and its answer back`, async () => {
    await using scene = await openScene();
    const response = await scene.post(`/v1/toy/${model}/ask`, request);
    const { cost, ...rest } = await response.json();
    assert.deepEqual(rest, { text, why: "done" });
    assert.ok(cost.read > 0 && cost.wrote > 0);
    const { body } = scene.asked.at(-1) ?? assert.fail();
    assert.equal(JSON.parse(body).model, model);
    assert.notEqual(JSON.parse(body).stream, true);
    assert.equal((await scene.lines.of(response)).mode, "translated");
  });

  Deno.test(`a toy stream is translated to ${protocol} and its events back`, async () => {
    await using scene = await openScene();
    const response = await scene.post(`/v1/toy/${model}/ask-live`, request);
    const type = response.headers.get("content-type");
    assert.equal(type, "text/event-stream");
    const events = await eventsOf(response);
    assert.ok(events.length > 2);
    assert.equal(events.map(({ more = "" }) => more).join(""), text);
    assert.equal(events.at(-1)?.why, "done");
    const { body } = scene.asked.at(-1) ?? assert.fail();
    assert.equal(JSON.parse(body).stream, true);
  });
}

/** The requests of the gateway's own protocols, and the places of the text in their answers and streams. */
const CALLERS = [
  {
    protocol: "chat",
    path: "/v1/chat/completions",
    request: { messages: [{ role: "user", content: "Hi" }] },
    textOf: (answer: JsonObject) => JSON.stringify(answer.choices),
    deltaOf: (event: JsonObject) => JSON.stringify(event.choices),
  },
  {
    protocol: "messages",
    path: "/v1/messages",
    request: { max_tokens: 9, messages: [{ role: "user", content: "Hi" }] },
    textOf: (answer: JsonObject) => JSON.stringify(answer.content),
    deltaOf: (event: JsonObject) => JSON.stringify(event.delta),
  },
  {
    protocol: "responses",
    path: "/v1/responses",
    request: { input: "Hi" },
    textOf: (answer: JsonObject) => JSON.stringify(answer.output),
    deltaOf: (event: JsonObject) => JSON.stringify(event.delta),
  },
];

for (const { protocol, path, request, textOf, deltaOf } of CALLERS) {
  Deno.test(`a ${protocol} request is translated to the toy protocol and its answer back`, async () => {
    await using scene = await openScene();
    scene.play(Response.json(ANSWER));
    const response = await scene.post(path, { ...request, model: "toy-two" });
    assert.equal(response.status, 200);
    assert.match(textOf(await response.json()), /"Hello"/);
    const { url, body, headers } = scene.asked.at(-1) ?? assert.fail();
    assert.equal(url, `https://${TOY_HOST}/v1/toy/two%2Fup%20%C3%A9/ask`);
    assert.deepEqual(JSON.parse(body).said, [{ by: "you", text: "Hi" }]);
    assert.equal(headers.get("x-toy-version"), "1");
    assert.equal(headers.get("accept"), "application/json");
  });

  Deno.test(`a ${protocol} stream is translated to the toy protocol and its events back`, async () => {
    await using scene = await openScene();
    scene.play(sse({ more: "Hel" }, { more: "lo" }, { why: "done" }));
    const asked = { ...request, model: "toy-two", stream: true };
    const response = await scene.post(path, asked);
    const deltas = (await eventsOf(response)).map(deltaOf).join("");
    assert.match(deltas, /"Hel".*"lo"/s);
    const { url, headers } = scene.asked.at(-1) ?? assert.fail();
    assert.equal(url, `https://${TOY_HOST}/v1/toy/two%2Fup%20%C3%A9/ask-live`);
    assert.equal(headers.get("accept"), "text/event-stream");
    assert.equal((await scene.lines.of(response)).ended, "complete");
  });

  Deno.test(`an error of a toy upstream reaches a ${protocol} caller in the caller's protocol`, async () => {
    await using scene = await openScene();
    scene.play(Response.json({ fault: "Not so" }, { status: 422 }));
    const response = await scene.post(path, { ...request, model: "toy-two" });
    assert.equal(response.status, 422);
    const { error } = await response.json();
    assert.equal(error.message, "Not so");
    assert.equal(error.type, "invalid_request_error");
  });
}

Deno.test("the gateway's own errors have the toy's shape on the toy's paths", async (t) => {
  await using scene = await openScene();
  const cases = [
    ["an unknown model", "/v1/toy/nobody/ask", ODD, 404],
    ["a field that is missing", "/v1/toy/demo-a/ask", "{}", 400],
    ["no JSON", "/v1/toy/demo-a/ask-live", "[", 400],
    ["a path that is none", "/v1/toy/demo-a/ask/", ODD, 404],
    ["another model in the body", "/v1/toy/toy-two/ask", '{"model":"x"}', 400],
  ] as const;
  for (const [name, path, body, status] of cases) {
    await t.step(name, async () => {
      const response = await scene.post(path, body);
      const id = response.headers.get("x-request-id");
      const { fault, ...rest } = await response.json();
      assert.equal(response.status, status, fault);
      assert.ok(typeof fault === "string" && fault.length > 10);
      assert.deepEqual(rest, { id });
      assert.equal(response.headers.get("x-toy-id"), id);
    });
  }
  assert.deepEqual(scene.asked, []);
});

Deno.test("a caller without a token, or with another method, gets an error in the toy's shape", async () => {
  await using scene = await openScene();
  const path = "/v1/toy/demo-a/ask";
  const stranger = await scene.call(path, { method: "POST", body: ODD });
  assert.equal(stranger.status, 401);
  assert.equal(typeof (await stranger.json()).fault, "string");
  const reader = await scene.call(path);
  assert.equal(reader.status, 405);
  assert.equal(reader.headers.get("allow"), "POST");
  assert.equal(typeof (await reader.json()).fault, "string");
});

Deno.test("a toy caller gets errors of toy upstreams unchanged, and others in the toy's shape", async () => {
  await using scene = await openScene();
  const bytes = '{ "fault":"Not so" }';
  scene.play(new Response(bytes, { status: 422 }));
  const own = await scene.post("/v1/toy/toy-two/ask", ODD);
  assert.equal(own.status, 422);
  assert.equal(await own.text(), bytes);
  for (const path of ["demo-b-error-429/ask", "demo-c-error-429/ask-live"]) {
    const other = await scene.post(`/v1/toy/${path}`, ODD);
    assert.equal(other.status, 429);
    assert.match((await other.json()).fault, /^Rate limit reached/);
  }
});

Deno.test("a failure in the middle of a stream is reported in the caller's protocol, both ways", async () => {
  await using scene = await openScene();
  const path = "/v1/toy/demo-b-error-in-stream/ask-live";
  const events = await eventsOf(await scene.post(path, ODD));
  assert.match(String(events.at(-1)?.fault), /Overloaded/);
  scene.play(sse({ more: "Hel" }, { fault: "Too hot" }));
  const response = await scene.post("/v1/chat/completions", {
    model: "toy-two",
    stream: true,
    messages: [{ role: "user", content: "Hi" }],
  });
  const [last] = (await eventsOf(response)).slice(-1);
  assert.ok(isJsonObject(last?.error));
  assert.match(String(last.error.message), /Too hot/);
});

Deno.test("GET /models names the toy protocol for every model that is served in it", async () => {
  await using scene = await openScene();
  const response = await scene.call("/v1/models", {
    headers: { authorization: `Bearer ${ALICE_TOKEN}` },
  });
  const { data } = await response.json();
  const entry = (id: string) =>
    data.find((one: JsonObject) => one.id === id)?.protocols.sort();
  assert.deepEqual(entry("demo-b"), ["chat", "messages", "toy"]);
  assert.deepEqual(entry("toy-two"), ["chat", "messages", "responses", "toy"]);
});

Deno.test("an operation that a family lacks names the paths that it has", async () => {
  await using scene = await openScene();
  const response = await scene.post("/v1/responses/compact", {
    model: "toy-two",
    input: "Hi",
  });
  const { error } = await response.json();
  assert.equal(response.status, 400);
  assert.match(error.message, /Use \/toy\/:model\/ask or \/chat\/completions/);
});
