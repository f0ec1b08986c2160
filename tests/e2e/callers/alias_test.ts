import assert from "node:assert/strict";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { ask, PATHS } from "../../support/wire/ask.ts";

const ALIAS = "claude-haiku-5-5";

const MODELS = [
  { id: "glm", upstream: "glm-5-air", aliases: [ALIAS] },
  { id: "kimi", aliases: [{ id: "claude-kimi", listed: false }] },
];

function fileFor(url: string, token: Readonly<Record<string, unknown>> = {}) {
  return minimalFile({
    connections: [
      connectionFile({ endpoints: { chat: url }, models: MODELS }),
    ],
    tokens: [tokenFile(token)],
  });
}

Deno.test("a model that is requested by an alias is sent with the provider's name, and logged with its id", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const response = await gateway.call(
    PATHS.chat,
    ask("chat", `{"model":"${ALIAS}","x":1.0}`),
  );
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
  const response = await gateway.call(
    PATHS.chat,
    ask("chat", `{"model":"glm"}`),
  );
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
    const response = await gateway.call(
      PATHS.chat,
      ask("chat", `{"model":"${model}"}`),
    );
    assert.equal(response.status, 404);
    const { error } = await response.json();
    assert.equal(error.code, "model_not_found");
    const line = await gateway.lines.of(response);
    assert.equal(line.model, model);
    assert.equal(line.alias, undefined);
  }
  assert.deepEqual(upstream.requests.items, []);
});

Deno.test("a body must not name an alias among the models that the provider may choose", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const response = await gateway.call(
    PATHS.chat,
    ask("chat", `{"model":"glm","models":["claude-kimi"]}`),
  );
  assert.equal(response.status, 400);
  const { error } = await response.json();
  assert.equal(error.param, "models");
  assert.deepEqual(upstream.requests.items, []);
});

Deno.test("GET /models lists aliases except hidden ones, and GET /models/{id} returns all", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const headers = { authorization: `Bearer ${ALICE_TOKEN}` };
  const list = await (await gateway.call("/v1/models", { headers })).json();
  const ids = list.data.map(({ id }: { id: string }) => id);
  assert.deepEqual(ids, ["glm", ALIAS, "kimi"]);
  const hidden = await gateway.call("/v1/models/claude-kimi", { headers });
  assert.equal((await hidden.json()).id, "claude-kimi");
});
