import { CallerLeft } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { GatewayError } from "../../../src/base/error.ts";
import type { Ending } from "../../../src/gateway/observe/facts.ts";
import {
  type AnswerEnd,
  endingOf,
} from "../../../src/gateway/relay/answer_body.ts";
import type { PassThroughEnd } from "../../../src/base/streams/pass_through.ts";
import { IdleError } from "../../../src/base/streams/watched_reader.ts";
import type { Failure } from "../../../src/codecs/canonical/failure/failure.ts";
import { openTestRecord } from "../../support/gateway/open_record.ts";

const ENDS: readonly PassThroughEnd[] = [
  { kind: "complete" },
  { kind: "cancelled" },
  { kind: "broken", cause: new Error("reset") },
  { kind: "unfinished" },
  { kind: "stalled" },
];

/** Returns the ending in the record of an answer. */
function noted(
  end: PassThroughEnd,
  { answerEnd = "cut", failure, abortedWith }: {
    readonly answerEnd?: AnswerEnd;
    readonly failure?: Failure;
    readonly abortedWith?: Error;
  } = {},
): {
  readonly ending: Ending;
  readonly reason: string | undefined;
  readonly failure: string | undefined;
} {
  const { record } = openTestRecord();
  const controller = new AbortController();
  if (abortedWith !== undefined) controller.abort(abortedWith);
  const { signal } = controller;
  const ending = endingOf(end, { answerEnd, failure, record, signal });
  const { reason, failure: word } = record.facts;
  return { ending, reason, failure: word };
}

Deno.test("endingOf() calls a whole answer complete, even if a connection fails after it", () => {
  for (const end of ENDS) {
    if (end.kind === "stalled") continue;
    assert.deepEqual(noted(end, { answerEnd: "whole" }), {
      ending: "complete",
      reason: undefined,
      failure: undefined,
    });
  }
});

Deno.test("endingOf() calls an answer incomplete when the caller stops reading before its end", () => {
  const { ending, reason } = noted({ kind: "stalled" }, { answerEnd: "whole" });
  assert.equal(ending, "client_abort");
  assert.equal(reason, "the caller stopped reading");
});

Deno.test("endingOf() blames the upstream for an answer that ends with an error, even if the caller then disconnects", () => {
  for (const end of ENDS) {
    assert.deepEqual(noted(end, { answerEnd: "failed" }), {
      ending: "upstream_broken",
      reason: "its answer ended with an error",
      failure: undefined,
    });
  }
});

Deno.test("endingOf() names the failure in an answer, and blames the gateway for its own cancellations", () => {
  const end = { kind: "complete" } as const;
  const failed = (kind: Failure["kind"]) =>
    noted(end, { answerEnd: "failed", failure: { kind, message: "no" } });
  assert.deepEqual(failed("broken"), {
    ending: "upstream_broken",
    reason: "its answer ended with an error",
    failure: "broken",
  });
  assert.deepEqual(failed("oversized"), {
    ending: "error",
    reason: "its answer ended with an error",
    failure: "oversized",
  });
});

Deno.test("endingOf() names the side that ended an incomplete answer, and the reason", () => {
  const cut = "its answer ended before it was whole";
  const cases: readonly (readonly [
    PassThroughEnd,
    Ending,
    failure?: string | undefined,
    reason?: string,
  ])[] = [
    [{ kind: "complete" }, "upstream_broken", "broken", cut],
    [{ kind: "unfinished" }, "upstream_broken", "broken", cut],
    [{ kind: "cancelled" }, "client_abort"],
    [
      { kind: "stalled" },
      "client_abort",
      undefined,
      "the caller stopped reading",
    ],
    [
      { kind: "stalled", forOthers: true },
      "client_abort",
      undefined,
      "the caller stopped reading while others waited for the connection",
    ],
    [
      { kind: "broken", cause: new IdleError() },
      "upstream_broken",
      "silent",
      "the upstream fell silent",
    ],
    [
      { kind: "broken", cause: new Error("connection reset") },
      "upstream_broken",
      "broken",
      "it closed the connection",
    ],
  ];
  for (const [end, ending, failure, reason] of cases) {
    assert.deepEqual(noted(end), { ending, reason, failure }, end.kind);
  }
});

Deno.test("endingOf() names whether the caller or the gateway cut an answer, also when a translation ends it with an error", () => {
  const broken = { kind: "broken", cause: new Error("aborted") } as const;
  const left = noted(broken, { abortedWith: new CallerLeft() });
  assert.equal(left.ending, "client_abort");
  const abortedWith = new Error("shutting down");
  const failure = { kind: "overloaded", message: "shutting down" } as const;
  for (
    const stopped of [
      noted(broken, { abortedWith }),
      noted({ kind: "complete" }, {
        abortedWith,
        answerEnd: "failed",
        failure,
      }),
    ]
  ) {
    assert.deepEqual(stopped, {
      ending: "error",
      reason: "the gateway shuts down",
      failure: undefined,
    });
  }
  const removed = new GatewayError("unauthenticated", "m", {
    code: "token_removed",
  });
  assert.equal(
    noted(broken, { abortedWith: removed }).reason,
    "its token was removed",
  );
});
