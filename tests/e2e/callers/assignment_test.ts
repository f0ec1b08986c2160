import assert from "node:assert/strict";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { ask, credentials, hello, PROTOCOLS } from "../../support/wire/ask.ts";
import { connectionFile, tokenFile } from "../../support/gateway/config.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

const BOB_TOKEN = "mg_bob";

const CARL_TOKEN = "mg_carl";

/** Alice may use everything, bob one connection, carl one model. */
function fileFor(url: string): Record<string, unknown> {
  return {
    connections: [
      familyConnection("A", url),
      familyConnection("B", url),
      familyConnection("C", url),
      connectionFile({
        name: "Disabled",
        enabled: false,
        models: ["model-disabled"],
      }),
      connectionFile({
        name: "Chat only",
        endpoints: { chat: `${url}/chat-only` },
        models: ["model-chat-only"],
      }),
    ],
    tokens: [
      tokenFile(),
      tokenFile({
        name: "bob",
        sha256: sha256Hex(BOB_TOKEN),
        connections: ["Family A"],
      }),
      tokenFile({
        name: "carl",
        sha256: sha256Hex(CARL_TOKEN),
        models: ["model-b"],
      }),
    ],
  };
}

Deno.test("an unassigned model and an unknown model get byte-identical responses", async (t) => {
  await using gateway = await startGateway(fileFor("http://127.0.0.1:9"));
  const missing = [
    { name: "not assigned", model: "model-b", token: BOB_TOKEN },
    {
      name: "not among the token's models",
      model: "model-a",
      token: CARL_TOKEN,
    },
    { name: "disabled", model: "model-disabled", token: "mg_alice" },
    { name: "an upstream's own name", model: "upstream-a", token: "mg_alice" },
    { name: "of no connection", model: "model-z", token: BOB_TOKEN },
    { name: "in other letters", model: "Model-A", token: "mg_alice" },
  ];
  for (const protocol of PROTOCOLS) {
    const bodies = new Set<string>();
    for (const { name, model, token } of missing) {
      await t.step(`${protocol}: ${name}`, async () => {
        const response = await gateway.ask(
          protocol,
          hello(protocol, { model }),
          credentials(protocol, token),
        );
        const text = await response.clone().text();
        const error = await readError(response, protocol);
        assert.equal(error.status, 404);
        assert.equal(error.type, "not_found_error");
        if (protocol !== "messages") {
          assert.equal(error.code, "model_not_found");
          assert.equal(error.param, "model");
        }
        assert.ok(error.message.includes(JSON.stringify(model)));
        const id = response.headers.get("x-request-id") ?? "";
        bodies.add(text.replaceAll(id, "ID").replaceAll(model, "MODEL"));
      });
    }
    assert.equal(bodies.size, 1);
  }
});

Deno.test("/models lists no unassigned and no disabled model", async () => {
  await using gateway = await startGateway(fileFor("http://127.0.0.1:9"));
  const idsOf = async (token: string) => {
    const headers = credentials("chat", token);
    const response = await gateway.call("/v1/models", { headers });
    const { data } = await response.json();
    return data.map(({ id }: { id: string }) => id);
  };
  assert.deepEqual(await idsOf(BOB_TOKEN), ["model-a", "renamed-a"]);
  assert.deepEqual(await idsOf(CARL_TOKEN), ["model-b"]);
  assert.ok(!(await idsOf("mg_alice")).includes("model-disabled"));
  const hidden = await gateway.call("/v1/models/model-b", {
    headers: credentials("chat", BOB_TOKEN),
  });
  const none = await gateway.call("/v1/models/model-z", {
    headers: credentials("chat", BOB_TOKEN),
  });
  const { message } = await readError(hidden, "chat");
  assert.equal(
    message.replace("model-b", "model-z"),
    (await readError(none, "chat")).message,
  );
});

Deno.test("the caller's first connection serves a model of several connections", async () => {
  await using upstream = startUpstream();
  const models = ["shared"];
  await using gateway = await startGateway({
    connections: [
      familyConnection("A", upstream.url, {
        name: "off",
        enabled: false,
        models,
      }),
      familyConnection("B", upstream.url, { name: "first", models }),
      familyConnection("A", upstream.url, { name: "second", models }),
    ],
    tokens: [
      tokenFile(),
      tokenFile({
        name: "bob",
        sha256: sha256Hex(BOB_TOKEN),
        connections: ["off", "second"],
      }),
    ],
  });
  const connectionFor = async (token: string) => {
    const body = hello("messages", { model: "shared" });
    const headers = credentials("messages", token);
    const response = await gateway.call(
      "/v1/messages",
      ask("messages", body, headers),
    );
    await response.body?.cancel();
    return (await gateway.lines.of(response)).connection;
  };
  assert.equal(await connectionFor("mg_alice"), "first");
  assert.equal(await connectionFor(BOB_TOKEN), "second");
});
