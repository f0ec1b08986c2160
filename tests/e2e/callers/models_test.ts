import assert from "node:assert/strict";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import {
  type ScriptedUpstream,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { hello, PROTOCOLS } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { protocolOfPath, WIRES } from "../../support/wire/wire.ts";
import { steps } from "../../support/steps.ts";

const ALIAS = "claude-haiku-5-5";

const MODELS = [
  { id: "glm", upstream: "glm-5-air", aliases: [ALIAS] },
  { id: "kimi", aliases: [{ id: "claude-kimi", listed: false }] },
];

function fileFor(url: string, token: Readonly<Record<string, unknown>> = {}) {
  return minimalFile({
    connections: [connectionFile({ endpoints: { chat: url }, models: MODELS })],
    tokens: [tokenFile(token)],
  });
}

Deno.test("a model that is requested by an alias is sent by the provider's name, and logged by its id", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const response = await gateway.ask("chat", `{"model":"${ALIAS}","x":1.0}`);
  assert.equal(response.status, 200, await response.text());
  assert.equal(response.headers.get("x-gateway-model"), "glm");
  const seen = await upstream.requests.next();
  assert.equal(seen.text(), `{"model":"glm-5-air","x":1.0}`);
  const line = await gateway.lines.of(response);
  assert.equal(line.alias, ALIAS);
  assert.equal(line.model, "glm");
  assert.equal(line.upstream_model, "glm-5-air");
});

Deno.test("a model that is requested by its id has no alias in the log", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const response = await gateway.ask("chat", `{"model":"glm"}`);
  await response.body?.cancel();
  assert.equal(response.headers.get("x-gateway-model"), null);
  const line = await gateway.lines.of(response);
  assert.equal(line.alias, undefined);
  assert.equal(line.model, "glm");
});

Deno.test("an alias of a model that a token may not use is an unknown model", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(
    fileFor(upstream.url, { models: ["glm"] }),
  );
  for (const model of ["claude-kimi", "claude-none"]) {
    const response = await gateway.ask("chat", `{"model":"${model}"}`);
    assert.equal(response.status, 404);
    const { error } = await response.json();
    assert.equal(error.code, "model_not_found");
    const line = await gateway.lines.of(response);
    assert.equal(line.model, model);
    assert.equal(line.alias, undefined);
  }
  assert.deepEqual(upstream.requests.items, []);
});

Deno.test("a body that names an alias among the models for the provider to choose from is rejected", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const response = await gateway.ask(
    "chat",
    `{"model":"glm","models":["claude-kimi"]}`,
  );
  assert.equal(response.status, 400);
  const { error } = await response.json();
  assert.equal(error.param, "models");
  assert.deepEqual(upstream.requests.items, []);
});

Deno.test("GET /models lists all aliases except hidden ones, and GET /models/{id} accepts every alias", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const headers = { authorization: `Bearer ${ALICE_TOKEN}` };
  const list = await (await gateway.call("/v1/models", { headers })).json();
  const ids = list.data.map(({ id }: { id: string }) => id);
  assert.deepEqual(ids, ["glm", ALIAS, "kimi"]);
  const hidden = await gateway.call("/v1/models/claude-kimi", { headers });
  assert.equal((await hidden.json()).id, "claude-kimi");
});

/** Names that JSON must escape, of different lengths. */
const MODEL_NAME_MODELS = [
  { id: "short", upstream: "a much longer name" },
  { id: 'quo"te', upstream: "back\\slash" },
  { id: "ünï🙂", upstream: "Grüße 🙂" },
  { id: "same" },
];

function fileForModelName({ url }: ScriptedUpstream): Record<string, unknown> {
  const endpoints = { chat: url };
  return minimalFile({
    connections: [connectionFile({ endpoints, models: MODEL_NAME_MODELS })],
  });
}

/** Bodies of callers, each with the spelling of its model's name. */
const BODIES:
  readonly (readonly [body: string, written: string, name: string])[] = [
    [`{"model":"short"}`, `"short"`, "a much longer name"],
    [` {"x":1, "model" :\t"short" , "y":2}\n`, `"short"`, "a much longer name"],
    [`{"model":"sh\\u006frt"}`, `"sh\\u006frt"`, "a much longer name"],
    [`{"mod\\u0065l":"short"}`, `"short"`, "a much longer name"],
    [
      `{"x":{"model":"short"},"y":"\\"model\\":\\"short\\"","model":"short"}`,
      `"short"}$`,
      "a much longer name",
    ],
    [`{"model":"quo\\"te","z":1.0}`, `"quo\\"te"`, "back\\slash"],
    [`{"model":"ünï🙂","ö":"ü"}`, `"ünï🙂"`, "Grüße 🙂"],
    [
      `{"model":"\\u00fcn\\u00ef\\ud83d\\ude42"}`,
      `"\\u00fcn\\u00ef\\ud83d\\ude42"`,
      "Grüße 🙂",
    ],
  ];

Deno.test("a renamed model changes only the bytes of its name", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileForModelName(upstream));
  await steps(t, BODIES, async ([body, written, name]) => {
    const response = await gateway.ask("chat", body);
    assert.equal(response.status, 200, await response.text());
    const isLast = written.endsWith("$");
    const old = isLast ? written.slice(0, -2) : written;
    const at = isLast ? body.lastIndexOf(old) : body.indexOf(old);
    const expected = body.slice(0, at) + JSON.stringify(name) +
      body.slice(at + old.length);
    const seen = await upstream.requests.next();
    assert.equal(seen.text(), expected);
    const line = await gateway.lines.of(response);
    assert.equal(line.upstream_model, name);
    assert.equal(line.model, JSON.parse(body).model);
  });
});

const MIB = 1024 * 1024;

/** Names that could do harm in a path, a header or a log line. */
const ODD: Readonly<Record<string, string>> = {
  "a way up": "../../admin?x=1#y",
  "an encoded way up": "%2e%2e%2fadmin",
  "line breaks": 'a\r\nx-injected: 1\r\n\r\n{"event":"request","status":200}',
  "controls and NUL": "a\0b\x1b[31mc\u2028d",
  "1 MiB": "x".repeat(MIB),
};

/** A log line holds at most the beginning of a name. */
const MAX_LINE_BYTES = 4096;

Deno.test("an odd model name is rejected, fills one log line, and reaches no path or header", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const protocol of PROTOCOLS) {
    for (const [name, model] of Object.entries(ODD)) {
      await t.step(`${protocol}: ${name}`, async () => {
        const body = hello(protocol, { model });
        const answer = await gateway.ask(protocol, body);
        assert.equal(answer.headers.get("x-injected"), null);
        const { status } = await readError(answer, protocol);
        assert.equal(status, model.length < MIB ? 404 : 400);
        const line = await gateway.lines.of(answer);
        assert.equal(line.status, status);
        assert.ok(JSON.stringify(line).length < MAX_LINE_BYTES);
      });
    }
  }
  const lines = gateway.lines.text().trimEnd().split("\n");
  assert.equal(lines.length, PROTOCOLS.length * Object.keys(ODD).length);
  assert.equal(upstream.requests.items.length, 0);
});

/** Returns a history whose call has these arguments. */
function called(text: string): string {
  return hello("chat", {
    messages: [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        tool_calls: [{
          id: "call_1",
          type: "function",
          function: { name: "run", arguments: JSON.stringify({ path: text }) },
        }],
      },
      { role: "tool", tool_call_id: "call_1", content: text },
    ],
  });
}

Deno.test("a tool's arguments and result change no path, header or log line, natively and translated", async (t) => {
  await using upstream = startUpstream(({ path }) =>
    Response.json(WIRES[protocolOfPath(path)].answer)
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [name, text] of Object.entries(ODD)) {
    for (const model of ["model-a", "model-b"]) {
      await t.step(`${model}: ${name}`, async () => {
        const body = JSON.stringify({ ...JSON.parse(called(text)), model });
        const answer = await gateway.ask("chat", body);
        await answer.body?.cancel();
        assert.equal(answer.status, 200);
        const seen = upstream.requests.items.at(-1) ?? assert.fail();
        assert.match(seen.path, /^\/[ab]\/(chat\/completions|messages)$/);
        assert.equal(seen.headers.get("x-injected"), null);
        assert.ok(seen.text().includes(JSON.stringify(text).slice(1, -1)));
        const line = await gateway.lines.of(answer);
        assert.ok(JSON.stringify(line).length < MAX_LINE_BYTES);
      });
    }
  }
});
