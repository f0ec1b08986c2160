import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { minimalFile, tokenFile } from "../../support/gateway/config.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { sampleAnswer, upstreamAnswer } from "../../support/dialects/pairs.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { steps } from "../../support/steps.ts";

const FREE_TOKEN = "mg_free";

/**
 * Returns a configuration in which alice may use `model-a` and `renamed-a` only, and another token
 * everything.
 */
function fileFor(url: string): Record<string, unknown> {
  return minimalFile({
    connections: [
      familyConnection("A", url, {
        models: [
          "model-a",
          { id: "renamed-a", upstream: "upstream-a" },
          { id: "secret-a", upstream: "upstream-secret" },
        ],
      }),
      familyConnection("B", url),
      familyConnection("C", url),
    ],
    tokens: [
      tokenFile({ models: ["model-a", "renamed-a", "model-b", "model-c"] }),
      tokenFile({ name: "free", sha256: sha256Hex(FREE_TOKEN) }),
    ],
  });
}

function post(
  gateway: RunningGateway,
  body: string,
  protocol: "chat" | "messages" | "responses" = "chat",
  token?: string,
): Promise<Response> {
  const headers = token === undefined
    ? {}
    : { authorization: `Bearer ${token}` };
  return gateway.ask(protocol, body, headers);
}

Deno.test("a provider may choose only among the token's models on the connection", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const refused: readonly (readonly [field: string, value: JsonValue])[] = [
    ["models", ["upstream-secret"]],
    ["models", ["model-a", "upstream-secret"]],
    ["models", ["secret-a"]],
    // To the provider, the gateway's name means another model, or none.
    ["models", ["renamed-a"]],
    ["models", ["model-b"]],
    ["models", ["no-such-model"]],
    ["models", ["model-a".repeat(1000)]],
    ["models", Array.from({ length: 5000 }, () => "model-a")],
    ["fallbacks", [{ model: "upstream-secret" }]],
    ["fallback_models", ["upstream-secret"]],
    ["tools", [{ type: "advisor_20260301", model: "upstream-secret" }]],
    ["extra_body", { models: ["upstream-secret"] }],
    ["compound_custom", { models: { answering_model: "upstream-secret" } }],
    // A model that only generates images may be unknown, but must not be another token's.
    ["tools", [{ type: "image_generation", model: "upstream-secret" }]],
    ["tools", [{ type: "openrouter:fusion" }]],
  ];
  for (const protocol of ["chat", "messages", "responses"] as const) {
    for (const [field, value] of refused) {
      await t.step(
        `${protocol} ${field}: ${JSON.stringify(value).slice(0, 60)}`,
        async () => {
          const body = hello(protocol, { model: "model-a", [field]: value });
          const error = await readError(
            await post(gateway, body, protocol),
            protocol,
          );
          assert.equal(error.status, 400);
          assert.match(error.message, new RegExp(`\`${field}\``));
          assert.ok(error.message.length < 500);
          if (protocol !== "messages") {
            assert.equal(error.param, field);
            assert.equal(error.code, "model_not_allowed");
          }
        },
      );
    }
  }
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("a translation within one protocol rejects unassigned models anywhere in the body", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(minimalFile({
    connections: [
      familyConnection("A", upstream.url, {
        models: ["model-a", "secret"],
        endpoints: {
          chat: `${upstream.url}/a`,
          responses: `${upstream.url}/a`,
        },
      }),
    ],
    tokens: [tokenFile({ models: ["model-a"] })],
  }));
  const tool = { type: "x", model: "secret" };
  const cursor: JsonObject = { input: [{ role: "user", content: "Hello" }] };
  const cases:
    readonly (readonly [path: string, JsonObject, param?: string])[] = [
      [PATHS.chat, { ...cursor, models: ["secret"] }, "models"],
      [PATHS.chat, { ...cursor, fallbacks: ["secret"] }, "fallbacks"],
      [PATHS.chat, { ...cursor, tools: [tool] }, "tools"],
      [
        PATHS.chat,
        { input: [{ type: "additional_tools", tools: [tool] }] },
        "input",
      ],
      // A member named like the type is not read.
      [PATHS.chat, { ...cursor, tools: [{ type: "x", x: tool }] }],
      ["/v1/completions", { prompt: "Hello", models: ["secret"] }, "models"],
    ];
  for (const [path, fields, param] of cases) {
    await t.step(`${path}: ${JSON.stringify(fields)}`, async () => {
      const body = JSON.stringify({ model: "model-a", ...fields });
      const response = await gateway.call(path, ask("chat", body));
      if (param === undefined) {
        await response.body?.cancel();
        const sent = JSON.parse((await upstream.requests.next()).text());
        assert.deepEqual(sent.tools, fields.tools);
      } else {
        const error = await readError(response, "chat");
        assert.equal(error.status, 400);
        assert.equal(error.param, param);
      }
    });
  }
});

Deno.test("a body that names only the token's models is forwarded byte for byte", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const cases: readonly (readonly [fields: JsonObject, token?: string])[] = [
    [{ models: ["upstream-a", "model-a"] }],
    [{ fallbacks: [{ model: "upstream-a" }] }],
    [{ models: ["upstream-secret"] }, FREE_TOKEN],
    [{ models: [], route: "fallback" }],
    [
      { tools: [{ type: "image_generation", model: "gpt-image-1" }] },
    ],
  ];
  for (const [fields, token] of cases) {
    await t.step(JSON.stringify(fields), async () => {
      const body = hello("chat", { model: "model-a", ...fields });
      const response = await post(gateway, body, "chat", token);
      assert.equal(response.status, 200, await response.text());
      assert.equal((await upstream.requests.next()).text(), body);
    });
  }
});

Deno.test("a connection is skipped if it lacks a model that the body names, and the next connection serves", async () => {
  await using upstream = startUpstream();
  const models = (other: string) => ["model-a", other];
  await using gateway = await startGateway(minimalFile({
    connections: [
      familyConnection("A", `${upstream.url}/1`, {
        name: "first",
        models: models("only-first"),
      }),
      familyConnection("A", `${upstream.url}/2`, {
        name: "second",
        models: models("only-second"),
      }),
    ],
  }));
  const body = hello("chat", { models: ["only-second"] });
  const response = await post(gateway, body);
  assert.equal(response.status, 200, await response.text());
  assert.equal((await gateway.lines.of(response)).connection, "second");
  const both = hello("chat", { models: ["only-first", "only-second"] });
  const error = await readError(await post(gateway, both), "chat");
  assert.equal(error.param, "models");
});

Deno.test("a translated request drops the fields that name models, and the response names them", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const fields = {
    models: ["upstream-secret"],
    fallbacks: [{ model: "upstream-secret" }],
    fallback_models: ["upstream-secret"],
    preset: "upstream-secret",
    plugins: [{ id: "x", model: "upstream-secret" }],
    extra_body: { model: "upstream-secret" },
    providerOptions: { gateway: { models: ["upstream-secret"] } },
    router_settings_override: { fallbacks: ["upstream-secret"] },
  };
  for (
    const [model, to] of [["model-b", "messages"], [
      "model-c",
      "responses",
    ]] as const
  ) {
    await t.step(to, async () => {
      upstream.play(() => upstreamAnswer(to, sampleAnswer("one text"), false));
      const response = await post(gateway, hello("chat", { model, ...fields }));
      assert.equal(response.status, 200, await response.text());
      const sent = (await upstream.requests.next()).text();
      assert.ok(!sent.includes("upstream-secret"), sent);
      assert.deepEqual(
        response.headers.get("x-gateway-dropped")?.split(",").toSorted(),
        Object.keys(fields).toSorted(),
      );
    });
  }
});

Deno.test("a body with another encoding than UTF-8 is rejected", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream.url));
  const send = (type: string) =>
    gateway.ask("chat", hello("chat"), { "content-type": type });
  const others = [
    "application/json; charset=utf-7",
    "application/json;charset=UTF-16LE",
    'application/json; charset="utf-7"',
    'application/json; x=y; Charset = "iso-8859-1"',
    "application/json; charset=utf-8; charset=utf-7",
    "application/json; charset*=utf-8''utf-7",
    "application/json; charset=",
    'application/json; charset="utf-8',
    "application/json; charset=utf-80",
    'application/json; charset="utf-8\\7"',
  ];
  await steps(t, others, async (type) => {
    assert.equal((await readError(await send(type), "chat")).status, 415);
  });
  assert.equal(upstream.requests.items.length, 0);
  await steps(t, ["utf-8", "UTF-8", '"utf-8"', "utf8"], async (charset) => {
    const answer = await send(`application/json; charset=${charset}`);
    assert.equal(answer.status, 200, await answer.text());
  });
});
