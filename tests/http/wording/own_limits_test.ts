import assert from "node:assert/strict";
import { ownLimits } from "../../../src/http/wording/own_limits.js";
import {
  leftText,
  nameParts,
  usedText,
} from "../../../src/http/wording/words.js";
import type { UsageReport } from "../../../src/usage/report.ts";
import {
  groupLimit,
  ownLimit,
  usageReport,
} from "../../support/wire/own_usage.ts";

type LimitUsage = UsageReport["limits"][number];

/** The name of a limit and what is left of it. */
function wordsOf(limit: LimitUsage): string {
  const [window] = ownLimits(usageReport(limit))?.[0]?.limits ?? [];
  assert.ok(window !== undefined);
  return `${nameParts(window).join(" ")}: ${leftText(window)}`;
}

Deno.test("ownLimits() puts the token's limits before those of its group", () => {
  const own = ownLimits(
    usageReport(groupLimit(48.8), ownLimit(), groupLimit(1)),
  );
  assert.deepEqual(own?.map(({ name, limits }) => [name, limits.length]), [
    ["Your token", 1],
    ["Group interns", 2],
  ]);
});

Deno.test("ownLimits() names the counted models and connections of a limit, and its rest in its unit", () => {
  const cases: readonly [LimitUsage, string][] = [
    [ownLimit(), "1 day tokens: 3,750,000 of 5,000,000 left"],
    [groupLimit(48.8), "1 month money: $1.20 of $50.00 left"],
    [
      ownLimit({
        unit: "requests",
        window: "minute",
        limit: 60,
        used: 60,
        remaining: 0,
        used_percent: 100,
      }),
      "1 minute requests: 0 of 60 left",
    ],
    [
      ownLimit({ models: ["glm-5.1"], connections: ["GLM team"] }),
      "1 day tokens, for glm-5.1, through GLM team: 3,750,000 of 5,000,000 left",
    ],
    [
      ownLimit({ models: ["a_1", "b", "c"] }),
      "1 day tokens, for a_1 and 2 more: 3,750,000 of 5,000,000 left",
    ],
    [
      ownLimit({
        unit: "share",
        window: "five_hour",
        connections: ["GLM team"],
        limit: 0.4,
        used: 0.1,
        remaining: 0.3,
        used_percent: 25,
      }),
      "5 hours quota, your 40% of GLM team: 75% left",
    ],
    [
      ownLimit({
        unit: "share",
        window: "USAGE_LIMIT:opus weekly",
        connections: ["Claude"],
        limit: 0.5,
        used: null,
        remaining: null,
        used_percent: null,
      }),
      "1 week quota, opus, your 50% of Claude: left unknown",
    ],
  ];
  for (const [limit, expected] of cases) {
    assert.equal(wordsOf(limit), expected);
  }
});

Deno.test("ownLimits() distinguishes a token without a limit from a gateway without this report", () => {
  assert.deepEqual(ownLimits(usageReport()), []);
  for (const other of [undefined, null, "x", {}, { limits: 3 }, []]) {
    assert.equal(ownLimits(other), undefined);
  }
});

Deno.test("ownLimits() leaves out a limit that it cannot read", () => {
  const report = {
    ...usageReport(),
    limits: [null, { scope: "token" }, { ...ownLimit(), used: "1" }, {
      ...ownLimit(),
      models: [3],
    }, ownLimit()],
  };
  assert.equal(ownLimits(report)?.[0]?.limits.length, 1);
});

Deno.test("usedText() shows a tiny use as use", () => {
  const usedOf = (limit: LimitUsage) => {
    const [window] = ownLimits(usageReport(limit))?.[0]?.limits ?? [];
    return window && usedText(window);
  };
  const parts = { used_percent: 0, remaining: 4_999_899 };
  assert.equal(usedOf(ownLimit({ ...parts, used: 101 })), "under 0.1% used");
  assert.equal(usedOf(ownLimit({ ...parts, used: 0 })), "0% used");
});
