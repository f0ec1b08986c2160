import assert from "node:assert/strict";
import type { RequestFacts } from "../../../src/gateway/observe/facts.ts";
import type { Counting } from "../../../src/gateway/usage/counting.ts";
import type {
  AdmittedUse,
  CallDeployments,
} from "../../../src/gateway/usage/limiter.ts";
import type { Change } from "../../../src/gateway/usage/sums.ts";
import { openTally } from "../../../src/gateway/usage/tally.ts";
import { minimalConfig } from "../../support/gateway/config.ts";
import { openTestRecord } from "../../support/gateway/open_record.ts";

type Use = Parameters<Counting["count"]>[0];

const HOLD = { key: "alice", id: "req_1", amount: 1 };

/** Opens a tally whose limiter returns `admitted`. */
async function begin(
  admitted: AdmittedUse | Promise<AdmittedUse> = { holds: [HOLD], states: [] },
) {
  const config = await minimalConfig();
  const [caller] = config.callers.values();
  const [deployment] = config.pools.get("model-a") ?? [];
  assert.ok(caller && deployment);
  const deployments: CallDeployments = [deployment];
  const { record, holds, log, end } = openTestRecord();
  const changes: Change[] = [];
  const uses: Use[] = [];
  const tally = openTally({ record, caller, estimatedTokens: 10 }, {
    sums: { apply: (change) => void changes.push(change) },
    counting: { count: (use) => void uses.push(use) },
    limiter: { enter: () => admitted, learn: () => {} },
    current: (one) => one,
    now: () => 0,
  });
  holds.tally = tally;
  const attempt: RequestFacts["attempts"][number] = {
    connection: deployment.connection.name,
    model: deployment.model.id,
    startedMs: 0,
  };
  return { record, log, end, tally, deployments, changes, uses, attempt };
}

Deno.test("Tally.enter() releases its reservation if the request ends meanwhile", async () => {
  const admitted = Promise.withResolvers<AdmittedUse>();
  const { end, tally, deployments, changes, uses } = await begin(
    admitted.promise,
  );
  const entered = tally.enter(deployments);
  end("client_abort");
  admitted.resolve({ holds: [HOLD], states: [] });
  assert.equal(await entered, undefined);
  assert.deepEqual(changes, [{ additions: [], releases: [HOLD] }]);
  assert.deepEqual(uses, []);
});

Deno.test("Tally.withdraw() counts a request for the connection of the previous attempt", async () => {
  const { record, end, tally, deployments, changes, uses, attempt } =
    await begin();
  tally.enter(deployments);
  record.facts.attempts.push(attempt);
  const [{ connection, model }] = deployments;
  tally.enter([{ connection: { ...connection, name: "other" }, model }]);
  tally.withdraw();
  end("client_abort");
  assert.deepEqual(uses.map((use) => use.connection), [connection.name]);
  const released = { additions: [], releases: [HOLD] };
  assert.deepEqual(changes, [released, released]);
});

Deno.test("a tally counts a request only if some attempt could be translated and sent", async () => {
  const cases = [
    [0, 0, "untranslatable"],
    [1, 1, "untranslatable"],
    [0, 0, "gateway_shortage"],
  ] as const;
  for (const [sent, counted, why] of cases) {
    const { record, end, tally, deployments, changes, uses, attempt } =
      await begin();
    tally.enter(deployments);
    const unsent = { ...attempt, failed: { why, status: undefined, atMs: 0 } };
    const before = Array<typeof attempt>(sent).fill(attempt);
    record.facts.attempts.push(...before, unsent, unsent);
    record.facts.failure = why;
    record.facts.status = 400;
    end("error");
    const expected = Array(counted).fill({ requests: 1 });
    assert.deepEqual(uses.map(({ counts }) => counts), expected);
    assert.equal(changes.length, 1 - counted);
  }
});

Deno.test("a tally estimates a broken answer by its text, but never below its reported counts", async () => {
  for (const [outputCharacters, output] of [[4, 50], [400, 100]] as const) {
    const { record, end, tally, deployments, uses, attempt } = await begin();
    tally.enter(deployments);
    record.facts.attempts.push(attempt);
    record.facts.status = 200;
    record.facts.answer = {
      usage: { inputTokens: 3, outputTokens: 50 },
      outputCharacters,
    };
    end("upstream_broken");
    const [use] = uses;
    const counted = [use?.counts.input, use?.counts.output];
    assert.deepEqual(counted, [3, output]);
    assert.equal(use?.counts.estimated, 1);
  }
});

Deno.test("a tally counts an error without tokens, and removes its tokens from the log line", async () => {
  const { record, log, end, tally, deployments, uses, attempt } = await begin();
  tally.enter(deployments);
  record.facts.attempts.push(attempt);
  record.facts.status = 503;
  record.facts.answer = { usage: { inputTokens: 3, outputTokens: 1 } };
  end("error");
  assert.deepEqual(uses.map(({ counts }) => counts), [{ requests: 1 }]);
  assert.equal(log.entries[0]?.fields.usage, undefined);
});

Deno.test("a tally estimates a request whose caller disconnects before the response", async () => {
  const { record, end, tally, deployments, uses, attempt } = await begin();
  tally.enter(deployments);
  record.facts.attempts.push(attempt);
  end("client_abort");
  const [use] = uses;
  assert.equal(use?.counts.input, 10);
  assert.equal(use?.counts.estimated, 1);
});

Deno.test("a tally notes the model that the answer names, unless the request named it in any form", async () => {
  const cases = [
    ["another-model", "another-model"],
    ["model-a", undefined],
    ["model-a-2026-11-01", undefined],
    ["provider/model-a", undefined],
    [undefined, undefined],
  ] as const;
  for (const [named, substitute] of cases) {
    const { record, log, end, tally, deployments, attempt } = await begin();
    await tally.enter(deployments);
    record.facts.attempts.push(attempt);
    record.facts.status = 200;
    record.facts.answer.model = named;
    end("complete");
    assert.equal(log.entries[0]?.fields.substitute_model, substitute);
  }
});
