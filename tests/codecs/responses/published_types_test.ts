import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { responsesWatch } from "../../../src/codecs/responses/watch.ts";
import { PINNED_FOLDERS } from "../../sdk_types/pinned.ts";
import { createTypeJudge } from "../../sdk_types/type_judge.ts";
import { steps } from "../../support/steps.ts";
import {
  isUncounted,
  refusedByFields,
  UNPUBLISHED_CODES,
} from "./published_fields.ts";
import { writtenAnswers } from "./written.ts";

// OpenAI's published types accept every answer and every event that the gateway writes. The types are those of the
// official SDK, and `published_fields.ts`.

const ANSWERS = writtenAnswers();

const SDK = createTypeJudge(
  PINNED_FOLDERS.openai,
  "resources/responses/responses.d.ts",
);

/** Type errors that do not matter on the wire. */
function isReal(problem: string): boolean {
  // The SDK adds this field when it reads an answer.
  if (problem.endsWith(".output_text: is missing")) return false;
  const code = /error\.code: "(\w+)"/.exec(problem)?.[1];
  return code === undefined || !UNPUBLISHED_CODES.has(code);
}

/** Returns an event without the usage of an answer that is not counted. */
function withoutNull(event: JsonObject): JsonObject {
  const { response } = event;
  if (!isJsonObject(response) || !isUncounted(response)) return event;
  const { usage: _usage, ...rest } = response;
  return { ...event, response: rest };
}

Deno.test("openai-node's types accept every translated answer and event", async (t) => {
  await steps(t, ANSWERS, ({ whole, events }) => {
    const problems = [
      ...(whole === undefined ? [] : SDK.problems("Response", whole)),
      ...events.map(withoutNull).flatMap((one) =>
        SDK.problems("ResponseStreamEvent", one)
      ),
    ];
    assert.deepEqual(problems.filter(isReal), []);
  });
});

Deno.test("every translated answer and event has the fields that OpenAI's schema requires", async (t) => {
  await steps(t, ANSWERS, ({ whole, events }) => {
    const bodies = whole === undefined ? events : [whole, ...events];
    assert.deepEqual(bodies.flatMap(refusedByFields), []);
  });
});

Deno.test("openai-node's types reject an answer with a missing or a wrong field", () => {
  const whole = ANSWERS[0]?.whole;
  assert.ok(whole);
  const { usage: _usage, ...rest } = whole;
  assert.deepEqual(SDK.problems("Response", rest).filter(isReal), []);
  const wrong = { ...rest, status: "done", model: 5 };
  assert.equal(SDK.problems("Response", wrong).filter(isReal).length, 2);
  const { id: _id, ...nameless } = rest;
  assert.deepEqual(SDK.problems("Response", nameless).filter(isReal), [
    "Response.id: is missing",
  ]);
});

Deno.test("an answer that has begun or failed has a null usage, so that another gateway counts no estimate", () => {
  const seen = new Set<string>();
  for (const { events } of ANSWERS) {
    for (const { type, response } of events) {
      if (!isJsonObject(response)) continue;
      const counted = responsesWatch.usageOf({ response }, undefined);
      if (response.status === "in_progress" || response.status === "failed") {
        assert.equal(response.usage, null);
        assert.equal(counted, undefined);
        seen.add(String(type));
      } else assert.ok(counted);
    }
  }
  assert.deepEqual([...seen].toSorted(), [
    "response.created",
    "response.failed",
    "response.in_progress",
  ]);
});
