import assert from "node:assert/strict";
import type { FailureKind } from "../../../../src/protocols/canonical/failure/failure.ts";
import {
  CONTENT_ROWS,
  RIGHTS_ROWS,
} from "../../../../src/protocols/canonical/failure/refusal_words.ts";
import { CODECS } from "../../../../src/protocols/mod.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import {
  CONTENT_REFUSALS,
  GATEWAY_REFUSALS,
  PLAIN_ERRORS,
  type Refusal,
  UNEXPLAINED_REFUSALS,
} from "../../../support/dialects/refusals.ts";

/** A provider's error may come on the path of any protocol. */
function testKinds(
  name: string,
  refusals: readonly Refusal[],
  isRight: (kind: FailureKind, refusal: Refusal) => boolean,
): void {
  Deno.test(name, async (t) => {
    for (const refusal of refusals) {
      await t.step(refusal.name, () => {
        for (const protocol of PROTOCOLS) {
          const { kind } = CODECS[protocol]
            .decodeFailure(refusal.status, refusal.body);
          assert.ok(isRight(kind, refusal), `${protocol}: ${kind}`);
        }
      });
    }
  });
}

testKinds(
  "a refusal of the content is one with every status and in every shape",
  CONTENT_REFUSALS,
  (kind) => kind === "filtered",
);

testKinds(
  "a refusal of the gateway's key, rights or account is not taken for one of the content",
  GATEWAY_REFUSALS,
  (kind, { status }) =>
    kind === (status === 403 ? "permission" : "authentication"),
);

testKinds(
  "a 403 that says neither is nobody's for sure",
  UNEXPLAINED_REFUSALS,
  (kind) => kind === "forbidden",
);

testKinds(
  "an error about the request stays one, whatever words are in it",
  PLAIN_ERRORS,
  (kind) => kind === "invalid_request",
);

Deno.test("a 401 is about the gateway's key, whatever it says", () => {
  for (const protocol of PROTOCOLS) {
    for (const { body } of [...CONTENT_REFUSALS, ...UNEXPLAINED_REFUSALS]) {
      const { kind } = CODECS[protocol].decodeFailure(401, body);
      assert.equal(kind, "authentication");
    }
  }
});

Deno.test("a refusal of the content inside an answer is one, with no status of the gateway's making", () => {
  const inAnswer = {
    error: { message: "Blocked", code: "content_filter", type: "x" },
  };
  for (const protocol of PROTOCOLS) {
    const failure = CODECS[protocol].decodeFailure(200, inAnswer);
    assert.equal(failure.kind, "filtered");
    assert.equal(CODECS[protocol].encodeFailure(failure, "req_1").status, 400);
  }
});

Deno.test("what a refusal repeats of the prompt is not taken for the provider's words", () => {
  const { kind } = CODECS.chat.decodeFailure(403, {
    error: {
      message: "Your API key has no access to this model",
      metadata: { prompt: "Content Exists Risk", flagged: ["1301"] },
    },
  });
  assert.equal(kind, "permission");
});

Deno.test("errors that are deep, long and odd are read without harm", () => {
  let deep: Record<string, unknown> = { code: "content_filter" };
  for (let depth = 0; depth < 1000; depth++) deep = { error: deep };
  const odd = [deep, Array(100_000).fill({ code: 1 }), [[[]]], null, 1, "{"];
  for (const body of odd) {
    const { kind } = CODECS.chat
      .decodeFailure(403, JSON.parse(JSON.stringify(body)));
    assert.equal(kind, "forbidden");
  }
});

Deno.test("every row of the tables has a source and something to go by", () => {
  for (const row of [...CONTENT_ROWS, ...RIGHTS_ROWS]) {
    assert.match(row.source, /^https:\/\//);
    assert.ok(row.words !== undefined || (row.codes ?? []).length > 0);
    for (const code of row.codes ?? []) assert.match(code, /^[a-z0-9_-]+$/);
  }
});
