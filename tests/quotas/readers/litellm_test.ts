import assert from "node:assert/strict";
import { litellm } from "../../../src/quotas/readers/litellm.ts";
import {
  fixture,
  KEY,
  parse,
  requestsOf,
  sourceOf,
  windowOf,
} from "../quota_case.ts";

const base = "https://proxy.example/team/v1";

Deno.test("litellm reads its key, then the owners that the key names", () => {
  const source = sourceOf("litellm", { base });
  const headers = {
    accept: "application/json",
    authorization: `Bearer ${KEY}`,
  };
  assert.deepEqual(requestsOf(source), [{
    url: "https://proxy.example/team/key/info",
    headers,
  }]);
  assert.deepEqual(
    litellm.poll?.followUps?.([fixture("litellm/key")], source),
    [
      {
        url: "https://proxy.example/team/user/info?user_id=user-1",
        headers,
        optional: true,
      },
      {
        url: "https://proxy.example/team/team/info?team_id=team-2",
        headers,
        optional: true,
      },
    ],
  );
  assert.deepEqual(
    litellm.poll?.followUps?.([fixture("litellm/key_bare")], source),
    [],
  );
});

Deno.test("litellm reads the windows of a key without a main budget", () => {
  assert.deepEqual(parse(sourceOf("litellm"), fixture("litellm/key")), [
    windowOf(
      "SPEND_LIMIT three_hour USD 30 0.5 29.5 1.66666666667 2026-09-26T16:00:00.000Z",
    ),
    // Its spending is not reported.
    windowOf("SPEND_LIMIT twelve_hour USD 70 - - -"),
  ]);
});

Deno.test("litellm reads a main budget without the envelope, overspent too", () => {
  assert.deepEqual(parse(sourceOf("litellm"), fixture("litellm/key_bare")), [
    windowOf("SPEND_LIMIT monthly USD 10 12 0 120 2026-10-01T00:00:00.000Z"),
  ]);
});

Deno.test("litellm shows what an uncapped key has spent", () => {
  const info = { spend: 3, max_budget: null };
  assert.deepEqual(parse(sourceOf("litellm"), { info }), [
    windowOf("SPEND_LIMIT total USD - 3 - -"),
  ]);
});

Deno.test("litellm adds the budgets of the user and of the key's own team", () => {
  const user = windowOf(
    "SPEND_LIMIT:user total USD 300 212.5 87.5 70.8333333333",
  );
  const team = (window: string, code: number, resets: string) =>
    windowOf(
      `SPEND_LIMIT:team ${window} USD 1000 215.25 784.75 21.525 ${resets}`,
      { period_unit: code, period_count: 1 },
    );
  const key = fixture("litellm/key");
  const fromUser = parse(sourceOf("litellm"), key, fixture("litellm/user"));
  assert.deepEqual(fromUser.slice(2), [
    user,
    team("weekly", 6, "2026-06-15T00:00:00.000Z"),
  ]);
  const fromTeam = parse(
    sourceOf("litellm"),
    key,
    undefined,
    fixture("litellm/team"),
  );
  assert.deepEqual(fromTeam.slice(2), [
    team("monthly", 5, "2026-07-01T00:00:00.000Z"),
  ]);
});

Deno.test("litellm reports each budget once where two answers have it", () => {
  const windows = parse(
    sourceOf("litellm"),
    fixture("litellm/key"),
    fixture("litellm/user"),
    fixture("litellm/team"),
  );
  assert.deepEqual(
    windows.map(({ type, window }) => `${type} ${window}`),
    [
      "SPEND_LIMIT three_hour",
      "SPEND_LIMIT twelve_hour",
      "SPEND_LIMIT:user total",
      "SPEND_LIMIT:team monthly",
    ],
  );
});
