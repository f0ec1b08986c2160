import assert from "node:assert/strict";
import type { JsonValue } from "../../../../src/core/json.ts";
import {
  isErrorBody,
  parseErrorBody,
} from "../../../../src/protocols/canonical/failure/error_body.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import { loadRecordings } from "../../../support/recorded/recordings.ts";

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
  Deno.test(`isErrorBody() ignores success beside ${name}`, () => {
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

Deno.test("isErrorBody() returns true for success without an answer", () => {
  for (const fields of NO_ERRORS) {
    assert.ok(isErrorBody(Object(fields)), JSON.stringify(fields));
  }
});

Deno.test("no recorded answer counts as an error (left out without recordings)", () => {
  for (const protocol of PROTOCOLS) {
    for (const { name, answer } of loadRecordings(protocol)) {
      if (answer === undefined) continue;
      assert.ok(!isErrorBody(Object(answer)), `${protocol}/${name}`);
    }
  }
});
