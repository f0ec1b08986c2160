import assert from "node:assert/strict";
import { dearTurnsText } from "../../../src/page/wording/dear_turns.js";
import {
  type Day,
  historyOf,
  historyText,
  type HolderHistory,
  type Unit,
} from "../../../src/page/wording/history.js";
import { ownLimits } from "../../../src/page/wording/own_limits.js";
import {
  amountText,
  leftText,
  nameParts,
  usedText,
} from "../../../src/page/wording/words.js";
import type { UsageReport } from "../../../src/gateway/usage/report.ts";
import { NOON_MS } from "../../support/wire/limits_list.ts";
import {
  groupLimit,
  ownLimit,
  usageReport,
} from "../../support/wire/own_usage.ts";
import { localTime, withLocalTimes } from "../../../src/page/wording/times.js";

function turns(cause: string, requests: number, part: string | null = null) {
  return { cause, part, requests, cost_usd: null };
}

Deno.test("amountText() shows money below a cent", () => {
  const texts = [0, 0.00172, 0.0099, 0.01, 12.5, -0.002]
    .map((amount) => amountText(amount, "USD"));
  assert.deepEqual(texts, [
    ...["$0.00", "$0.0017", "$0.0099"],
    ...["$0.01", "$12.50", "-$0.002"],
  ]);
});

Deno.test("dearTurnsText() counts the turns by cause, the most frequent first, with their extra cost", () => {
  assert.equal(
    dearTurnsText([
      { ...turns("edited", 3, "tools"), cost_usd: 1.504 },
      { ...turns("idle", 8), cost_usd: 2.6 },
      turns("moved", 1),
    ]),
    "12 turns read little or nothing from the prompt cache: 8 after a pause of over five minutes, " +
      "3 because the tools changed, 1 because another connection served. Extra cost: at least $4.10.",
  );
});

Deno.test("dearTurnsText() has words for each part and for unknown causes, and returns undefined without turns", () => {
  const cases: readonly (readonly [string | null, string])[] = [
    ["system", "the system prompt changed"],
    ["instructions", "the system prompt changed"],
    ["messages", "an earlier message changed"],
    ["input", "an earlier message changed"],
    ["dropped_reasoning", "earlier reasoning was left out"],
    ["thinking", "a setting changed"],
    [null, "a setting changed"],
  ];
  for (const [part, words] of cases) {
    assert.equal(
      dearTurnsText([turns("edited", 1, part)]),
      `1 turn read little or nothing from the prompt cache, because ${words}.`,
    );
  }
  assert.equal(dearTurnsText([]), undefined);
});

Deno.test("historyText() leaves out days before the first use, and an absent pace, week or price", () => {
  const empty = {
    ...{ requests: 0, input_tokens: 0, cached_input_tokens: 0 },
    ...{ cache_write_tokens: 0, output_tokens: 0, cost_usd: null },
  };
  const textOf = (
    used: Readonly<Record<string, Partial<Day>>>,
    unit: Unit = "USD",
    limits: HolderHistory["limits"] = {},
  ) => {
    const days = Array.from({ length: 35 }, (_, index) => {
      const date = new Date(NOON_MS - (34 - index) * 86_400_000).toISOString()
        .slice(0, 10);
      return {
        ...empty,
        ...used[date] && { requests: 1 },
        date,
        ...used[date],
      };
    });
    return historyText({ name: "You", days, limits }, unit, NOON_MS);
  };
  const today = "2026-11-20";
  const cases: Readonly<Record<string, string>> = {
    [textOf({})]: "No requests were counted in the last 35 days.",
    [textOf({ [today]: { cost_usd: 0.004 } })]:
      "Today $0.004, at this pace about $0.008 by midnight UTC.",
    [textOf({ [today]: { input_tokens: 1 } }, "tokens")]:
      "Today 1 token, at this pace about 2 tokens by midnight UTC.",
    [
      textOf({ [today]: { input_tokens: 123_456 } }, "tokens", { tokens: 1000 })
    ]: "Today 123,456 tokens, at this pace about 250,000 tokens by midnight UTC. The limit is 1,000 tokens a day.",
    [textOf({ "2026-11-18": { cost_usd: 2 } })]:
      "$2.00 since 2026-11-18. No requests today.",
    [textOf({ "2026-11-18": { cost_usd: 2 }, [today]: { input_tokens: 9 } })]:
      "$2.00 since 2026-11-18. No priced usage today.",
    [textOf({ "2026-11-13": { cost_usd: 2 }, [today]: { cost_usd: 1 } })]:
      "$3.00 since 2026-11-13, $1.00 in the last 7 days. Today $1.00, at this pace about $2.00 by midnight UTC.",
  };
  for (const [text, expected] of Object.entries(cases)) {
    assert.equal(text, expected);
  }
});

Deno.test("historyOf() returns the smallest daily limit on all models and connections", () => {
  const limits = [5, 3, 9].map((limit) => ownLimit({ unit: "USD", limit }));
  const some = ownLimit({ unit: "USD", limit: 1, models: ["glm-5.1"] });
  const history = historyOf(usageReport(...limits, some));
  assert.deepEqual(history?.holders[0]?.limits, { USD: 3 });
});

type LimitUsage = UsageReport["limits"][number];

/** Returns the name of a limit and its remainder. */
function wordsOf(limit: LimitUsage): string {
  const [window] = ownLimits(usageReport(limit))?.[0]?.limits ?? [];
  assert.ok(window !== undefined);
  return `${nameParts(window).join(" ")}: ${leftText(window)}`;
}

Deno.test("ownLimits() puts the token's limits before its group's limits", () => {
  const own = ownLimits(
    usageReport(groupLimit(48.8), ownLimit(), groupLimit(1)),
  );
  assert.deepEqual(own?.map(({ name, limits }) => [name, limits.length]), [
    ["Your token", 1],
    ["Group interns", 2],
  ]);
});

Deno.test("ownLimits() names the models and connections that a limit counts, and its remainder in its unit", () => {
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
      ownLimit({
        ...{ per: "session", session: null, window: "session" },
        ...{ used: 0, remaining: 5_000_000, used_percent: 0 },
      }),
      "session tokens, each session: 5,000,000 of 5,000,000 left",
    ],
    [
      ownLimit({ per: "session", session: "s-1", window: "hour" }),
      "1 hour tokens, session s-1: 3,750,000 of 5,000,000 left",
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

Deno.test("usedText() never shows a tiny use as 0", () => {
  const usedOf = (limit: LimitUsage) => {
    const [window] = ownLimits(usageReport(limit))?.[0]?.limits ?? [];
    return window && usedText(window);
  };
  const parts = { used_percent: 0, remaining: 4_999_899 };
  assert.equal(usedOf(ownLimit({ ...parts, used: 101 })), "under 0.1% used");
  assert.equal(usedOf(ownLimit({ ...parts, used: 0 })), "0% used");
});

Deno.test("withLocalTimes() replaces only the instants in the gateway's errors", () => {
  const at = localTime(Date.UTC(2026, 0, 1, 0, 10));
  const cases: readonly [string, string][] = [
    ["It will reset at 2026-01-01T00:10:00Z.", `It will reset at ${at}.`],
    [
      "It is available again at 2026-01-01 00:10 UTC, when it will reset.",
      `It is available again at ${at}, when it will reset.`,
    ],
    ["From 2026-01-01T00:10:00.000Z on", `From ${at} on`],
    ["On 2026-01-01 at 00:10 UTC", "On 2026-01-01 at 00:10 UTC"],
    ["2026-01-01 00:10", "2026-01-01 00:10"],
    ["2026-99-01 00:10 UTC", "2026-99-01 00:10 UTC"],
  ];
  for (const [text, expected] of cases) {
    assert.equal(withLocalTimes(text), expected);
  }
});
