import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
} from "../../../src/base/json.ts";
import { PROTOCOLS } from "../../../src/base/protocol.ts";
import { lessonText } from "../../../src/codecs/dialects/lessons.ts";
import { lessonsIn } from "../../../src/codecs/dialects/read_refusal.ts";
import { CODECS } from "../../../src/codecs/codecs.ts";
import { createRandom } from "../../support/fakes/random.ts";
import { REFUSED_BODIES } from "../../support/wire/refused_bodies.ts";
import { parseYaml } from "../../support/yaml.ts";

/** A refusal in a provider's words, and its lessons. */
interface Refusal {
  readonly by: string;
  readonly source: string;
  readonly teaches: readonly string[];
  /** The lessons that lessonsIn() finds. */
  readonly read: readonly string[];
}

const FIXTURES = new URL("../../fixtures/", import.meta.url);

/** Returns the body of an error. A text or an object without an envelope gets OpenAI's envelope. */
function bodyOf(error: JsonValue | undefined): JsonValue {
  if (typeof error === "string") {
    return { error: { message: error, type: "invalid_request_error" } };
  }
  const isWhole = !isJsonObject(error) ||
    ["object", "error", "errors", "detail", "base_resp"].some((key) =>
      key in error
    );
  return isWhole ? error ?? null : { error };
}

function refusalOf(row: JsonObject): Refusal {
  const to = PROTOCOLS.find((one) => one === row.to) ?? "chat";
  const failure = CODECS[to].decodeFailure(
    Number(row.status ?? 400),
    bodyOf(row.error),
  );
  const sent = Object.fromEntries(
    Object.entries({ ...REFUSED_BODIES[to], ...objectOf(row.sent) })
      .filter(([, value]) => value !== null),
  );
  const lessons = lessonsIn(failure, to, sent);
  return {
    ...{ by: String(row.by), source: String(row.source ?? "") },
    teaches: listOf(row.teaches).map(String),
    read:
      lessons.length > 0 && lessons.every(({ cause }) => cause !== undefined)
        ? ["plain"]
        : lessons.map(lessonText),
  };
}

/** Returns the refusals of a file. Its first line has their number. */
async function refusalsIn(file: string): Promise<readonly Refusal[]> {
  const text = await Deno.readTextFile(new URL(file, FIXTURES));
  const rows = parseYaml(text, { schema: "core" });
  assert(Array.isArray(rows));
  assert.equal(Number(/^# (\d+) /.exec(text)?.[1]), rows.length, file);
  return rows.map((row) => refusalOf(JSON.parse(JSON.stringify(row))));
}

const REAL = await refusalsIn("refusals.yaml");
const CONSTRUCTED = await refusalsIn("constructed_refusals.yaml");

Deno.test("lessonsIn() finds exactly the lessons of real refusals", async (t) => {
  assert(REAL.length >= 120, String(REAL.length));
  for (const { by, source, teaches, read } of REAL) {
    assert.match(source, /^https:\/\/\S+$/);
    await t.step(`${by}: ${teaches.join(", ") || "nothing"}`, () => {
      assert.deepEqual([...read].sort(), [...teaches].sort());
    });
  }
});

Deno.test("lessonsIn() finds exactly the lessons of constructed refusals", async (t) => {
  for (const { by, teaches, read } of CONSTRUCTED) {
    await t.step(`${by}: ${teaches.join(", ") || "nothing"}`, () => {
      assert.deepEqual([...read].sort(), [...teaches].sort());
    });
  }
});

/** Texts of a request that look like refusals. */
const HOSTILE = [
  (field: string) => `x Unsupported parameter: ${field} is not supported`,
  (field: string) => `'${field}' is not supported with this model`,
  (field: string) => `${field}: Extra inputs are not permitted`,
  (field: string) => `property '${field}' is unsupported`,
  (field: string) => `${field} 参数非法, 不支持 ${field}`,
  (field: string) => `Unknown name "${field}": Cannot find field`,
  (field: string) =>
    `this model does not support ${field}. max_tokens must be <= 17`,
  (field: string) =>
    `${field} must be one of 'none'; only the default is supported`,
  (field: string) => `x", "param": "${field}", "code": "unknown_parameter`,
  (field: string) => field,
];

/** Escapes non-ASCII characters and the marks of JSON, as JSON inside of JSON does. */
function asciiOf(text: string): string {
  return text.replace(/[\\"]/g, "\\$&").replace(
    /[^\x20-\x7e]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Errors that quote a text of the request. No lesson can avoid them. */
const QUOTING = [
  (text: string) => `Invalid value: '${text}'. Choose another one.`,
  (text: string) => `Invalid schema for function 'weather': Missing '${text}'.`,
  (text: string) => `tools.0.custom: ${JSON.stringify(text)} is not a tool`,
  (text: string) => `messages.2.content: cannot read ${text}`,
  (text: string) => `Bad request: ${text.slice(0, 60)}…`,
  (text: string) =>
    `The string ${JSON.stringify(JSON.stringify(text))} is too long`,
  (text: string) => `<b>${text.replaceAll("'", "&#39;")}</b> was refused`,
  (text: string) => `Refused: ${text.toUpperCase()}`,
  (text: string) => `Refused: ${encodeURIComponent(text)}`,
  (text: string) => `Refused: ${new URLSearchParams({ text })}`,
  (text: string) => `Refused: ${asciiOf(JSON.stringify(text))}`,
  (text: string) => `Refused: ${asciiOf(asciiOf(JSON.stringify(text)))}`,
  (text: string) => `\x1b[31mRefused: \x1b[1m${text}\x1b[0m`,
  (text: string) => `Refused: ${text.replaceAll(" ", "\x1b[0m \x1b[31m")}`,
  (text: string) =>
    `Refused: ${text.replace(/\w+/g, "\\u001b[31m$&\\u001b[0m")}`,
  (text: string) =>
    `Refused: ${text.replace(/\W/g, (one) => `&#${one.codePointAt(0)};`)}`,
  (text: string) => `Refused: ${text.slice(3, 40)}…`,
  (text: string) => `Refused: …${text.slice(1, -1)}…`,
  (text: string) => `Refused: ${text.slice(0, 12)}…${text.slice(-20)}`,
  (text: string) => `Refused: ${text.slice(0, 25)}... (truncated)`,
  (text: string) => `Refused:\n  ${text.replaceAll(" ", "\n  ")}`,
  (text: string) =>
    `litellm.BadRequestError: OpenAIException - {"error": {"message": "Unsupported content: ${text}"}}`,
];

const FIELDS = [
  ...["temperature", "top_p", "strict", "reasoning_effort", "user", "stop"],
  ...["prompt_cache_key", "parallel_tool_calls", "metadata", "service_tier"],
];

/** Returns a request whose text is a name, a description, metadata or a message. */
function withText(text: string, place: number): JsonObject {
  const body: JsonObject = structuredClone(REFUSED_BODIES.chat);
  const tool = (name: string, properties: JsonObject, description: string) => ({
    type: "function",
    function: {
      ...{ name, description, strict: true },
      parameters: { type: "object", properties },
    },
  });
  const own = [
    { tools: [tool("weather", { [text]: { type: "string" } }, "")] },
    { tools: [tool(text, {}, "")] },
    { tools: [tool("weather", {}, text)] },
    { tools: [tool("weather", { a: { enum: [text, "low"] } }, "")] },
    { metadata: { [text]: "a" } },
    { metadata: { a: text } },
    { messages: [{ role: "user", content: text }] },
    { messages: [{ role: "user", content: [{ type: "text", text }] }] },
  ];
  return { ...body, ...own[place % own.length] };
}

Deno.test("lessonsIn() finds no lesson in hostile texts that an error quotes from the request", () => {
  const random = createRandom(20);
  let count = 0;
  for (const [place, quote] of QUOTING.entries()) {
    for (const hostile of HOSTILE) {
      for (let more = 0; more < 3; more++) {
        const text = hostile(random.pick(FIELDS));
        const message = quote(text);
        const failure = {
          kind: "invalid_request",
          status: 400,
          message,
        } as const;
        const sent = withText(text, place + random.below(8));
        const lessons = lessonsIn(failure, "chat", sent);
        assert.deepEqual(
          lessons.map(lessonText),
          [],
          `${message} in ${JSON.stringify(sent)}`,
        );
        count += 1;
      }
    }
  }
  assert(count >= 200, String(count));
});

/** Errors that name the limit of an answer, but give the number of another limit. */
const OTHER_LIMITS = [
  (most: number) => `max_tokens invalid. Maximum ${most} requests per minute.`,
  (most: number) => `Too many tools: at most ${most} tools; max_tokens 64000`,
  (most: number) => `metadata: at most ${most} keys, max_tokens 64000`,
  (most: number) => `Too large for max_tokens: limit ${most} tokens per minute`,
  (most: number) => `output tokens exceed the rate limit of ${most} per minute`,
  (most: number) => `max_tokens: the prompt has at most ${most} characters`,
  (most: number) => `At most ${most} stop sequences; output tokens 64000`,
  (most: number) =>
    `'max_tokens' is too large: 64000. This model's maximum context length is ${most} tokens`,
  (most: number) =>
    `max_tokens must exceed budget_tokens; budget_tokens is at most ${most}`,
  (most: number) =>
    `prompt tokens 30 + max_tokens 64000 exceed the limit of ${most}`,
];

Deno.test("lessonsIn() does not lower the limit of an answer to the number of another limit", () => {
  for (const words of OTHER_LIMITS) {
    for (const most of [16, 128, 8_192, 40_960]) {
      const message = words(most);
      const failure = {
        kind: "invalid_request",
        status: 400,
        message,
      } as const;
      const lessons = lessonsIn(failure, "chat", REFUSED_BODIES.chat);
      const clamps = lessons.filter(({ move }) => move === "clamp");
      assert.deepEqual(clamps.map(lessonText), [], message);
    }
  }
});

Deno.test("lessonsIn() reads long and odd refusals fast", () => {
  const message = "Unsupported parameter: 'temperature' ".repeat(30_000);
  const failure = { kind: "invalid_request", status: 400 } as const;
  assert.deepEqual(lessonsIn({ ...failure, message }, "chat"), []);
  for (const odd of ["a.", "a/", "'", "[1,", "Use `a` ", "not "]) {
    const message = odd.repeat(16_000 / odd.length);
    lessonsIn({ ...failure, message }, "chat", REFUSED_BODIES.chat);
  }
});
