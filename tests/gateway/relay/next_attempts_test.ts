import assert from "node:assert/strict";
import type {
  AttemptFailure,
  AttemptFailureKind,
} from "../../../src/gateway/relay/attempt_failure.ts";
import {
  type FailedAttempt,
  nextAttempts,
} from "../../../src/gateway/relay/next_attempts.ts";
import {
  type Candidate,
  type Candidates,
  findCandidates,
} from "../../../src/gateway/relay/routing/candidate.ts";
import { connectionFile, minimalConfig } from "../../support/gateway/config.ts";

/** Returns the candidates of a pool of `one` and `two`, with a fallback at `three`. */
async function candidatesOf(fallbacks: readonly string[]): Promise<Candidates> {
  const models = [{ id: "model-1", fallbacks }];
  const config = await minimalConfig({
    connections: [
      connectionFile({ name: "one", models }),
      connectionFile({ name: "two", models }),
      connectionFile({ name: "three", models: ["model-2"] }),
    ],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  const asked = { operation: "chat_completions", model: "model-1" } as const;
  return findCandidates(asked, { caller, config });
}

function failed(
  candidate: Candidate | undefined,
  kind: AttemptFailureKind,
  rest: Partial<AttemptFailure> = {},
): FailedAttempt {
  assert.ok(candidate);
  const failure = { kind, status: undefined, retryAfterMs: undefined, ...rest };
  return { candidate, failure, wasProbe: false, thrown: undefined };
}

/** Returns the names of the connections, with the pause before a repeated attempt. */
function attemptsOf(
  candidates: Candidates,
  attempts: readonly FailedAttempt[],
): readonly string[] {
  const failed = { failed: attempts, counted: attempts };
  return nextAttempts(candidates, failed, () => 0).map((
    { candidate, isRepeat, waitMs },
  ) =>
    candidate.deployment.connection.name +
    (isRepeat ? ` again after ${waitMs}` : "")
  );
}

Deno.test("nextAttempts() returns the pool and then the fallbacks", async () => {
  const candidates = await candidatesOf(["model-2"]);
  assert.deepEqual(attemptsOf(candidates, []), ["one", "two", "three"]);
});

Deno.test("nextAttempts() returns another connection, then the same one after a pause, then a fallback", async () => {
  const candidates = await candidatesOf(["model-2"]);
  const attempts = [failed(candidates.own[0], "server")];
  assert.deepEqual(attemptsOf(candidates, attempts), [
    "two",
    "one again after 250",
    "three",
  ]);
});

Deno.test("nextAttempts() leaves out only connections whose translation would reject the request too", async () => {
  const model = { id: "model-1" };
  const endpoints = { messages: "http://127.0.0.1:9/v1" };
  const others = {
    "its name": [{}, []],
    "its strictness": [{ strict: true }, ["two"]],
    "its omitted fields": [{ omit: ["stop_sequences"] }, ["two"]],
    "its model's omitted fields": [
      { models: [{ ...model, omit: ["stop_sequences"] }] },
      ["two"],
    ],
  } as const;
  for (const [difference, [overrides, expected]] of Object.entries(others)) {
    const shared = { family: "B", endpoints, models: [model] };
    const config = await minimalConfig({
      connections: [
        connectionFile({ ...shared, name: "one" }),
        connectionFile({ ...shared, name: "two", ...overrides }),
      ],
    });
    const [caller] = config.callers.values();
    assert.ok(caller);
    const asked = { operation: "chat_completions", model: "model-1" } as const;
    const candidates = findCandidates(asked, { caller, config });
    const refused = failed(candidates.own[0], "untranslatable");
    assert.deepEqual(attemptsOf(candidates, [refused]), expected, difference);
  }
});

Deno.test("nextAttempts() keeps the last attempt for a fallback", async () => {
  const candidates = await candidatesOf(["model-2"]);
  const attempts = [
    failed(candidates.own[0], "server"),
    failed(candidates.own[1], "server"),
  ];
  assert.deepEqual(attemptsOf(candidates, attempts), [
    "three",
    "two again after 500",
  ]);
});

Deno.test("nextAttempts() waits out a Retry-After of up to 5 s, and skips the connection for a longer one", async () => {
  const candidates = await candidatesOf([]);
  const limited = (retryAfterMs: number) => [
    failed(candidates.own[0], "rate_limited", { retryAfterMs }),
  ];
  assert.deepEqual(attemptsOf(candidates, limited(5000)), [
    "one again after 5000",
    "two",
  ]);
  assert.deepEqual(attemptsOf(candidates, limited(5001)), ["two"]);
});

Deno.test("nextAttempts() first returns the candidate whose kept connection was lost, without a pause", async () => {
  const candidates = await candidatesOf(["model-2"]);
  const lost = failed(candidates.own[0], "unreachable", { wasLost: true });
  assert.deepEqual(attemptsOf(candidates, [lost]), ["one", "two", "three"]);
  const silent = failed(candidates.own[0], "silent");
  assert.deepEqual(attemptsOf(candidates, [lost, silent]), ["three", "two"]);
});

Deno.test("nextAttempts() repeats a silent candidate only after a lost kept connection, and last of all", async () => {
  const candidates = await candidatesOf(["model-2"]);
  const [one] = candidates.own;
  const lost = failed(one, "silent", { wasLost: true });
  assert.deepEqual(attemptsOf(candidates, [lost]), ["two", "three", "one"]);
  assert.deepEqual(attemptsOf(candidates, [failed(one, "silent")]), [
    "two",
    "three",
  ]);
  const bounded = { ...lost, hadOutputDeadline: true };
  assert.deepEqual(attemptsOf(candidates, [bounded]), ["two", "three"]);
  const alone = { own: [one], fallbacks: [] } as const;
  assert.deepEqual(attemptsOf(alone, [lost]), ["one"]);
  assert.deepEqual(attemptsOf(alone, [lost, failed(one, "silent")]), []);
  const behind = candidates.fallbacks[0];
  const lostBehind = failed(behind, "silent", { wasLost: true });
  assert.deepEqual(attemptsOf(candidates, [lostBehind]), ["three"]);
});

Deno.test("nextAttempts() returns a silent candidate first after a failed dial to another, and never after a second silence", async () => {
  const candidates = await candidatesOf([]);
  const [one, two] = candidates.own;
  const lost = failed(one, "silent", { wasLost: true });
  const after = (kind: AttemptFailureKind, rest = {}) =>
    attemptsOf(candidates, [lost, failed(two, kind, rest)]);
  assert.deepEqual(after("unreachable"), ["one", "two again after 500"]);
  assert.deepEqual(after("unreachable", { wasConnected: true }), [
    "two again after 500",
    "one",
  ]);
  assert.deepEqual(after("authentication"), ["one"]);
  assert.deepEqual(after("silent"), []);
  assert.deepEqual(after("invalid_request"), []);
  const { fallbacks: [three] } = await candidatesOf(["model-2"]);
  const refused = failed(three, "unreachable");
  assert.deepEqual(attemptsOf(candidates, [lost, refused]), [
    "one",
    "three again after 500",
  ]);
});

Deno.test("nextAttempts() returns the other keys of a silent provider after the fallbacks", async () => {
  const models = [{ id: "model-1", fallbacks: ["model-2"] }];
  const config = await minimalConfig({
    connections: [
      {
        ...connectionFile({ name: "one", models }),
        auth: { scheme: "bearer", keys: [{ key: "sk-1" }, { key: "sk-2" }] },
      },
      connectionFile({ name: "three", models: ["model-2"] }),
    ],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  const asked = { operation: "chat_completions", model: "model-1" } as const;
  const candidates = findCandidates(asked, { caller, config });
  const [first] = candidates.own;
  assert.deepEqual(attemptsOf(candidates, [failed(first, "silent")]), [
    "three",
    "one#2",
  ]);
  assert.deepEqual(attemptsOf(candidates, [failed(first, "rate_limited")]), [
    "one#2",
    "one#1 again after 250",
    "three",
  ]);
});

Deno.test("nextAttempts() returns a candidate last if its answer broke off after a long silence", async () => {
  const candidates = await candidatesOf(["model-2"]);
  const [one] = candidates.own;
  for (const wasLost of [true, false]) {
    const ended = (silentMs: number) =>
      failed(one, "unreachable", { wasLost, wasConnected: true, silentMs });
    assert.deepEqual(attemptsOf(candidates, [ended(5001)]), [
      "two",
      "three",
      "one again after 250",
    ]);
    assert.deepEqual(
      attemptsOf(candidates, [ended(5000)]),
      wasLost
        ? ["one", "two", "three"]
        : ["two", "one again after 250", "three"],
    );
  }
});

Deno.test("nextAttempts() prefers an untried connection to the wait for a second Retry-After", async () => {
  const candidates = await candidatesOf([]);
  const limited = failed(candidates.own[0], "rate_limited", {
    retryAfterMs: 1000,
  });
  assert.deepEqual(attemptsOf(candidates, [limited, limited]), [
    "two",
    "one again after 1000",
  ]);
});

Deno.test("nextAttempts() never repeats a failed probe", async () => {
  const candidates = await candidatesOf([]);
  const probe = { ...failed(candidates.own[0], "server"), wasProbe: true };
  assert.deepEqual(attemptsOf(candidates, [probe]), ["two"]);
});

Deno.test("nextAttempts() returns only other models when the conversation is too long", async () => {
  const candidates = await candidatesOf(["model-2"]);
  assert.deepEqual(
    attemptsOf(candidates, [failed(candidates.own[0], "context_too_long")]),
    ["three"],
  );
});

Deno.test("nextAttempts() returns nothing after three attempts, a provider's refusal or an answer that is too long", async () => {
  const candidates = await candidatesOf(["model-2"]);
  const trouble = failed(candidates.own[0], "server");
  assert.deepEqual(attemptsOf(candidates, [trouble, trouble, trouble]), []);
  for (const kind of ["invalid_request", "oversized"] as const) {
    assert.deepEqual(
      attemptsOf(candidates, [failed(candidates.own[0], kind)]),
      [],
    );
  }
});

Deno.test("nextAttempts() omits only the candidate whose translation refused the request", async () => {
  const candidates = await candidatesOf(["model-2"]);
  const [one, two] = candidates.own;
  const refused = failed(two, "untranslatable");
  assert.deepEqual(attemptsOf(candidates, [refused]), ["one", "three"]);
  assert.deepEqual(attemptsOf(candidates, [failed(one, "server"), refused]), [
    "one again after 250",
    "three",
  ]);
});
