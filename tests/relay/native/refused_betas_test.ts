import assert from "node:assert/strict";
import type { Failure } from "../../../src/protocols/canonical/failure/failure.ts";
import { reasonOfRefusedBetas } from "../../../src/relay/native/refused_betas.ts";

const SENT =
  "claude-code-20250219,context-management-2025-06-27, oauth-2025-04-20,effort-2025-11-24";

function reason(
  message: string,
  options: {
    kind?: Failure["kind"];
    sent?: string;
    dropped?: string[] | undefined;
  } = {},
) {
  const { kind = "invalid_request", sent = SENT, dropped } = options;
  return reasonOfRefusedBetas(
    { kind, message },
    [["accept", "*/*"], ["anthropic-beta", sent]],
    {
      headersDrop: dropped === undefined ? {} : { "anthropic-beta": dropped },
    },
  );
}

const VERTEX =
  "Unexpected value(s) `effort-2025-11-24` for the `anthropic-beta` header. Please consult our documentation or try again without the header.";

/** Refusals of cloud providers, the betas that the connection leaves out already, and the reason in the log. */
const REFUSALS: readonly (readonly [
  message: string,
  reason: string,
  dropped?: string[],
])[] = [
  // https://github.com/anthropics/claude-code/issues/34802
  [
    VERTEX,
    "the provider refuses a beta; add to its connection headers_drop: { anthropic-beta: [effort-2025-11-24] }",
  ],
  [
    VERTEX,
    "the provider refuses a beta; add to its connection headers_drop: { anthropic-beta: [fast-mode-2026-02-01, effort-2025-11-24] }",
    ["fast-mode-2026-02-01"],
  ],
  // https://github.com/anthropics/claude-code/issues/49370
  [
    "invalid beta flag",
    "the provider refuses a beta without naming it; add to its connection, without those that it knows, headers_drop: { anthropic-beta: [claude-code-20250219, context-management-2025-06-27, oauth-2025-04-20, effort-2025-11-24] }",
  ],
  // https://github.com/Wei-Shaw/sub2api/issues/2726
  [
    "context_management: Extra inputs are not permitted",
    "the provider refuses a field of the beta context-management-2025-06-27; remove that from headers_drop of its connection",
    ["context-management-2025-06-27"],
  ],
  [
    "output_config.effort: Extra inputs are not permitted",
    "the provider refuses a field of the beta effort-2025-11-24; headers_drop: { anthropic-beta: [effort-2025-11-24] } leaves out the beta, its client the field",
  ],
];

for (const [message, wanted, dropped] of REFUSALS) {
  Deno.test(`the log has the line against "${message.slice(0, 50)}"${dropped ? " beside others" : ""}`, () => {
    assert.equal(reason(message, { dropped }), wanted);
  });
}

Deno.test("other failures, fields without a beta and odd values give no line", () => {
  assert.equal(reason("max_tokens: Extra inputs are not permitted"), undefined);
  assert.equal(reason("messages: roles must alternate"), undefined);
  assert.equal(reason("invalid beta flag", { kind: "server" }), undefined);
  assert.equal(reason("invalid beta flag", { sent: "" }), undefined);
  assert.equal(
    reason("invalid beta flag", { sent: "A secret, {x}" }),
    undefined,
  );
});
