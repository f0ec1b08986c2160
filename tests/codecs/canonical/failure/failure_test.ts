import assert from "node:assert/strict";
import {
  asStreamError,
  brokenAnswer,
  type Failure,
  type FailureKind,
  kindOfStatus,
  oversizedAnswer,
  shownFailure,
  UpstreamFailure,
} from "../../../../src/codecs/canonical/failure/failure.ts";
import { isJsonObject, type JsonValue } from "../../../../src/base/json.ts";
import { runStage } from "../../../../src/base/stage.ts";
import {
  OVERFLOW_ROWS,
  saysOverflow,
} from "../../../../src/codecs/canonical/failure/context_overflow.ts";
import { readErrorWords } from "../../../../src/codecs/canonical/failure/error_words.ts";
import { isProtocol } from "../../../../src/base/protocol.ts";
import { testNeeding } from "../../../support/ignored.ts";
import { loadRecordings } from "../../../support/recorded/recordings.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { counterIds } from "../../../contract/codec_contract.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import {
  NO_OVERFLOWS,
  OVERFLOWS,
} from "../../../support/dialects/provider_errors.ts";
import { kindOfWords } from "../../../../src/codecs/canonical/failure/failure_kind.ts";
import { attemptFailureOf } from "../../../../src/gateway/relay/attempt_failure.ts";

Deno.test("kindOfStatus() returns the kind of a status without a body", () => {
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

Deno.test("shownFailure() hides an unexplained refusal, and does not blame the credential", () => {
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

Deno.test("shownFailure() shows an error code, but removes a sentence in the field of the code", () => {
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

Deno.test("opencode retries a broken answer, but not one that is too long", () => {
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

Deno.test("asStreamError() keeps the word by which clients recognize a temporary failure", () => {
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

for (const { provider, status, body } of OVERFLOWS) {
  Deno.test(`a prompt that is too long is recognized in the words of ${provider}`, async (t) => {
    for (const protocol of PROTOCOLS) {
      await t.step(`${protocol}, with the provider's status`, () => {
        const failure = CODECS[protocol].decodeFailure(status, body);
        assert.equal(failure.kind, "context_too_long");
        assert.equal(failure.status, status);
      });
      await t.step(`${protocol}, with status 200`, () => {
        const failure = CODECS[protocol].decodeFailure(200, body);
        assert.equal(failure.kind, "context_too_long");
      });
      await t.step(`${protocol}, as an event of a stream`, () => {
        const failure = failureInStream(protocol, asEvent(body));
        assert.equal(failure?.kind, "context_too_long");
      });
      await t.step(`${protocol}, but not with status 401`, () => {
        const failure = CODECS[protocol].decodeFailure(401, body);
        assert.equal(failure.kind, "authentication");
      });
    }
  });
}

for (const { provider, kind, status, body } of NO_OVERFLOWS) {
  Deno.test(`decodeFailure() does not mistake an error for a prompt that is too long: ${provider}`, () => {
    for (const protocol of PROTOCOLS) {
      const failure = CODECS[protocol].decodeFailure(status, body);
      assert.equal(failure.kind, kind, protocol);
      const inside = CODECS[protocol].decodeFailure(200, body);
      assert.notEqual(inside.kind, "context_too_long", protocol);
    }
  });
}

Deno.test("every row of OVERFLOW_ROWS matches an error of its provider", () => {
  const words = OVERFLOWS.map(({ body }) => readErrorWords(body));
  for (const { source, words: pattern, codes } of OVERFLOW_ROWS) {
    const isSaid = words.some(({ message = "" }) => pattern?.test(message));
    assert.ok(isSaid || codes.length > 0, source);
    assert.match(source, /^https:\/\//);
    for (const code of codes) {
      assert.ok(saysOverflow({ code: code.toUpperCase() }), code);
      assert.ok(saysOverflow({ type: code }), code);
    }
  }
});

Deno.test("saysOverflow() matches only whole codes", () => {
  assert.ok(!saysOverflow({ code: "12610" }));
  assert.ok(!saysOverflow({ code: "no_context_length_exceeded" }));
  assert.ok(!saysOverflow({ code: "constructor" }));
});

/** Puts an error that is not an object, such as a list, into the protocol's `error`. */
function asEvent(body: JsonValue): string {
  return JSON.stringify(isJsonObject(body) ? body : { error: body });
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

/** Errors inside a successful response, and their kinds. */
const INSIDE: readonly (readonly [body: JsonValue, kind: FailureKind])[] = [
  [openAi("invalid_request_error", "unsupported_parameter"), "invalid_request"],
  [openAi("invalid_request_error", null), "invalid_request"],
  [
    openAi("invalid_request_error", "context_length_exceeded"),
    "context_too_long",
  ],
  [openAi("insufficient_quota", "insufficient_quota"), "quota"],
  [openAi("tokens", "rate_limit_exceeded"), "rate_limited"],
  [openAi("server_error", null), "server"],
  [openAi("x", "content_filter"), "filtered"],
  [openAi("overloaded_error", null), "overloaded"],
  [openAi("exceeded_current_quota_error", null), "quota"],
  [openAi("engine_overloaded_error", null), "overloaded"],
  [{ error: { code: "1302", message: "m" } }, "rate_limited"],
  [{ error: { code: "1113", message: "m" } }, "quota"],
  [{ error: { code: "1301", message: "m" } }, "filtered"],
  [{ error: { code: "1210", message: "m" } }, "invalid_request"],
  [{ error: { message: "m", status: "RESOURCE_EXHAUSTED" } }, "rate_limited"],
  [{ error: { message: "m", status: "UNAVAILABLE" } }, "overloaded"],
  [minimax(1008), "quota"],
  [minimax(1002), "rate_limited"],
  [minimax(1039), "rate_limited"],
  [minimax(1027), "filtered"],
  [minimax(2013), "invalid_request"],
  [minimax(1000), "server"],
  [{ error: { message: "m", code: 429 } }, "rate_limited"],
  [
    { error: { message: "m", status_code: 400, code: "tool_use_failed" } },
    "invalid_request",
  ],
  [{ error: { message: "m" } }, "server"],
];

function openAi(type: string, code: string | null): JsonValue {
  return { error: { message: "words", type, param: null, code } };
}

function minimax(status_code: number): JsonValue {
  return { choices: null, base_resp: { status_code, status_msg: "words" } };
}

Deno.test("an error inside an answer gets the kind of its code and type, in every protocol", async (t) => {
  for (const [body, kind] of INSIDE) {
    await t.step(JSON.stringify(body), () => {
      for (const protocol of PROTOCOLS) {
        const failure = CODECS[protocol].decodeFailure(200, body);
        assert.equal(failure.kind, kind, protocol);
      }
    });
  }
});

Deno.test("an answer with an error that blames the request is not retried", () => {
  const kinds = ["invalid_request", "filtered", "context_too_long"];
  for (const [body, kind] of INSIDE) {
    if (!kinds.includes(kind)) continue;
    for (const protocol of PROTOCOLS) {
      const failure = CODECS[protocol].decodeFailure(200, body);
      const failed = attemptFailureOf(new UpstreamFailure(failure))?.kind;
      assert.equal(failed, kind);
      const { status } = CODECS[protocol].encodeFailure(failure, "req_1");
      assert.equal(status, 400);
    }
  }
});

const RECORDED = loadRecordings("errors").flatMap(({ name, answer }) => {
  const [, protocol = "", status] = /^(\w+)-http(\d+)/.exec(name) ?? [];
  return isProtocol(protocol)
    ? [{ name, protocol, status: Number(status), answer }]
    : [];
});

/** The recorded errors whose kind comes from their words, not from their status. */
const SAID: readonly (readonly [start: string, kind: FailureKind])[] = [
  ["chat-http400-perplexity-", "context_too_long"],
  ["chat-http403-openrouter-", "filtered"],
  ["responses-http400-xai-", "authentication"],
];

testNeeding(
  "every recorded error keeps its message, and gets a kind from the words or the status",
  RECORDED.length === 0 && "there are no recordings here",
  () => {
    for (const { name, protocol, status, answer } of RECORDED) {
      const failure = CODECS[protocol].decodeFailure(status, answer);
      const said = SAID.find(([start]) => name.startsWith(start));
      assert.equal(failure.status, status, name);
      assert.equal(failure.kind, said?.[1] ?? kindOfStatus(status), name);
      assert.doesNotMatch(failure.message, /answered with status/, name);
    }
  },
);

Deno.test("kindOfWords() treats the names of inherited object properties as unknown words", () => {
  assert.equal(
    kindOfWords({ type: "constructor", code: "toString" }),
    "server",
  );
});
