import assert from "node:assert/strict";
import { type JsonValue, objectOf } from "../../../../src/base/json.ts";
import {
  plainWords,
  readErrorWords,
  walkError,
} from "../../../../src/codecs/canonical/failure/error_words.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import {
  isErrorBody,
  parseErrorBody,
} from "../../../../src/codecs/canonical/failure/error_body.ts";
import { loadRecordings } from "../../../support/recorded/recordings.ts";
import { steps } from "../../../support/steps.ts";
import { yamlPairs } from "../../../support/yaml_table.ts";

/** Shapes of errors with their messages, and the source of each that is not a protocol's own. */
const SHAPES = [
  ["nothing", undefined, {}],
  ...yamlPairs(`
OpenAI's: { error: { message: "No model", type: t, param: model, code: c } } →
  { message: "No model", type: t, param: model, code: c }
Anthropic's: { type: error, error: { type: t, message: "No", details: { error_code: c } },
  request_id: req_1 } → { message: "No", type: t, code: c }
# https://ai.google.dev/gemini-api/docs/openai
Gemini's list: [{ error: { code: 404, message: "Not here", status: NOT_FOUND } }] →
  { message: "Not here", type: NOT_FOUND, code: "404", status: 404 }
# https://docs.mistral.ai/api
Mistral's, of a wrong field: { object: error, message: { detail: [{ type: less_than_equal,
  loc: [temperature], msg: "Input should be less than or equal to 1.5", input: 3 }] },
  type: invalid_request_error, param: null, code: null } → { message: "temperature: Input should be
  less than or equal to 1.5", type: invalid_request_error, param: temperature }
# https://fastapi.tiangolo.com/tutorial/handling-errors/
FastAPI's list: { detail: [{ loc: [body, messages, 0, role], msg: "Field required" }, { loc: [body,
  model], msg: "Field required" }, { loc: [body], msg: Bad }, { loc: [query, x],
  msg: "The fourth is left out" }] } → { message: "messages.0.role: Field required; model: Field
  required; Bad", param: messages.0.role }
FastAPI's text: { detail: "Not Found" } → { message: "Not Found" }
a detail that is an error: { detail: { error: { message: Inside, code: c } } } → { message: Inside,
  code: c }
a detail that quotes an error: { detail:
  "{\\"error\\":{\\"message\\":\\"Quoted\\",\\"type\\":\\"t\\"}}" } → { message: Quoted, type: t }
a detail that is a code: { detail: { code: deactivated_workspace } } →
  { message: deactivated_workspace, code: deactivated_workspace }
# https://developers.cloudflare.com/api/
Cloudflare's: { success: false, errors: [{ code: 7003, message: "Could not route" }], messages: [],
  result: null } → { message: "Could not route", code: "7003" }
# https://openrouter.ai/docs/api-reference/errors
OpenRouter's, with its provider's as text: { error: { code: 400, message: "Provider returned error",
  metadata: { provider_name: "Google AI Studio", raw: "{\\n  \\"error\\": {\\n    \\"code\\":
  400,\\n    \\"message\\": \\"Developer instruction is not enabled\\",\\n    \\"status\\":
  \\"INVALID_ARGUMENT\\"\\n  }\\n}\\n" } }, user_id: user_1 } →
  { message: "Developer instruction is not enabled", type: INVALID_ARGUMENT, code: "400",
  status: 400 }
OpenRouter's, with Cloudflare's in it: { error: { code: 502, message: "Provider returned error",
  metadata: { raw: "{\\"errors\\":[{\\"message\\":\\"AiError\\",\\"code\\":3043}]}" } } } →
  { message: AiError, code: "3043", status: 502 }
OpenRouter's, with words that are no JSON: { error: { code: 502, message: "Provider returned error",
  metadata: { raw: "error code:  502\\n" } } } → { message: "error code: 502", code: "502",
  status: 502 }
OpenRouter's, without words of its provider: { error: { code: 502,
  message: "Provider returned error", metadata: { provider_name: x, raw: "" } } } →
  { message: "Provider returned error", code: "502", status: 502 }
xAI's: { code: "Client specified an invalid argument", error: Words } → { message: Words,
  code: "Client specified an invalid argument" }
Ollama's: { error: "model is required" } → { message: "model is required" }
Hugging Face's: { error: ["Field required"], error_type: x } → { message: "Field required" }
SiliconFlow's: { code: 20012, message: "No model", data: null } → { message: "No model",
  code: "20012" }
z.ai's at its edge: { code: 500, msg: "404 NOT_FOUND", success: false } →
  { message: "404 NOT_FOUND", code: "500", status: 500 }
# https://platform.minimax.io/docs/api-reference/errorcode
MiniMax's: { choices: null, base_resp: { status_code: 1008, status_msg: "insufficient balance" } } →
  { message: "insufficient balance", code: "1008", isBaseResponse: true }
Amazon's: { Message: "Access Denied" } → { message: "Access Denied" }
a problem document: { type: "about:blank", title: "Bad Request", status: 400,
  detail: "The field is wrong" } → { message: "The field is wrong", type: "about:blank",
  status: 400 }
a framework's: { statusCode: 400, error: "Bad Request", message: "body must have messages" } →
  { message: "body must have messages" }
a message that quotes an error: { error: { message: "{\\"error\\":{\\"message\\":\\"Quoted\\"}}",
  code: 400 } } → { message: Quoted, code: "400", status: 400 }
a message that begins like JSON: { error: { message: "[Google Error]: words" } } →
  { message: "[Google Error]: words" }
a line of text: "upstream connect error\\r\\n or  reset\\u0000\\u001b[31m" →
  { message: "upstream connect error or reset [31m" }
a page: "<html>\\n<head><title>502 Bad Gateway</title></head><body/></html>" →
  { message: "502 Bad Gateway" }
an empty object: {} → {}
a number: 5 → {}
an empty list: [] → {}
`),
] as const;

Deno.test("readErrorWords() finds the words in every shape that providers send", (t) =>
  steps(t, SHAPES, ([, body, expected]) => {
    const words = Object.entries(readErrorWords(body))
      .filter(([, value]) => value !== undefined);
    assert.deepEqual(Object.fromEntries(words), expected);
  }));

Deno.test("decodeFailure() of every protocol finds the message, the code and the field in every shape", () => {
  for (const [name, body, expected] of SHAPES) {
    const { message, code, param } = objectOf(expected);
    for (const protocol of PROTOCOLS) {
      const failure = CODECS[protocol].decodeFailure(400, body);
      const words = message ?? "The provider answered with status 400";
      const about = `${name}, ${protocol}`;
      assert.equal(failure.message, words, about);
      assert.equal(failure.status, 400, about);
      assert.equal(failure.code, code, about);
      // Errors of Messages name no field.
      const field = protocol === "messages" ? undefined : param;
      assert.equal(failure.param, field, about);
    }
  }
});

Deno.test("readErrorWords() stops at a limited depth of nested errors", () => {
  let quoted = "words";
  for (let level = 0; level < 8; level++) {
    quoted = JSON.stringify({ error: { message: quoted } });
  }
  const { message } = readErrorWords(quoted);
  assert.match(message ?? "", /words/);
});

Deno.test("readErrorWords() shortens plain text, but not a message in JSON", () => {
  const long = "x".repeat(5000);
  assert.equal(readErrorWords({ error: { message: long } }).message, long);
  assert.equal(readErrorWords({ error: long }).message, long);
  assert.equal(readErrorWords(long).message, `${"x".repeat(500)}…`);
});

Deno.test("plainWords() returns text as one line of limited length", () => {
  assert.equal(
    plainWords(" upstream\n\tconnect \u0007error \n"),
    "upstream connect error",
  );
  assert.equal(plainWords(""), "");
  assert.equal(plainWords("é".repeat(600)), `${"é".repeat(500)}…`);
});

Deno.test("plainWords() returns the title of a page, or else its text", () => {
  // The pages of Cloudflare, for a failing origin, and of nginx.
  assert.equal(
    plainWords(
      "<!DOCTYPE html>\n<html>\n<head>\n<title>api.example.com | 522: Connection timed out</title><style>p{}</style>",
    ),
    "api.example.com | 522: Connection timed out",
  );
  assert.equal(
    plainWords("<html><head><title>A &amp; B &lt;&quot;&#39;&gt;</title>"),
    "A & B <\"'>",
  );
  assert.equal(
    plainWords(
      "<html><head><title> </title><style>p { x: y }</style><script>let a = 1 < 2;</script></head><body><h1>It is&nbsp;down</h1><p>Come back</p></body></html>",
    ),
    "It is down Come back",
  );
});

Deno.test("plainWords() reads hostile text fast", () => {
  const hostile = `<html>${"<title><script>".repeat(100_000)}`;
  assert.equal(plainWords(hostile), "");
  assert.equal(plainWords(`<html>${"<".repeat(200_000)}`), "");
});

Deno.test("walkError() finds an error at any place, in any number of wrappers", () => {
  const inner = { code: "c", message: "No" };
  const wraps: readonly ((error: JsonValue) => JsonValue)[] = [
    (error) => ({ error }),
    (error) => ({ errors: [{ error }] }),
    (error) => ({ message: JSON.stringify(error) }),
    (error) => ({ detail: error }),
    (error) => [{ error }],
    (error) => ({ error: { metadata: { raw: error } } }),
  ];
  for (const outer of wraps) {
    for (const wrap of wraps) {
      const body = outer(wrap(inner));
      const codes: unknown[] = [];
      const words = walkError(body, ({ code }) => codes.push(code));
      assert.deepEqual(codes.filter((code) => code !== undefined), ["c"]);
      assert.equal(words.code, "c", JSON.stringify(body));
      assert.equal(words.message, "No", JSON.stringify(body));
    }
  }
});

Deno.test("walkError() stops at a limited depth", () => {
  let body: JsonValue = { code: "c" };
  for (let depth = 0; depth < 1000; depth++) body = { error: body };
  let visits = 0;
  walkError(body, () => visits++);
  assert.ok(visits < 10, `${visits} visits`);
});

Deno.test("parseErrorBody() reads JSON, the data of an event, and text", () => {
  assert.deepEqual(parseErrorBody('{"a":1}'), { a: 1 });
  assert.deepEqual(
    // https://help.aliyun.com/zh/model-studio/ sends this for a streamed request.
    parseErrorBody(
      'id:1\nevent:error\n:HTTP_STATUS/400\ndata:{"code":"InvalidParameter","message":"m"}\n\n',
    ),
    { code: "InvalidParameter", message: "m" },
  );
  assert.equal(parseErrorBody("data: no JSON"), "data: no JSON");
  assert.equal(parseErrorBody("words"), "words");
  assert.equal(parseErrorBody(" \n"), undefined);
});

Deno.test("isErrorBody() distinguishes an error with a successful status from an answer", () => {
  const errors: JsonValue[] = [
    { error: {} },
    { error: "words" },
    { type: "error" },
    { object: "error", message: "m", code: 400 },
    { success: false, errors: [] },
    { code: 20015, message: "m", data: null },
    { choices: null, base_resp: { status_code: 1008 } },
  ];
  for (const body of errors) {
    assert.ok(isErrorBody(Object(body)), JSON.stringify(body));
  }
  const answers: JsonValue[] = [
    { choices: [], error: null, base_resp: { status_code: 0, status_msg: "" } },
    { choices: [], error: false },
    { type: "message_start", message: { id: "m" } },
    { type: "message", content: [] },
    { object: "response", error: null, status: "completed" },
    { type: "ping" },
    { message: "a heartbeat" },
  ];
  for (const body of answers) {
    assert.ok(!isErrorBody(Object(body)), JSON.stringify(body));
  }
});

/** Fields that report success, which servers add to an answer. */
const NO_ERRORS: readonly JsonValue[] = [
  // iFlytek Spark: https://www.xfyun.cn/doc/spark/HTTP%E8%B0%83%E7%94%A8%E6%96%87%E6%A1%A3.html
  { code: 0, message: "Success" },
  { code: "0", message: "ok" },
  { code: 200, message: "" },
  { code: "success", message: "done" },
  { code: "", message: "" },
  { error: "" },
  { error: {} },
  { error: [] },
  { error: 0 },
  { error: { code: 0, message: "Success" } },
  { error: { code: null, message: "", type: null } },
];

const ANSWERS: Readonly<Record<string, JsonValue>> = {
  "a Chat answer": { choices: [{ index: 0, message: { content: "Hi" } }] },
  "the counts of a Chat stream": { choices: [], usage: { prompt_tokens: 1 } },
  "a Chat choice": { delta: { content: "Hi" } },
  "a Messages answer": { content: [{ type: "text", text: "Hi" }] },
  "a Responses answer": { output: [] },
  "an event of Responses": { response: { id: "r" } },
  "an end of Messages": { type: "message_stop" },
};

for (const [name, answer] of Object.entries(ANSWERS)) {
  Deno.test(`isErrorBody() ignores an error field that means success beside ${name}`, () => {
    for (const fields of NO_ERRORS) {
      const body = { ...Object(answer), ...Object(fields) };
      assert.ok(!isErrorBody(body), JSON.stringify(body));
    }
    for (
      const fields of [
        { code: 10013, message: "It broke" },
        { error: { message: "It broke" } },
        { error: { code: 500 } },
        { error: true },
      ]
    ) {
      assert.ok(isErrorBody({ ...Object(answer), ...fields }));
    }
  });
}

Deno.test("isErrorBody() returns true for an error field that means success if there is no answer", () => {
  for (const fields of NO_ERRORS) {
    assert.ok(isErrorBody(Object(fields)), JSON.stringify(fields));
  }
});

Deno.test("isErrorBody() returns false for every recorded answer (passes without recordings)", () => {
  for (const protocol of PROTOCOLS) {
    for (const { name, answer } of loadRecordings(protocol)) {
      if (answer === undefined) continue;
      assert.ok(!isErrorBody(Object(answer)), `${protocol}/${name}`);
    }
  }
});
