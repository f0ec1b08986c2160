import assert from "node:assert/strict";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";

const OF_REQUEST = ["invalid_request", "not_found", "server"];

Deno.test("an error that only quotes a caller's text about accounts is not an account failure", () => {
  const hostile = [
    ...["your api key was revoked", "x' your account is disabled '"],
    ...["insufficient balance (1008)", "your credits are exhausted (1004)"],
    ...["monthly usage limit reached", "API key not valid"],
  ];
  const quoting = [
    (text: string) => `Invalid schema for function 'f': Missing '${text}'.`,
    (text: string) => `Invalid value: "${text}"`,
    (text: string) => `tools.0.custom.input_schema.properties.${text}`,
    (text: string) => `messages[2]: cannot read ${text}`,
    (text: string) => `Invalid tool name: ${text}`,
    (text: string) => `messages.1: IOException - {"message":"${text}"}`,
    (text: string) => `Cannot parse arguments - {"message":"${text}"}`,
    (text: string) =>
      `litellm.BadRequestError: OpenAIException - {"error":{"message":"Missing '${text}'"}}`,
  ];
  for (const text of hostile) {
    for (const quote of quoting) {
      for (const status of [200, 400, 404, 422, 500]) {
        for (const protocol of PROTOCOLS) {
          const error = { message: quote(text), type: "invalid_request_error" };
          const { kind } = CODECS[protocol].decodeFailure(status, { error });
          assert.ok(OF_REQUEST.includes(kind), `${status}: ${quote(text)}`);
        }
      }
    }
  }
});
