import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { inColour, withoutColour } from "../../../src/base/text.ts";
import { ownLimits } from "../../../src/page/wording/own_limits.js";
import {
  groupLimit,
  ownLimit,
  usageReport,
} from "../../support/wire/own_usage.ts";
import { drawLimits } from "../../../src/tools/limits/draw.ts";
import type { QuotaList } from "@gateway/page/answers";
import {
  balanceOf,
  entryOf,
  everyState,
  listOf,
  NOON_MS,
  shareOf,
  unknownWindow,
  weekOf,
} from "../../support/wire/limits_list.ts";

/** Returns the lines that draw a list at noon. */
function draw(
  list: QuotaList,
  { columns = 100, paint = withoutColour } = {},
): string[] {
  return drawLimits(list, { columns, paint, nowMs: NOON_MS }).split("\n");
}

Deno.test("drawLimits() draws a connection's windows as bars with left, used and time to reset", () => {
  assert.deepEqual(
    draw(listOf(entryOf("GLM team", { limits: [weekOf()] }))),
    [
      "GLM team  Z.ai, checked 12 s ago",
      "  1 week credits  ███████████████████████░░░░░░░  7,500 of 10,000 left  25% used  resets in 1 d 0 h",
      "",
    ],
  );
});

Deno.test("drawLimits() shows how many requests wait for a connection, and for how long", () => {
  const texts = [[7, 20], [1, 0], [200, 95]].map((
    [requests = 0, seconds = 0],
  ) =>
    draw(listOf(entryOf("GLM team", { waiting: { requests, seconds } })))[0]
  );
  const before = "GLM team  Z.ai, checked 12 s ago";
  assert.deepEqual(texts, [
    `${before}, 7 requests waiting, about 20 s`,
    `${before}, 1 request waiting`,
    `${before}, 200 requests waiting, about 1 min 35 s`,
  ]);
});

Deno.test("drawLimits() aligns the windows of all connections in the same columns", () => {
  const lines = draw(listOf(
    entryOf("one", { limits: [weekOf()] }),
    entryOf("two", { limits: [shareOf(5, { type: "USAGE_LIMIT:opus" })] }),
  ));
  assert.deepEqual(lines, [
    "one  Z.ai, checked 12 s ago",
    "  1 week credits      ████████████████████░░░░░░░  7,500 of 10,000 left  25% used  resets in 1 d 0 h",
    "",
    "two  Z.ai, checked 12 s ago",
    "  1 week quota, opus  ██████████████████████████░              95% left   5% used  resets in 1 d 0 h",
    "",
  ]);
});

Deno.test("drawLimits() draws the limits of the token and of its group first, in the same columns as the quotas", () => {
  const own = ownLimits(usageReport(ownLimit(), groupLimit(48.8)));
  const list = listOf(entryOf("GLM team", { limits: [weekOf()] }));
  assert.deepEqual(
    drawLimits(list, {
      columns: 117,
      paint: withoutColour,
      nowMs: NOON_MS,
      own,
    }).split("\n"),
    [
      "Your token  its own limits",
      "  1 day tokens    ███████████████░░░░░  3,750,000 of 5,000,000 left    25% used  resets in 12 h 0 min",
      "",
      "Group interns  shared by its members",
      "  1 month money   █░░░░░░░░░░░░░░░░░░░         $1.20 of $50.00 left  97.6% used  resets in 10 d 12 h   nearly used up",
      "",
      "GLM team  Z.ai, checked 12 s ago",
      "  1 week credits  ███████████████░░░░░         7,500 of 10,000 left    25% used  resets in 1 d 0 h",
      "",
    ],
  );
});

Deno.test("drawLimits() breaks lines between words where the terminal is narrow", async (t) => {
  const wordsOf = (lines: readonly string[]) =>
    lines.join(" ").split(/ +/).filter((word) => !/[█░·]/.test(word));
  const wide = wordsOf(draw(everyState(), { columns: 60 }));
  for (const columns of [20, 32, 48]) {
    await t.step(`${columns} columns`, () => {
      const lines = draw(everyState(), { columns });
      for (const line of lines) {
        assert.ok(line.length <= columns || !line.trim().includes(" "), line);
      }
      assert.deepEqual(wordsOf(lines), wide);
      const painted = draw(everyState(), { columns, paint: inColour });
      assert.deepEqual(painted.map(stripVTControlCharacters), lines);
    });
  }
  const nothing = draw(listOf(), { columns: 30 });
  assert.deepEqual(nothing, [
    "No connection is assigned to",
    "this token. Ask the",
    "administrator.",
    "",
  ]);
});

Deno.test("drawLimits() draws no bar beyond the columns of the terminal", async (t) => {
  for (const columns of [20, 40, 60, 80, 100, 140, 300]) {
    await t.step(`${columns} columns`, () => {
      const bars = draw(everyState(), { columns })
        .filter((line) => /[█░·]/.test(line));
      assert.equal(bars.length, 6);
      for (const line of bars) assert.ok(line.length <= columns, line);
    });
  }
});

Deno.test("drawLimits() draws a window in three lines when one line is too narrow", () => {
  const limits = [weekOf({ used_percent: 93 })];
  assert.deepEqual(draw(listOf(entryOf("one", { limits })), { columns: 40 }), [
    "one  Z.ai, checked 12 s ago",
    "  1 week credits  nearly used up",
    "  ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░",
    "  7,500 of 10,000 left, 93% used, resets",
    "  in 1 d 0 h",
    "",
  ]);
});

Deno.test("drawLimits() writes the meaning of each colour in words, too", () => {
  const limits = [
    shareOf(74.9),
    shareOf(75),
    shareOf(90),
    shareOf(100),
    shareOf(112),
  ];
  const notices = draw(listOf(entryOf("one", { limits })), { columns: 120 })
    .slice(1, -1).map((line) => line.split("1 d 0 h")[1]?.trim());
  assert.deepEqual(notices, [
    "",
    "getting low",
    "nearly used up",
    "used up",
    "over the limit",
  ]);
});

Deno.test("drawLimits() draws an empty bar only for a used-up window, and a full one only for an unused window", () => {
  const limits = [shareOf(112), shareOf(99.9), shareOf(0.01), shareOf(0)];
  const bars = draw(listOf(entryOf("one", { limits })), { columns: 120 })
    .slice(1, -1).map((line) =>
      /[█░]+ +[\d.]+% left +(under )?[\d.]+%/.exec(line)?.[0]
    );
  assert.deepEqual(bars, [
    `${"░".repeat(30)}     0% left        112%`,
    `█${"░".repeat(29)}   0.1% left       99.9%`,
    `${"█".repeat(29)}░  99.9% left  under 0.1%`,
    `${"█".repeat(30)}   100% left          0%`,
  ]);
});

Deno.test("drawLimits() shows unknown amounts as unknown, and draws no bar for a balance", () => {
  const limits = [
    unknownWindow(),
    balanceOf(110.5, "CNY"),
    balanceOf(0, "USD"),
  ];
  assert.deepEqual(draw(listOf(entryOf("one", { limits })), { columns: 90 }), [
    "one  Z.ai, checked 12 s ago",
    `  1 week credits  ${
      "·".repeat(19)
    }  left unknown  usage unknown  reset unknown`,
    `  balance         ${
      " ".repeat(19)
    }  ¥110.50 left                 no reset`,
    `  balance         ${
      " ".repeat(19)
    }    $0.00 left                 no reset       used up`,
    "",
  ]);
});

Deno.test("drawLimits() shows why a connection has no windows and who can fix it", () => {
  const lines = draw(listOf(
    entryOf("broken", {
      status: "unavailable",
      error: { type: "provider_limits_no_plan", message: "No plan is there" },
    }),
    entryOf("off", { status: "disabled", cached: true }),
    entryOf("strange", { status: "unsupported" }),
    entryOf("empty"),
  ));
  assert.deepEqual(lines, [
    "broken  Z.ai, checked 12 s ago",
    "  unavailable: no plan (provider_limits_no_plan)",
    "  No plan is there",
    "  The administrator must check the plan or the credit.",
    "",
    "off  Z.ai, checked 12 s ago, from the gateway's cache",
    "  switched off",
    "  The administrator can switch this connection on again.",
    "",
    "strange  Z.ai, checked 12 s ago",
    "  no quota",
    "  The gateway cannot read the quota of this service. Requests to it are not affected by that.",
    "",
    "empty  Z.ai, checked 12 s ago",
    "  the provider reports no window",
    "",
  ]);
});

Deno.test("drawLimits() shows that a connection's requests fail, and not that the quota cannot be read", () => {
  const until = new Date(Date.now() + 60_000).toISOString();
  const lines = draw(listOf(
    entryOf("refused", {
      status: "unsupported",
      failing: { until, cause: "authentication" },
    }),
    entryOf("moved", { failing: { until, cause: "misconfigured" } }),
  ));
  assert.deepEqual(lines, [
    "refused  Z.ai, checked 12 s ago",
    "  Its requests fail: the provider refuses the gateway's key. Contact the administrator.",
    "  no quota",
    "",
    "moved  Z.ai, checked 12 s ago",
    "  Its requests fail. Contact the administrator.",
    "  the provider reports no window",
    "",
  ]);
  const resting = entryOf("resting", { failing: { until } });
  assert.match(
    draw(listOf(resting))[1] ?? "",
    /^ {2}After failures, it gets no requests until (?!at).+\.$/,
  );
});

Deno.test("drawLimits() shows no warning for a quota that is unknown until the first answer", () => {
  const error = {
    type: "provider_limits_not_known_yet",
    message: "None has been relayed yet",
  };
  const entry = entryOf("Groq", { status: "unavailable", error });
  const options = { columns: 200, paint: inColour };
  const [, state = "", advice] = draw(listOf(entry), options);
  assert.equal(stripVTControlCharacters(state), "  not reported yet");
  assert.ok(!state.includes("\x1b[31m"), "red");
  assert.equal(
    advice,
    "  The provider reports the quota with each answer of a model. The quota appears here after the first answer.",
  );
});

Deno.test("drawLimits() reports a token without a connection", () => {
  assert.deepEqual(draw(listOf()), [
    "No connection is assigned to this token. Ask the administrator.",
    "",
  ]);
});

Deno.test("drawLimits() draws each level in its colour", () => {
  const limits = [shareOf(10), shareOf(80), shareOf(95), shareOf(110)];
  const lines = draw(listOf(entryOf("one", { limits })), {
    columns: 120,
    paint: inColour,
  });
  const codes = lines.slice(1, -1).map((line) =>
    line.slice(0, line.indexOf("m█")).split("[").at(-1)
  );
  // The last bar is empty, so its words are coloured.
  assert.deepEqual(codes.slice(0, 3), ["32", "33", "31"]);
  assert.ok(lines[4]?.endsWith(inColour("magenta", "over the limit")));
  assert.equal(
    lines[0],
    "\x1b[1mone\x1b[0m  \x1b[2mZ.ai, checked 12 s ago\x1b[0m",
  );
});

Deno.test("drawLimits() removes control characters", () => {
  const evil = "\x1b[2Jevil\x07\u202e\n";
  const own = ownLimits(
    usageReport(groupLimit(1, { group: evil, models: [evil], window: evil })),
  );
  const drawn = drawLimits(
    listOf(
      entryOf(evil, {
        service: evil,
        limits: [weekOf({ type: evil, window: evil, unit: evil })],
      }),
      entryOf(evil, {
        status: "unavailable",
        error: { type: evil, message: evil },
      }),
      JSON.parse(
        JSON.stringify(entryOf(evil, {})).replace('"ok"', JSON.stringify(evil)),
      ),
    ),
    { columns: 100, paint: withoutColour, nowMs: NOON_MS, own },
  );
  assert.doesNotMatch(drawn, /[^\P{C}\n]/u);
  assert.match(drawn, /evil/);
});
