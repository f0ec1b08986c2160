import assert from "node:assert/strict";
import {
  asStreamError,
  brokenAnswer,
  type FailureKind,
  kindOfStatus,
  oversizedAnswer,
  shownFailure,
} from "../../../../src/protocols/canonical/failure/failure.ts";

Deno.test("kindOfStatus() reads a bare status", () => {
  const kinds: Record<number, FailureKind> = {
    400: "invalid_request",
    401: "authentication",
    402: "quota",
    403: "forbidden",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    418: "invalid_request",
    422: "invalid_request",
    429: "rate_limited",
    500: "server",
    502: "server",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
    599: "server",
  };
  for (const [status, kind] of Object.entries(kinds)) {
    assert.equal(kindOfStatus(Number(status)), kind, status);
  }
});

Deno.test("shownFailure() hides an upstream's text about the gateway's own credential", () => {
  for (const kind of ["authentication", "permission"] as const) {
    const shown = shownFailure({
      kind,
      status: 401,
      message: "key sk-123 is bad",
    });
    assert.equal(shown.status, 502);
    assert.equal(shown.code, "upstream_authentication");
    assert.doesNotMatch(shown.message, /sk-123/);
  }
});

Deno.test("shownFailure() hides a refusal without a subject, and does not blame the credential", () => {
  const shown = shownFailure({
    kind: "forbidden",
    status: 403,
    message: "key sk-123 is bad",
  });
  assert.equal(shown.status, 502);
  assert.equal(shown.code, "upstream_authentication");
  assert.doesNotMatch(shown.message, /sk-123|credential/);
});

Deno.test("shownFailure() does not change other failures", () => {
  const failure = { kind: "quota", status: 429, message: "m" } as const;
  assert.equal(shownFailure(failure), failure);
});

Deno.test("shownFailure() shows a code, but no sentence in its place", () => {
  const failure = { kind: "server", message: "It failed" } as const;
  for (const code of ["context_length_exceeded", "1113", "a.b:c-d"]) {
    assert.equal(shownFailure({ ...failure, code }).code, code);
  }
  for (const code of ["It failed for key sk-1", "", "a".repeat(65), "a\nb"]) {
    const shown = shownFailure({ ...failure, code });
    assert.deepEqual(shown, { ...failure, code: undefined });
  }
});

/**
 * The texts of a stream's error after which opencode 1.18.33 retries:
 * https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/retry.ts
 */
const OPENCODE_RETRIES =
  /overloaded|service.unavailable|internal.(?:server.)?error|server.error|rate.limit|\btry again (?:later|in\b)/i;

Deno.test("opencode continues after an answer that broke off, and not after one that is too long", () => {
  const faults = [
    "The model's provider broke off: it closed the connection",
    "The provider's stream ended before the answer did",
    "The provider sent an event that is not a JSON object",
  ];
  for (const fault of faults) {
    assert.match(brokenAnswer(fault).message, OPENCODE_RETRIES);
  }
  const { message } = oversizedAnswer("The provider's answer is too long");
  assert.doesNotMatch(message, OPENCODE_RETRIES);
});

Deno.test("asStreamError() keeps the word by which clients recognize a temporary fault", () => {
  const type = (value: string) => ({ protocol: "chat", value }) as const;
  const messageOf = (kind: FailureKind, message: string, word?: string) =>
    asStreamError({
      kind,
      message,
      type: word === undefined ? undefined : type(word),
    }).message;
  assert.equal(
    messageOf("server", "Something broke", "server_error"),
    "Something broke (server_error)",
  );
  assert.equal(
    messageOf("overloaded", "Busy", "overloaded_error"),
    "Busy (overloaded_error)",
  );
  assert.equal(
    messageOf("overloaded", "Overloaded", "overloaded_error"),
    "Overloaded",
  );
  assert.equal(messageOf("server", "It failed", "EngineCore"), "It failed");
  assert.equal(messageOf("server", "It failed"), "It failed");
  assert.equal(messageOf("invalid_request", "No", "server_error"), "No");
  assert.equal(
    asStreamError({ kind: "server", message: "m", code: "server_error" })
      .message,
    "m (server_error)",
  );
});
