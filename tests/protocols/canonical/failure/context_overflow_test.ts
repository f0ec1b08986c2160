import assert from "node:assert/strict";
import { isJsonObject, type JsonValue } from "../../../../src/core/json.ts";
import { runStage } from "../../../../src/core/stage.ts";
import {
  OVERFLOW_CODES,
  OVERFLOW_MESSAGES,
  saysOverflow,
} from "../../../../src/protocols/canonical/failure/context_overflow.ts";
import { readErrorWords } from "../../../../src/protocols/canonical/failure/error_words.ts";
import type { Failure } from "../../../../src/protocols/canonical/failure/failure.ts";
import { CODECS } from "../../../../src/protocols/mod.ts";
import { counterIds } from "../../../contract/codec_contract.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import {
  NO_OVERFLOWS,
  OVERFLOWS,
} from "../../../support/dialects/provider_errors.ts";

for (const { provider, status, body } of OVERFLOWS) {
  Deno.test(`a prompt that is too long is recognized in the words of ${provider}`, async (t) => {
    for (const protocol of PROTOCOLS) {
      await t.step(`${protocol}, with its status`, () => {
        const failure = CODECS[protocol].decodeFailure(status, body);
        assert.equal(failure.kind, "context_too_long");
        assert.equal(failure.status, status);
      });
      await t.step(`${protocol}, inside a good answer`, () => {
        const failure = CODECS[protocol].decodeFailure(200, body);
        assert.equal(failure.kind, "context_too_long");
      });
      await t.step(`${protocol}, as an event of a stream`, () => {
        const failure = failureInStream(protocol, asEvent(body));
        assert.equal(failure?.kind, "context_too_long");
      });
      await t.step(`${protocol}, for a credential that is rejected`, () => {
        const failure = CODECS[protocol].decodeFailure(401, body);
        assert.equal(failure.kind, "authentication");
      });
    }
  });
}

for (const { provider, kind, status, body } of NO_OVERFLOWS) {
  Deno.test(`no prompt that is too long is found in ${provider}`, () => {
    for (const protocol of PROTOCOLS) {
      const failure = CODECS[protocol].decodeFailure(status, body);
      const expected =
        protocol === "responses" && provider.startsWith("Groq: too")
          ? "rate_limited"
          : kind;
      assert.equal(failure.kind, expected, protocol);
      const inside = CODECS[protocol].decodeFailure(200, body);
      assert.notEqual(inside.kind, "context_too_long", protocol);
    }
  });
}

Deno.test("every row of the table matches an error of its provider", () => {
  const words = OVERFLOWS.map(({ body }) => readErrorWords(body));
  for (const { provider, pattern, source } of OVERFLOW_MESSAGES) {
    const isSaid = words.some(({ message }) => pattern.test(message ?? ""));
    assert.ok(isSaid, provider);
    assert.match(source, /^https:\/\//, provider);
  }
  for (const [code, source] of Object.entries(OVERFLOW_CODES)) {
    assert.ok(saysOverflow({ code: code.toUpperCase() }), code);
    assert.ok(saysOverflow({ type: code }), code);
    assert.match(source, /^https:\/\//, code);
  }
});

Deno.test("a code matches as a whole only", () => {
  assert.ok(!saysOverflow({ code: "12610" }));
  assert.ok(!saysOverflow({ code: "no_context_length_exceeded" }));
  assert.ok(!saysOverflow({ code: "constructor" }));
});

/** Puts an error that is not an object, such as a list, into the protocol's `error`. */
function asEvent(body: JsonValue): string {
  return JSON.stringify(
    isJsonObject(body) ? body : { error: body },
  );
}

function failureInStream(
  protocol: (typeof PROTOCOLS)[number],
  data: string,
): Failure | undefined {
  const decoder = CODECS[protocol].createStreamDecoder(counterIds());
  const events = runStage(decoder, [{ event: "error", data }]);
  const [event] = events;
  return event?.type === "failure" ? event.failure : undefined;
}
