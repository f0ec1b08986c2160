import assert from "node:assert/strict";
import type { FailureKind } from "../../../../src/codecs/canonical/failure/failure.ts";
import {
  CONTENT_ROWS,
  REASONING_ROWS,
  RIGHTS_ROWS,
} from "../../../../src/codecs/canonical/failure/refusal_words.ts";
import { refusesReasoning } from "../../../../src/codecs/canonical/failure/refusal.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import {
  CONTENT_REFUSALS,
  GATEWAY_REFUSALS,
  PLAIN_ERRORS,
  type Refusal,
  UNEXPLAINED_REFUSALS,
} from "../../../support/dialects/refusals.ts";

/** A provider's error may arrive on the path of any protocol. */
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
  "a refusal of content is `filtered` with every status and in every shape",
  CONTENT_REFUSALS,
  (kind) => kind === "filtered",
);

testKinds(
  "a refusal of the gateway's key, rights or account is not `filtered`",
  GATEWAY_REFUSALS,
  (kind, { status }) =>
    kind === (status === 403 ? "permission" : "authentication"),
);

testKinds(
  "a 403 without a known reason is `forbidden`",
  UNEXPLAINED_REFUSALS,
  (kind) => kind === "forbidden",
);

testKinds(
  "an error about the request is `invalid_request`, with any words in it",
  PLAIN_ERRORS,
  (kind) => kind === "invalid_request",
);

Deno.test("a 401 counts as a refusal of the gateway's key, whatever its text is", () => {
  for (const protocol of PROTOCOLS) {
    for (const { body } of [...CONTENT_REFUSALS, ...UNEXPLAINED_REFUSALS]) {
      const { kind } = CODECS[protocol].decodeFailure(401, body);
      assert.equal(kind, "authentication");
    }
  }
});

Deno.test("a refusal of content inside an answer is `filtered`, and reaches callers with 400", () => {
  const inAnswer = {
    error: { message: "Blocked", code: "content_filter", type: "x" },
  };
  for (const protocol of PROTOCOLS) {
    const failure = CODECS[protocol].decodeFailure(200, inAnswer);
    assert.equal(failure.kind, "filtered");
    assert.equal(CODECS[protocol].encodeFailure(failure, "req_1").status, 400);
  }
});

Deno.test("a refusal's quotations from the prompt do not count as the provider's words", () => {
  const { kind } = CODECS.chat.decodeFailure(403, {
    error: {
      message: "Your API key has no access to this model",
      metadata: { prompt: "Content Exists Risk", flagged: ["1301"] },
    },
  });
  assert.equal(kind, "permission");
});

Deno.test("deep, long and odd 403 errors are read as `forbidden`", () => {
  let deep: Record<string, unknown> = { code: "content_filter" };
  for (let depth = 0; depth < 1000; depth++) deep = { error: deep };
  const odd = [deep, Array(100_000).fill({ code: 1 }), [[[]]], null, 1, "{"];
  for (const body of odd) {
    const { kind } = CODECS.chat
      .decodeFailure(403, JSON.parse(JSON.stringify(body)));
    assert.equal(kind, "forbidden");
  }
});

Deno.test("every row of the tables has a source, and words or a code", () => {
  for (const row of [...CONTENT_ROWS, ...REASONING_ROWS, ...RIGHTS_ROWS]) {
    assert.match(row.source, /^https:\/\//);
    assert.ok(row.words !== undefined || (row.codes ?? []).length > 0);
    for (const code of row.codes ?? []) assert.match(code, /^[a-z0-9_-]+$/);
  }
});

/** Refusals of earlier reasoning, quoted from their reports; see the sources of the rows. */
const REASONING_REFUSALS: Readonly<Record<string, string>> = {
  "bound to another conversation":
    'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
  "a changed text":
    "messages.3.content.1: Invalid `signature` in `thinking` block",
  "a changed last answer":
    "messages.43.content.7: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
  "behind LiteLLM":
    'litellm.BadRequestError: AnthropicException - {"type":"error","error":{"message":"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."}}',
  "an id that is not stored":
    "Item with id 'rs_0a9' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
  "an item without its following item":
    "Item 'rs_68' of type 'reasoning' was provided without its required following item.",
};

Deno.test("refusesReasoning() recognizes a refusal of earlier reasoning by its words, in every protocol", () => {
  for (const [name, message] of Object.entries(REASONING_REFUSALS)) {
    const body = {
      type: "error",
      error: { type: "invalid_request_error", message },
    };
    for (const protocol of PROTOCOLS) {
      const failure = CODECS[protocol].decodeFailure(400, body);
      assert.ok(refusesReasoning(failure), `${name}: ${protocol}`);
    }
  }
});

Deno.test("refusesReasoning() recognizes a refusal of encrypted reasoning by its code or its words", () => {
  const message =
    "The encrypted content gAAA...Rg== could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
  for (const code of ["invalid_encrypted_content", null]) {
    const failure = CODECS.responses.decodeFailure(400, {
      error: { message, type: "invalid_request_error", param: null, code },
    });
    assert.ok(refusesReasoning(failure));
  }
});

Deno.test("refusesReasoning() returns false for all other errors", () => {
  const errors = [
    ...CONTENT_REFUSALS,
    ...GATEWAY_REFUSALS,
    ...PLAIN_ERRORS,
    ...UNEXPLAINED_REFUSALS,
  ];
  for (const { name, status, body } of errors) {
    for (const protocol of PROTOCOLS) {
      const failure = CODECS[protocol].decodeFailure(status, body);
      assert.ok(!refusesReasoning(failure), `${name}: ${protocol}`);
    }
  }
});
