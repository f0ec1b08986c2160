import assert from "node:assert/strict";
import type { HeaderFields } from "../../../src/core/header_fields.ts";
import type { UpstreamClient } from "../../../src/upstream/call.ts";
import { ask, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";

const CANARY = "canary-7d21 of a prompt";

class OddError extends Error {
  override readonly name = "OddError";
  readonly secret = CANARY;
}

/** A client whose responses fail in a way that the gateway does not expect. */
function failingClient(thrown: () => unknown): UpstreamClient {
  return {
    send: () =>
      Promise.resolve({
        status: 200,
        get headers(): HeaderFields {
          throw thrown();
        },
        body: null,
      }),
  };
}

const THROWN: Readonly<Record<string, unknown>> = {
  "an error": new OddError(CANARY),
  "an error with a cause": new Error(CANARY, { cause: new OddError(CANARY) }),
  "an error whose message looks like a stack": new Error(`x\n    at ${CANARY}`),
  "an error with another message later": changedError(),
  "an aggregate": new AggregateError([new OddError(CANARY)], CANARY),
  "a text": CANARY,
  "nothing": undefined,
};

function changedError(): Error {
  const error = new Error(`x\n    at ${CANARY}`);
  error.message = "another";
  return error;
}

Deno.test("an unforeseen exception is 500 in the caller's protocol, without its message", async (t) => {
  let thrown: unknown;
  const client = failingClient(() => thrown);
  const file = familiesFile("http://127.0.0.1:9");
  await using gateway = await startGateway(file, { client });
  for (const protocol of PROTOCOLS) {
    for (const [name, value] of Object.entries(THROWN)) {
      await t.step(`${protocol}: ${name}`, async () => {
        thrown = value;
        const response = await gateway.call(PATHS[protocol], ask(protocol));
        const text = await response.clone().text();
        assert.doesNotMatch(text, /canary|Odd/);
        const error = await readError(response, protocol);
        assert.equal(error.status, 500);
        assert.equal(
          error.type,
          protocol === "messages" ? "api_error" : "server_error",
        );
        const line = await gateway.lines.of(response);
        assert.equal(line.status, 500);
        assert.equal(line.ended, "error");
        assert.equal(line.error, "internal");
        assert.equal(gateway.admission.active, 0);
      });
    }
  }
  assert.ok(!gateway.lines.text().includes(CANARY));
});

Deno.test("an unforeseen exception is logged with its class, its stack and the request's id", async () => {
  const client = failingClient(() => new OddError(CANARY));
  const file = familiesFile("http://127.0.0.1:9");
  await using gateway = await startGateway(file, { client });
  const response = await gateway.call(PATHS.chat, ask("chat"));
  await response.body?.cancel();
  const line = await gateway.lines.others.next();
  assert.equal(line.level, "error");
  assert.equal(line.event, "unforeseen");
  assert.equal(line.request_id, response.headers.get("x-request-id"));
  assert.equal(line.exception, "OddError");
  assert.ok(Array.isArray(line.stack) && line.stack.length > 0);
  assert.match(String(line.stack[0]), /^at .*unforeseen_test\.ts/);
});
