import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../../src/base/json.ts";
import type { Protocol } from "../../../../src/base/protocol.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import {
  type Act,
  failureInBody,
  failureInPieces,
  good,
  longEvent,
  longJson,
  longStream,
  reset,
  silent,
  status,
  streamOf,
  successInWords,
} from "../../../support/upstream/bad_provider.ts";
import {
  type CallerResponse,
  connectionTo,
  type Mode,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import { WORDS } from "../../../support/wire/wire.ts";
import { until } from "../../../support/within.ts";

/** A fault with its expected outcome. */
interface Row {
  /** The acts of the model's provider, one per request. */
  readonly acts: readonly Act[];
  /** The callers' protocols; default: all. */
  readonly protocols?: readonly Protocol[];
  /** Only for streams, or only for JSON; default: both. */
  readonly only?: "stream" | "json";
  /** Only in this mode; default: both. */
  readonly mode?: Mode;
  /** Keys of the connection's configuration. */
  readonly connection?: Readonly<Record<string, unknown>>;
  /** The acts of a fallback's provider; absent without a fallback. */
  readonly fallback?: readonly Act[];
  /** The hosts of the requests, in order. */
  readonly asked: readonly string[];
  /** The least and the most time between requests, in milliseconds. */
  readonly gaps?: readonly (readonly [number, number])[];
  /** The caller's response. */
  readonly outcome: Ending | Readonly<Record<Mode, Ending>>;
  /** The error in the log. */
  readonly logged?: string;
  /** The longest time of the request, in milliseconds. */
  readonly withinMs?: number;
}

/** A whole answer, an answer that broke off, or an error with this status. */
type Ending = "answer" | "broken" | number;

const SILENCE = { timeouts: { first_byte: 8000, idle: 10_000 } };

const CUT = streamOf(({ start, output }) => [start, output], "break");

/** Returns an act that answers 429 with these headers. */
const limited = (headers: Record<string, string>) =>
  status(429, { type: "rate_limit_error", message: "Too fast", headers });

/** Returns an act that answers with an error page longer than any error. */
const longPage = (code: number, headers: Record<string, string> = {}) =>
  status(code, { message: "It is broken. ".repeat(32 * 1024), headers });

/** Returns an act that answers with an error whose body breaks off after its first byte. */
function brokenPage(code: number, headers: Record<string, string> = {}): Act {
  return () => {
    const parts = ["{"].values().map((text) => new TextEncoder().encode(text));
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const { value } = parts.next();
        if (value !== undefined) return controller.enqueue(value);
        controller.error(new TypeError("error reading a body from connection"));
      },
    });
    return new Response(body, { status: code, headers });
  };
}

/** The fallback answers after one attempt. */
const FALLS_BACK = {
  fallback: [good],
  asked: ["one", "two"],
  outcome: "answer",
} as const;

/** The fallback answers after two attempts. */
const RETRIED_THEN_FALLS_BACK = {
  ...FALLS_BACK,
  asked: ["one", "one", "two"],
} as const;

/** The first attempt decides, and the fallback is not asked. */
const NOT_REPEATED = { fallback: [good], asked: ["one"] } as const;

/** A body that is too long fails at once, without another attempt. */
const TOO_LONG = {
  mode: "translated",
  ...NOT_REPEATED,
  outcome: 502,
  logged: "upstream_oversized",
} as const;

/** Faults with their outcomes (tests/faults.md). */
const ROWS: Readonly<Record<string, Row>> = {
  "a 429 with Retry-After: 2 is retried once, after two seconds": {
    acts: [limited({ "retry-after": "2" }), good],
    asked: ["one", "one"],
    gaps: [[2000, 2250]],
    outcome: "answer",
  },
  "a lasting 429 goes to the fallback after a second attempt": {
    acts: [limited({})],
    ...RETRIED_THEN_FALLS_BACK,
    gaps: [[250, 550], [0, 50]],
  },
  "a lasting 429 without a fallback is an error after three attempts": {
    acts: [limited({})],
    asked: ["one", "one", "one"],
    gaps: [[250, 550], [500, 1050]],
    outcome: 429,
  },
  "a 429 with a long Retry-After goes to the fallback without a wait": {
    acts: [limited({ "retry-after": "30" })],
    ...FALLS_BACK,
    withinMs: 100,
  },
  "a single 500 is retried on the same model": {
    acts: [status(500), good],
    fallback: [good],
    asked: ["one", "one"],
    outcome: "answer",
  },
  "a lasting 503 goes to the fallback": {
    acts: [status(503)],
    ...RETRIED_THEN_FALLS_BACK,
  },
  "a reset before the headers is retried": {
    acts: [reset, good],
    asked: ["one", "one"],
    outcome: "answer",
  },
  "an unreachable provider is an error after three attempts": {
    acts: [reset],
    asked: ["one", "one", "one"],
    outcome: 502,
  },
  "a silent provider is given up at the deadline and gets no second request": {
    acts: [silent],
    connection: SILENCE,
    ...FALLS_BACK,
    gaps: [[8000, 8100]],
  },
  "a silent provider without a fallback is an error without a retry": {
    acts: [silent],
    connection: SILENCE,
    asked: ["one"],
    outcome: 504,
    withinMs: 8100,
  },
  "a late first token leads to the fallback": {
    acts: [streamOf(({ start }) => [start], "stall")],
    only: "stream",
    connection: { timeouts: { first_output: 5000 } },
    ...FALLS_BACK,
    gaps: [[5000, 5100]],
  },
  "the deadline for the first output includes the wait for the headers": {
    acts: [silent],
    only: "stream",
    connection: { timeouts: { first_output: 5000 } },
    ...FALLS_BACK,
    gaps: [[5000, 5100]],
  },
  "a JSON answer has no deadline for its first output": {
    acts: [silent],
    only: "json",
    connection: { timeouts: { ...SILENCE.timeouts, first_output: 5000 } },
    ...FALLS_BACK,
    gaps: [[8000, 8100]],
  },
  "a late first token without a fallback is an error": {
    acts: [streamOf(({ start }) => [start], "stall")],
    only: "stream",
    connection: { timeouts: { first_output: 20_000 } },
    asked: ["one"],
    outcome: 504,
    withinMs: 20_100,
  },
  "a stream that is cut after output breaks and is not repeated": {
    acts: [CUT],
    only: "stream",
    ...NOT_REPEATED,
    outcome: "broken",
  },
  "a stream that stalls after output breaks at the idle deadline": {
    acts: [streamOf(({ start, output }) => [start, output], "stall")],
    only: "stream",
    connection: SILENCE,
    ...NOT_REPEATED,
    outcome: "broken",
    withinMs: 10_200,
  },
  "a stream that stalls before output goes to the fallback": {
    acts: [streamOf(({ start }) => [start], "stall")],
    only: "stream",
    connection: { timeouts: { idle: 10_000 } },
    ...FALLS_BACK,
    gaps: [[10_000, 10_100]],
  },
  "a malformed event after output is an error only in a translated answer": {
    acts: [
      streamOf(
        ({ start, output, end }) => [start + output, "data: {oops\n\n" + end],
        "end",
      ),
    ],
    only: "stream",
    ...NOT_REPEATED,
    outcome: { native: "answer", translated: "broken" },
  },
  "a conversation that is too long goes straight to the fallback": {
    acts: [
      status(400, {
        type: "invalid_request_error",
        message: "prompt is too long: 250000 tokens > 200000 maximum",
        errorCode: "context_length_exceeded",
      }),
    ],
    ...FALLS_BACK,
  },
  "a conversation that is too long is an error without another deployment": {
    acts: [
      status(400, {
        type: "invalid_request_error",
        message: "prompt is too long: 250000 tokens > 200000 maximum",
        errorCode: "context_length_exceeded",
      }),
    ],
    asked: ["one"],
    outcome: 400,
  },
  "a content filter's refusal is an error without failover": {
    acts: [
      status(400, {
        type: "invalid_request_error",
        message: "Blocked by the content policy",
        errorCode: "content_filter",
      }),
    ],
    ...NOT_REPEATED,
    outcome: 400,
  },
  "a fallback's answer is never appended to a stream that was cut after output":
    {
      acts: [CUT],
      only: "stream",
      fallback: [status(400, { type: "invalid_request_error" })],
      asked: ["one"],
      outcome: "broken",
    },
  "a fallback's refusal does not replace the first failure as the error": {
    acts: [status(503)],
    fallback: [status(400, { type: "invalid_request_error" })],
    asked: ["one", "one", "two"],
    outcome: 503,
  },
  "an error event before any output goes to the fallback": {
    acts: [streamOf(({ start, failure }) => [start, failure], "end")],
    only: "stream",
    ...RETRIED_THEN_FALLS_BACK,
  },
  "an error event after output is passed on and not repeated": {
    acts: [
      streamOf(
        ({ start, output, failure }) => [start + output, failure],
        "end",
      ),
    ],
    only: "stream",
    ...NOT_REPEATED,
    outcome: "broken",
  },
  "an error in place of a JSON answer goes to the fallback": {
    acts: [failureInBody],
    only: "json",
    ...RETRIED_THEN_FALLS_BACK,
  },
  "an answer whose error fields report a success is passed on as an answer": {
    acts: [successInWords],
    ...NOT_REPEATED,
    outcome: "answer",
  },
  "an error in place of a JSON answer without a length goes to the fallback": {
    acts: [failureInPieces],
    only: "json",
    ...RETRIED_THEN_FALLS_BACK,
  },
  "a stream that ends before any output goes to the fallback": {
    acts: [streamOf(({ start }) => [start], "end")],
    only: "stream",
    ...RETRIED_THEN_FALLS_BACK,
  },
  "a stream that breaks before any output is retried": {
    acts: [streamOf(({ start }) => [start], "break"), good],
    only: "stream",
    fallback: [good],
    asked: ["one", "one"],
    outcome: "answer",
  },
  "a 401 is a refused key, whatever its body says": {
    acts: [status(401, { type: "x", message: "insufficient_quota" })],
    asked: ["one"],
    outcome: 502,
    logged: "upstream_authentication",
  },
  "a refused credential of the gateway is not retried but leads to the fallback":
    {
      acts: [status(401, { type: "authentication_error" })],
      ...FALLS_BACK,
    },
  "an invalid credential of the gateway is the gateway's error": {
    acts: [status(403, { type: "permission_error" })],
    asked: ["one"],
    outcome: 502,
    logged: "upstream_authentication",
  },
  "JSON that is too long to translate is an error without a retry": {
    ...TOO_LONG,
    acts: [longJson],
    only: "json",
  },
  "a stream that is too long for one JSON answer is an error without a retry": {
    ...TOO_LONG,
    acts: [longStream],
    // 64 MiB each. The next row tests callers of other protocols.
    protocols: ["messages"],
    only: "json",
    connection: { stream_only: true },
  },
  "an event that is too long for a JSON answer is an error without a retry": {
    ...TOO_LONG,
    acts: [longEvent],
    only: "json",
    connection: { stream_only: true },
  },
  "an event that is too long before any output is an error without a retry": {
    ...TOO_LONG,
    acts: [longEvent],
    only: "stream",
  },
  "an error page that is too long is retried if its status allows it": {
    acts: [longPage(500), good],
    fallback: [good],
    asked: ["one", "one"],
    outcome: "answer",
  },
  "an error page that is too long keeps its status": {
    acts: [longPage(503)],
    asked: ["one", "one", "one"],
    outcome: 503,
    logged: "overloaded",
  },
  "an error page that is too long is retried after the wait in its headers": {
    acts: [longPage(429, { "retry-after": "2" }), good],
    asked: ["one", "one"],
    gaps: [[2000, 2250]],
    outcome: "answer",
  },
  "an error page that is too long fails at once if its status is a refusal": {
    acts: [longPage(400)],
    ...NOT_REPEATED,
    outcome: 400,
    logged: "invalid_request",
  },
  "an error page that is too long leads to the fallback if its status is a refused credential":
    {
      acts: [longPage(401)],
      ...FALLS_BACK,
    },
  "an error whose body breaks off fails at once if its status is a refusal": {
    acts: [brokenPage(400)],
    ...NOT_REPEATED,
    outcome: 400,
    logged: "invalid_request",
  },
  "an error whose body breaks off is retried after the wait in its headers": {
    acts: [brokenPage(429, { "retry-after": "2" }), good],
    asked: ["one", "one"],
    gaps: [[2000, 2250]],
    outcome: "answer",
  },
  "an error whose body breaks off is retried if its status allows it": {
    acts: [brokenPage(500), good],
    asked: ["one", "one"],
    outcome: "answer",
  },
};

const OTHER_REFUSALS = [400, 404, 409, 413, 422, 501];

for (const code of OTHER_REFUSALS) {
  const type = "invalid_request_error";
  Deno.test(`a ${code} fails at once without a retry`, async (t) => {
    await play(t, {
      acts: [status(code, { type })],
      fallback: [good],
      asked: ["one"],
      outcome: code,
    });
  });
}

for (const code of [408, 500, 502, 503, 504, 520, 529]) {
  Deno.test(`a ${code} is retried`, async (t) => {
    await play(t, {
      acts: [status(code), good],
      asked: ["one", "one"],
      outcome: "answer",
    });
  });
}

for (const [name, row] of Object.entries(ROWS)) {
  Deno.test(name, (t) => play(t, row));
}

Deno.test("a 429 is retried after its Retry-After, with any message, natively and translated", async () => {
  const acts = [
    status(429, {
      type: "rate_limit_error",
      message: "Too fast. Please try again in 1s.",
      headers: { "retry-after": "2" },
    }),
    good,
  ];
  const connection = {
    family: "C",
    endpoints: { responses: "http://one/v1" },
  };
  // Responses requests pass natively there; Chat Completions requests are translated.
  for (const protocol of ["responses", "chat"] as const) {
    const way = { protocol, mode: "native" } as const;
    const scene = await openScene([connectionTo("one", way, connection)], {
      one: acts,
    });
    assert.equal((await scene.ask(protocol)).status, 200);
    const [first, second] = scene.providers.asked;
    assert.ok(first && second);
    const gap = second.atMs - first.atMs;
    assert.ok(gap >= 2000 && gap <= 2250, `${protocol}: ${gap} ms`);
  }
});

/** Runs a row in every protocol, natively and translated, as a stream and as JSON. */
async function play(t: Deno.TestContext, row: Row): Promise<void> {
  for (const protocol of row.protocols ?? PROTOCOLS) {
    for (const mode of ["native", "translated"] as const) {
      if (row.mode !== undefined && row.mode !== mode) continue;
      for (const kind of ["stream", "json"] as const) {
        if (row.only !== undefined && row.only !== kind) continue;
        const way = { protocol, mode, stream: kind === "stream" };
        await t.step(`${protocol} ${mode} ${kind}`, () => check(row, way));
      }
    }
  }
}

async function check(row: Row, way: {
  readonly protocol: Protocol;
  readonly mode: Mode;
  readonly stream: boolean;
}): Promise<void> {
  const { protocol, mode, stream } = way;
  const fallbacks = row.fallback === undefined ? [] : ["model-2"];
  const scene = await openScene(
    [
      connectionTo("one", way, {
        models: [{ id: "model-1", fallbacks }],
        ...row.connection,
      }),
      connectionTo("two", way, { models: ["model-2"] }),
    ],
    { one: row.acts, two: row.fallback ?? [] },
  );
  const received = await scene.ask(protocol, { stream });
  const { asked } = scene.providers;
  assert.deepEqual(scene.providers.hosts(), row.asked);
  row.gaps?.forEach(([least, most], index) => {
    const gap = (asked[index + 1]?.atMs ?? 0) - (asked[index]?.atMs ?? 0);
    assert.ok(gap >= least && gap <= most, `gap ${index} is ${gap} ms`);
  });
  if (row.withinMs !== undefined) {
    assert.ok(received.atMs <= row.withinMs, `took ${received.atMs} ms`);
  }
  const ending = typeof row.outcome === "object"
    ? row.outcome[mode]
    : row.outcome;
  checkOutcome(received, ending, way);
  checkRecord(received, row.asked);
  if (row.logged !== undefined) assert.equal(received.line.error, row.logged);
  const isFinal = row.logged === TOO_LONG.logged ||
    row.logged === "upstream_authentication";
  assert.equal(
    received.headers.get("x-should-retry"),
    isFinal ? "false" : null,
  );
  const servedByFallback = ending === "answer" && row.asked.at(-1) === "two";
  assert.equal(
    received.headers.get("x-gateway-model"),
    servedByFallback ? "model-2" : null,
  );
  assert.equal(scene.gateway.admission.active, 0);
  // The rest of an event that was too long may still arrive.
  await until(() => scene.timers.running === 0, "every timer to end");
  for (const { signal } of asked.slice(0, -1)) {
    assert.ok(signal.aborted, "an attempt that was given up is still open");
  }
}

/** The mark of a complete stream in each protocol. */
const END_REGEXPS: Readonly<Record<Protocol, RegExp>> = {
  chat: /data: \[DONE\]/,
  messages: /"type":"message_stop"/,
  responses: /"type":"response\.completed"/,
};

function checkOutcome(
  received: CallerResponse,
  ending: Ending,
  { protocol, mode, stream }: {
    readonly protocol: Protocol;
    readonly mode: Mode;
    readonly stream: boolean;
  },
): void {
  const isWhole = END_REGEXPS[protocol].test(received.text);
  if (ending === "answer") {
    assert.equal(received.status, 200, received.text);
    assert.equal(
      received.text.split(WORDS).length - 1 > 0,
      true,
      received.text,
    );
    assert.ok(!received.broken);
    if (stream) assert.ok(isWhole, received.text);
    assert.ok(isJsonObject(received.line.usage), "no usage in the log");
    return;
  }
  assert.ok(!isWhole, "it looks like a success");
  if (ending === "broken") {
    assert.equal(received.status, 200);
    assert.ok(received.text.includes(WORDS));
    const hasError = /error|response\.failed/.test(received.text);
    assert.ok(received.broken || hasError, "the failure is missing");
    if (mode === "translated") {
      assert.ok(hasError && !received.broken, received.text);
    }
    // Natively, `response.failed` is a normal end, which the caller reads.
    const isOwnEnd = /response\.failed/.test(received.text) &&
      mode === "native";
    assert.equal(
      received.line.ended,
      isOwnEnd ? "complete" : "upstream_broken",
    );
    return;
  }
  assert.equal(received.status, ending, received.text);
  const body: JsonObject = JSON.parse(received.text);
  assert.ok(isJsonObject(body.error), received.text);
  assert.equal(body.type, protocol === "messages" ? "error" : undefined);
}

function checkRecord({ line }: CallerResponse, asked: readonly string[]): void {
  const attempts = Array.isArray(line.attempts) ? line.attempts : [];
  const hosts = attempts.filter(isJsonObject).map((one) => one.connection);
  assert.deepEqual(hosts, asked.length < 2 ? [] : asked);
  assert.equal(line.connection, asked.at(-1));
}
