import assert from "node:assert/strict";
import { systemClock } from "../../../src/core/time/timers.ts";
import { randomIds } from "../../../src/core/ids.ts";
import { isJsonObject } from "../../../src/core/json.ts";
import { sha256Hex } from "../../../src/core/sha256.ts";
import { demoConfigText } from "../../../src/demo/config.ts";
import { createDemoUpstream } from "../../../src/demo/upstream.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalFile,
  UPSTREAM_KEY,
} from "../../support/gateway/config.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { ask, PATHS } from "../../support/wire/ask.ts";
import { parseYaml } from "../../support/yaml.ts";

const headers = { authorization: `Bearer ${ALICE_TOKEN}` };

async function models(
  gateway: RunningGateway,
): Promise<Record<string, Record<string, unknown>>> {
  const response = await gateway.call("/v1/models", { headers });
  assert.equal(response.status, 200);
  const { data } = await response.json();
  return Object.fromEntries(
    data.map((entry: Record<string, unknown>) => [entry.id, entry]),
  );
}

Deno.test("GET /models lists the facts of the demo's providers about their models", async () => {
  const file = parseYaml(demoConfigText(sha256Hex(ALICE_TOKEN)));
  assert.ok(isJsonObject(file));
  const fetch = createDemoUpstream({ clock: systemClock, ids: randomIds });
  await using gateway = await startGateway(file, { fetch });
  const listed = await models(gateway);
  for (const name of ["demo-a", "demo-b-think", "demo-c", "demo-any"]) {
    const entry = listed[name];
    assert.equal(entry?.context_length, 200_000, name);
    assert.equal(entry?.max_input_tokens, 200_000, name);
    assert.equal(entry?.max_tokens, 64_000, name);
    assert.equal(entry?.created_at, "2026-01-01T00:00:00.000Z", name);
    const { image_input, thinking } = Object(entry?.capabilities);
    assert.deepEqual(image_input, { supported: true }, name);
    assert.deepEqual(thinking, { supported: name.includes("think") }, name);
  }
  assert.deepEqual(listed["demo-a"]?.supported_parameters, [
    "tools",
    "tool_choice",
  ]);
  // Anthropic's list has no field for tools.
  assert.equal(listed["demo-b-think"]?.supported_parameters, undefined);
});

Deno.test("a request to a model reads no list", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(minimalFile({
    connections: [connectionFile({ endpoints: { chat: upstream.url } })],
  }));
  const response = await gateway.call(
    PATHS.chat,
    ask("chat", `{"model":"model-a"}`),
  );
  assert.equal(response.status, 200, await response.text());
  const seen = upstream.requests.items.map(({ method, path }) =>
    `${method} ${path}`
  );
  assert.deepEqual(seen, ["POST /chat/completions"]);
});

Deno.test("a list is read with the connection's key, once for all callers, and the caller's is not sent", async () => {
  await using upstream = startUpstream(() =>
    Response.json({ data: [{ id: "model-a", context_length: 10 }] })
  );
  await using gateway = await startGateway(minimalFile({
    connections: [connectionFile({ endpoints: { chat: upstream.url } })],
  }));
  for (let asks = 0; asks < 3; asks++) {
    assert.equal((await models(gateway))["model-a"]?.context_length, 10);
  }
  const [seen, ...more] = upstream.requests.items;
  assert.deepEqual(more, []);
  assert.equal(seen?.path, "/models");
  assert.equal(seen?.headers.get("authorization"), `Bearer ${UPSTREAM_KEY}`);
});

Deno.test("a provider that repeats the connection's key in its list does not reveal it to callers", async () => {
  await using upstream = startUpstream(() =>
    Response.json({ data: [{ id: "model-a", display_name: UPSTREAM_KEY }] })
  );
  await using gateway = await startGateway(minimalFile({
    connections: [connectionFile({ endpoints: { chat: upstream.url } })],
  }));
  const response = await gateway.call("/v1/models", { headers });
  const text = await response.text();
  assert.equal(response.status, 200);
  assert.ok(!text.includes(UPSTREAM_KEY), text);
  assert.ok(!gateway.lines.text().includes(UPSTREAM_KEY));
  assert.equal(
    gateway.lines.others.items[0]?.reason,
    "the list contains the connection's key",
  );
});
