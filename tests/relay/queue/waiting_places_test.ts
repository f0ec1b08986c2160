import assert from "node:assert/strict";
import { waitingPlaces } from "../../../src/relay/queue/waiting_places.ts";
import { findCandidates } from "../../../src/relay/routing/candidate.ts";
import { connectionFile, minimalConfig } from "../../support/gateway/config.ts";

const NOW_MS = 1_000_000;

Deno.test("a connection that cools down is not asked for again and again after the reset of a limit", async () => {
  const queue = { max_wait: 60_000 };
  const models = ["model-1"];
  const config = await minimalConfig({
    connections: [connectionFile({ models, queue })],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  const asked = { operation: "chat_completions", model: "model-1" } as const;
  const candidates = findCandidates(asked, { caller, config });
  const placesAt = (limitedUntilMs: number, isRequestedWait: boolean) =>
    waitingPlaces(
      {
        ...{ caller, candidates, failed: [] },
        gate: { limitedUntilMs: () => limitedUntilMs },
      },
      {
        health: {
          restMs: () => 30_000,
          isRequestedWait: () => isRequestedWait,
        },
        clock: { now: () => NOW_MS },
      },
    ).map(({ restMs, why }) => ({ restMs, why }));
  const isLimited = { restMs: 1, why: "limit" };
  assert.deepEqual(placesAt(NOW_MS + 1, true), [isLimited]);
  const isCooling = { restMs: 30_000, why: "rate_limit" };
  assert.deepEqual(placesAt(NOW_MS, true), [isCooling]);
  assert.deepEqual(placesAt(NOW_MS, false), []);
});
