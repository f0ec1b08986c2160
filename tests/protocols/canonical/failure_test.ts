import assert from "node:assert/strict";
import {
  type FailureKind,
  kindOfStatus,
  shownFailure,
} from "../../../src/protocols/canonical/failure.ts";

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

Deno.test("shownFailure() hides what an upstream says of the gateway's own credential", () => {
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

Deno.test("shownFailure() hides a refusal that does not say what it is about, and does not blame the credential", () => {
  const shown = shownFailure({
    kind: "forbidden",
    status: 403,
    message: "key sk-123 is bad",
  });
  assert.equal(shown.status, 502);
  assert.equal(shown.code, "upstream_authentication");
  assert.doesNotMatch(shown.message, /sk-123|credential/);
});

Deno.test("shownFailure() leaves other failures alone", () => {
  const failure = { kind: "quota", status: 429, message: "m" } as const;
  assert.equal(shownFailure(failure), failure);
});

Deno.test("shownFailure() shows a code that is one, and no sentence in its place", () => {
  const failure = { kind: "server", message: "It failed" } as const;
  for (const code of ["context_length_exceeded", "1113", "a.b:c-d"]) {
    assert.equal(shownFailure({ ...failure, code }).code, code);
  }
  for (const code of ["It failed for key sk-1", "", "a".repeat(65), "a\nb"]) {
    const shown = shownFailure({ ...failure, code });
    assert.deepEqual(shown, { ...failure, code: undefined });
  }
});
