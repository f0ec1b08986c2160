import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { Target } from "../../../../src/codecs/canonical/codec.ts";
import type { CanonicalRequest } from "../../../../src/codecs/canonical/request/request.ts";
import { encodeRequest } from "../../../../src/codecs/messages/request/encode.ts";
import { requestOf } from "../../../support/wire/requests.ts";
import { contextFor } from "../../../support/dialects/targets.ts";

interface Encoded {
  readonly body: JsonObject;
  readonly lost: readonly string[];
}

const OLD = "claude-3-5-sonnet-20241022";
const MIDDLE = "claude-sonnet-4-6";
const NEW = "claude-opus-5";
const OPEN = "glm-5";

function encode(
  fields: Partial<CanonicalRequest>,
  model = MIDDLE,
  target: Partial<Target> = {},
): Encoded {
  const { context, lost } = contextFor(target.service ?? "custom", {
    model,
    ...target,
  });
  return { body: encodeRequest(requestOf(fields), context), lost };
}

Deno.test("encodeRequest() writes a model, a limit and the messages for a request without settings", () => {
  assert.deepEqual(encode({}, OPEN).body, {
    model: OPEN,
    max_tokens: 32_000,
    messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
  });
  assert.equal(encode({ stream: true }).body.stream, true);
});

Deno.test("encodeRequest() writes the caller's output limit, the configured one or the model's", () => {
  assert.equal(encode({}, OLD).body.max_tokens, 8192);
  assert.equal(encode({}, OLD, { maxOutputTokens: 500 }).body.max_tokens, 500);
  assert.equal(encode({ maxOutputTokens: 9 }, OLD).body.max_tokens, 9);
  const clamped = encode({ maxOutputTokens: 9000 }, OLD);
  assert.equal(clamped.body.max_tokens, 8192);
  assert.deepEqual(clamped.lost, ["maxOutputTokens report"]);
});

Deno.test("encodeRequest() writes the sampling settings that the model accepts, and reports others", () => {
  const sampling = { temperature: 0.3, topP: 0.5, topK: 4 };
  const old = encode({ sampling }, OLD);
  assert.deepEqual(
    [old.body.temperature, old.body.top_p, old.body.top_k],
    [0.3, 0.5, 4],
  );
  const one = encode({ sampling }, MIDDLE);
  assert.deepEqual(
    [one.body.temperature, one.body.top_p, one.body.top_k],
    [0.3, undefined, 4],
  );
  assert.deepEqual(one.lost, ["topP report"]);
  const none = encode({ sampling }, NEW);
  assert.deepEqual(
    [none.body.temperature, none.body.top_p, none.body.top_k],
    [undefined, undefined, undefined],
  );
  assert.deepEqual(none.lost, [
    "temperature report",
    "topP report",
    "topK report",
  ]);
});

Deno.test("encodeRequest() writes the default of a setting whose other values the model rejects", () => {
  const { body, lost } = encode({ sampling: { temperature: 1 } }, NEW);
  assert.equal(body.temperature, 1);
  assert.deepEqual(lost, []);
  assert.equal(encode({ sampling: { topP: 1 } }, NEW).body.top_p, 1);
});

Deno.test("encodeRequest() lowers a temperature above 1 to 1, and reports it", () => {
  const { body, lost } = encode({ sampling: { temperature: 1.7 } }, OPEN);
  assert.equal(body.temperature, 1);
  assert.deepEqual(lost, ["temperature report"]);
});

Deno.test("encodeRequest() drops sampling that a thinking model rejects", () => {
  const fields = {
    reasoning: { mode: "budget", budgetTokens: 2000 },
    sampling: { temperature: 0.2, topP: 0.96, topK: 5 },
    maxOutputTokens: 4000,
  } as const;
  const { body, lost } = encode(fields, "claude-sonnet-4-5");
  assert.equal(body.temperature, undefined);
  assert.equal(body.top_p, 0.96);
  assert.deepEqual(lost, ["temperature report", "topK report"]);
  assert.deepEqual(encode(fields, OPEN).lost, []);
});

Deno.test("encodeRequest() reports settings that Messages lacks, unless they are empty or the default", () => {
  const { lost } = encode({
    verbosity: "low",
    metadata: { a: "b" },
    sampling: { seed: 1, frequencyPenalty: 0.1, presencePenalty: 0 },
    extras: {
      chat: {
        n: { value: 2, weight: "reject" },
        store: { value: false, weight: "ignore" },
      },
      messages: { speed: { value: "fast", weight: "report" } },
    },
  });
  assert.deepEqual(lost, [
    "seed report",
    "frequencyPenalty report",
    "verbosity report",
    "metadata report",
    "n reject",
  ]);
});

Deno.test("encodeRequest() writes the extras of Messages", () => {
  const { body, lost } = encode({
    extras: {
      messages: {
        speed: { value: "fast", weight: "report" },
        metadata: { value: { team: "t" }, weight: "report" },
        output_config: { value: { task_budget: 1 }, weight: "report" },
      },
    },
    user: "u",
    reasoning: { mode: "adaptive", effort: "low" },
  }, NEW);
  assert.equal(body.speed, "fast");
  assert.deepEqual(body.metadata, { team: "t", user_id: "u" });
  assert.deepEqual(body.output_config, { task_budget: 1, effort: "low" });
  assert.deepEqual(lost, []);
});

Deno.test("encodeRequest() drops and reports blank stop strings", () => {
  const { body, lost } = encode({ stop: ["END", "\n"] });
  assert.deepEqual(body.stop_sequences, ["END"]);
  assert.deepEqual(lost, ["stop report"]);
  assert.equal(encode({ stop: ["\n"] }).body.stop_sequences, undefined);
});

Deno.test("encodeRequest() hashes a user id that is too long or identifies a person", () => {
  const id = (user: string) => JSON.stringify(encode({ user }).body.metadata);
  assert.equal(id("u-1"), '{"user_id":"u-1"}');
  assert.match(id("anna@example.com"), /^\{"user_id":"[0-9a-f]{64}"\}$/);
  assert.match(id("x".repeat(300)), /^\{"user_id":"[0-9a-f]{64}"\}$/);
});

Deno.test("encodeRequest() writes a service tier in the words of Messages, for models with tiers", () => {
  const tier = (
    name: "auto" | "standard" | "flex" | "priority",
    model = MIDDLE,
  ) => {
    const { body, lost } = encode({
      serviceTier: { tier: name, raw: { protocol: "chat", value: name } },
    }, model);
    return [body.service_tier, ...lost];
  };
  assert.deepEqual(tier("auto"), ["auto"]);
  assert.deepEqual(tier("priority"), ["auto"]);
  assert.deepEqual(tier("standard"), ["standard_only"]);
  assert.deepEqual(tier("flex"), [undefined, "serviceTier report"]);
  assert.deepEqual(tier("auto", OPEN), [undefined]);
  assert.deepEqual(tier("priority", OPEN), [undefined, "serviceTier report"]);
  const own = encode({
    serviceTier: { tier: "auto", raw: { protocol: "messages", value: "new" } },
  });
  assert.equal(own.body.service_tier, "new");
});

Deno.test("encodeRequest() puts a schema into the prompt if the upstream has no schemas", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const held = encode({ format: { type: "schema", schema } });
  assert.deepEqual(held.body.output_config, {
    format: {
      type: "json_schema",
      schema: { ...schema, additionalProperties: false },
    },
  });
  assert.deepEqual(held.lost, []);
  const system = [{
    role: "system",
    blocks: [{ kind: "text", text: "s" }],
  }] as const;
  const sent = encode(
    { format: { type: "schema", schema }, turns: system },
    OPEN,
  );
  assert.deepEqual(sent.body.system, [
    { type: "text", text: "s" },
    {
      type: "text",
      text:
        "Answer with one JSON object and nothing else. It must match this JSON schema:\n" +
        JSON.stringify(schema),
    },
  ]);
  assert.equal(sent.body.output_config, undefined);
  assert.deepEqual(sent.lost, ["format report"]);
  const any = encode({ format: { type: "json" } });
  assert.deepEqual(any.lost, ["format report"]);
  assert.match(JSON.stringify(any.body.system), /one JSON object/);
});

Deno.test("encodeRequest() rejects a strict format that the model cannot enforce", () => {
  const schema = { type: "object", additionalProperties: { type: "string" } };
  const { lost } = encode({ format: { type: "schema", schema, strict: true } });
  assert.equal(lost[0], "format reject");
  assert.deepEqual(encode({ format: { type: "schema", schema } }).lost, [
    "format report",
  ]);
});

Deno.test("encodeRequest() writes only the last four cache marks", () => {
  const marked = (text: string) => ({ kind: "text", text, cache: {} }) as const;
  const fields: Partial<CanonicalRequest> = {
    tools: [{ kind: "function", name: "f", cache: { ttlSeconds: 300 } }],
    turns: [
      { role: "system", blocks: [marked("s")] },
      { role: "user", blocks: [marked("a"), marked("b")] },
      { role: "assistant", blocks: [marked("c")] },
      { role: "user", blocks: [marked("d")] },
    ],
  };
  const { body, lost } = encode(fields);
  const marks = (value: unknown) =>
    JSON.stringify(value).split("cache_control").length - 1;
  assert.deepEqual(lost, ["cache report"]);
  assert.equal(marks(body.tools), 0);
  assert.equal(marks(body.system), 0);
  assert.equal(marks(body.messages), 4);
  const automatic = encode({ ...fields, cache: { ttlSeconds: 1800 } });
  assert.deepEqual(automatic.body.cache_control, {
    type: "ephemeral",
    ttl: "1h",
  });
  assert.equal(marks(automatic.body.messages), 3);
});

Deno.test("encodeRequest() writes images and documents, and rejects kinds that upstreams do not accept", () => {
  const block = (
    value: CanonicalRequest["turns"][number]["blocks"][number],
  ) => {
    const { body, lost } = encode({
      turns: [{ role: "user", blocks: [value] }],
    });
    const [message] = Array.isArray(body.messages) ? body.messages : [];
    return [JSON.stringify(message).replace(/.*\[(.*)\].*/, "$1"), ...lost];
  };
  const base64 = (mediaType: string, data: string) =>
    ({ type: "base64", mediaType, data }) as const;
  assert.deepEqual(
    block({
      kind: "image",
      source: base64("image/webp", "AA=="),
      detail: "auto",
    }),
    [
      '{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"AA=="}}',
    ],
  );
  assert.deepEqual(
    block({
      kind: "image",
      source: { type: "url", url: "https://a.example" },
      detail: "high",
    }),
    [
      '{"type":"image","source":{"type":"url","url":"https://a.example"}}',
      "detail report",
    ],
  );
  const refused = '{"type":"text","text":"(no content)"}';
  assert.deepEqual(
    block({ kind: "image", source: base64("image/svg+xml", "AA==") }),
    [refused, "messages reject"],
  );
  assert.deepEqual(
    block({ kind: "image", source: { type: "id", store: "openai", id: "f" } }),
    [refused, "messages reject"],
  );
  assert.deepEqual(
    block({
      kind: "file",
      source: { type: "id", store: "anthropic", id: "f" },
    }),
    ['{"type":"document","source":{"type":"file","file_id":"f"}}'],
  );
  assert.deepEqual(
    block({
      kind: "file",
      source: base64("application/pdf", "AA=="),
      name: "a.pdf",
    }),
    [
      '{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA=="},"title":"a.pdf"}',
    ],
  );
  assert.deepEqual(
    block({ kind: "file", source: base64("text/csv", btoa("a,b")) }),
    [
      '{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b"}}',
    ],
  );
  assert.deepEqual(
    block({ kind: "file", source: base64("text/csv", "/w==") }),
    [refused, "messages reject"],
  );
  assert.deepEqual(
    block({ kind: "file", source: base64("application/zip", "AA==") }),
    [refused, "messages reject"],
  );
});
