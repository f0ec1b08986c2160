import assert from "node:assert/strict";
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
import { pageTests } from "../../support/browser/page_tests.ts";

const test = await pageTests();

const AT_NOON = { nowMs: NOON_MS, timezoneId: "UTC" };

test(
  "the page shows how many requests wait for a connection, and for how long",
  async ({ page, signIn, answer }) => {
    const waiting = { requests: 7, seconds: 20 };
    const entry = entryOf("GLM team", { limits: [weekOf()], waiting });
    answer("/v1/limits", { json: listOf(entry) });
    await signIn();
    assert.deepEqual(await page.locator(".card .service").allInnerTexts(), [
      "Z.ai",
      "7 requests waiting, about 20 s",
    ]);
  },
  AT_NOON,
);

test(
  "the page has words for every state of a connection and every level of a window",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", { json: everyState() });
    await signIn();
    const cards = await page.locator(".card").allInnerTexts();
    assert.deepEqual(cards.map((text) => text.split(/\n+/)), [
      [
        ...["GLM team", "Z.ai", "over the limit until Sat 12:00"],
        ...["5 hours credits", "677 of 2,000 left"],
        ...["66.1% used", "resets in 2 h 41 min, at 14:41"],
        ...["1 week credits", "0 of 10,000 left"],
        ...["100.1% used", "resets in 1 d 0 h, Sat 12:00"],
        "checked 12 s ago, from the gateway's cache",
      ],
      [
        ...["Claude Max", "Anthropic", "used up until Sat 12:00"],
        ...["1 week quota", "18.6% left"],
        ...["81.4% used", "resets in 1 d 0 h, Sat 12:00"],
        ...["1 week quota", "7% left"],
        ...["93% used", "resets in 1 d 0 h, Sat 12:00"],
        ...["1 week quota, opus", "0% left"],
        ...["100% used", "resets in 1 d 0 h, Sat 12:00"],
        "checked 12 s ago",
      ],
      [
        ...["DeepSeek", "DeepSeek", "plenty left"],
        ...["balance", "¥110.50 left", "no reset"],
        ...["balance", "$0.00 left", "no reset"],
        "checked 12 s ago",
      ],
      [
        ...["Strangers", "OpenAI", "ok"],
        ...["requests over an unknown period", "left of 500 unknown"],
        ...["usage unknown", "reset unknown"],
        "checked 3 h ago",
      ],
      [
        ...["OpenRouter", "OpenRouter", "not read", "Key rejected"],
        "The administrator must renew the provider's key.",
        "For the administrator",
        "checked 12 s ago",
      ],
      [
        ...["Old account", "Kimi plan", "switched off"],
        "The administrator can switch this connection on again.",
        "checked 12 s ago",
      ],
      [
        ...["Local models", "other provider", "no quota"],
        "The gateway cannot read the quota of this service. Requests to it are not affected by that.",
        "checked 12 s ago",
      ],
    ]);
    assert.equal(
      await page.locator("#summary").innerText(),
      "Used-up quotas: GLM team (1 week credits) until Sat 12:00, " +
        "Claude Max (1 week quota, opus) until Sat 12:00. " +
        "The quota of one connection could not be read.",
    );
  },
  AT_NOON,
);

/** The text for each reason for a missing quota. */
const REASONS = {
  configuration_required: "Setting missing",
  unauthorized: "Key rejected",
  rate_limited: "Read too often",
  unreachable: "Not reachable",
  invalid_response: "Invalid response",
  no_plan: "No plan",
  of_tomorrow: "Quota not available",
  constructor: "Quota not available",
};

test("the page explains each reason for a missing quota, even an unknown one", async ({ page, signIn, answer }) => {
  const entries = Object.keys(REASONS).map((reason) =>
    entryOf(reason, {
      status: "unavailable",
      error: { type: `provider_limits_${reason}`, message: `It is ${reason}` },
    })
  );
  answer("/v1/limits", { json: listOf(...entries) });
  await signIn();
  for (const [reason, title] of Object.entries(REASONS)) {
    const card = page.locator(".card", { hasText: reason });
    const seen = await card.innerText();
    assert.ok(seen.includes(title), seen);
    assert.ok(!seen.includes("provider_limits"), seen);
    await card.locator("summary").click();
    const details = await card.locator("details").innerText();
    assert.ok(details.includes(`It is ${reason}.`), details);
    assert.ok(details.includes(`provider_limits_${reason}`), details);
  }
  assert.match(
    await page.locator("#summary").innerText(),
    /^The quotas of 8 connections could not be read\.$/,
  );
});

test("the page shows no warning for a quota that comes with the next answer", async ({ page, signIn, answer }) => {
  answer("/v1/limits", {
    json: listOf(entryOf("Groq", {
      status: "unavailable",
      error: {
        type: "provider_limits_not_known_yet",
        message: "None has been relayed yet",
      },
    })),
  });
  await signIn();
  assert.deepEqual(
    (await page.locator(".card").innerText()).split(/\n+/).slice(0, 5),
    [
      ...["Groq", "Z.ai", "not reported yet", "Not reported yet"],
      "The provider reports the quota with each answer of a model. The quota appears here after the first answer.",
    ],
  );
  assert.equal(await page.locator("#summary").innerText(), "");
  const colour = (selector: string) =>
    page.evaluate<string>(
      `getComputedStyle(document.querySelector("${selector}")).color`,
    );
  assert.equal(await colour(".badge"), await colour(".service"));
});

test("the displayed shares used and left add up to 100%", async ({ page, signIn, answer }) => {
  const shares = [0, 0.04, 12.34, 33.33, 66.15, 81.49, 99.96, 100, 120];
  answer("/v1/limits", {
    json: listOf(
      entryOf("Mine", { limits: shares.map((one) => shareOf(one)) }),
    ),
  });
  await signIn();
  const used = await page.locator(".used").allInnerTexts();
  const left = await page.locator(".left").allInnerTexts();
  assert.deepEqual(
    left.map((text, index) => [used[index]?.match(/^.*used/)?.[0], text]),
    [
      ["0% used", "100% left"],
      ["under 0.1% used", "99.9% left"],
      ["12.3% used", "87.7% left"],
      ["33.3% used", "66.7% left"],
      ["66.1% used", "33.9% left"],
      ["81.4% used", "18.6% left"],
      ["99.9% used", "0.1% left"],
      ["100% used", "0% left"],
      ["120% used", "0% left"],
    ],
  );
});

test(
  "the page shows the reader's own usage of a window, if it is known",
  async ({ page, signIn, answer }) => {
    const entry = entryOf("Ours", { limits: [shareOf(70), weekOf()] });
    const [known] = entry.limits;
    answer("/v1/limits", { json: listOf(entry) });
    answer("/v1/usage", {
      json: {
        object: "usage",
        connections: [{
          provider_id: entry.provider_id,
          limits: [{
            type: known?.type,
            window: known?.window,
            your_percent: 12.44,
          }],
        }],
      },
    });
    await signIn();
    const text = await page.locator(".card").innerText();
    assert.match(text, /70% used, 12\.4% by you/);
    assert.equal(text.match(/by you/g)?.length, 1);
  },
);

test(
  "the length of a bar is the remainder, and its mark is the remaining time",
  async ({ page, signIn, answer }) => {
    const windows = [0, 25, 99.9, 100, 140].map((used) => shareOf(used));
    answer("/v1/limits", {
      json: listOf(entryOf("Mine", { limits: windows })),
    });
    await signIn();
    const shares: number[][] = await page.evaluate(`
    [...document.querySelectorAll(".gauge")].map((bar) => {
      const whole = bar.getBoundingClientRect();
      const fill = bar.querySelector(".fill").getBoundingClientRect();
      const mark = bar.querySelector(".mark").getBoundingClientRect();
      const centre = mark.left + mark.width / 2 - whole.left;
      return [fill.width, centre].map((px) => 100 * px / whole.width);
    })
  `);
    assert.deepEqual(
      shares.map(([fill = NaN]) => Math.round(fill * 10) / 10),
      [100, 75, 3.1, 0, 0],
    );
    // One day before the end of a week.
    for (const [, mark = NaN] of shares) {
      assert.ok(Math.abs(mark - 100 / 7) < 0.5, String(mark));
    }
  },
  AT_NOON,
);

test(
  "the levels of a window differ in colour",
  async ({ page, signIn, answer }) => {
    const windows = [10, 80, 95, 120].map((used) => shareOf(used));
    answer("/v1/limits", {
      json: listOf(entryOf("Mine", { limits: windows })),
    });
    await signIn();
    const colours: string[] = await page.evaluate(`
    [...document.querySelectorAll(".fill")].map((fill) =>
      getComputedStyle(fill).backgroundColor)
  `);
    assert.equal(new Set(colours).size, 4, colours.join());
  },
  AT_NOON,
);

test(
  "the page shows money as used up when none is left in any currency",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", {
      json: listOf(
        entryOf("Some", { limits: [balanceOf(0, "CNY"), balanceOf(3, "USD")] }),
        entryOf("None", { limits: [balanceOf(0, "CNY"), balanceOf(0, "USD")] }),
        entryOf("Full week", { limits: [shareOf(100), balanceOf(3, "USD")] }),
      ),
    });
    await signIn();
    assert.deepEqual(await page.locator(".badge").allInnerTexts(), [
      "used up until Sat 12:00",
      "used up",
      "plenty left",
    ]);
  },
  AT_NOON,
);

test(
  "cards with little or nothing left come first, the most urgent card at the top",
  async ({ page, signIn, answer }) => {
    const reset = "2026-11-20T14:41:00.000Z";
    answer("/v1/limits", {
      json: listOf(
        entryOf("Low", { limits: [shareOf(89)] }),
        entryOf("Unused", { limits: [shareOf(0)] }),
        entryOf("Scarce", { limits: [shareOf(90)] }),
        entryOf("Soon", { limits: [shareOf(100, { resets_at: reset })] }),
        entryOf("Off", { status: "disabled" }),
        entryOf("Over", {
          limits: [shareOf(101), shareOf(100, { resets_at: reset })],
        }),
        entryOf("Scarcer", { limits: [weekOf(), shareOf(99)] }),
        entryOf("Once", { limits: [shareOf(100, { resets_at: null })] }),
      ),
    });
    await signIn();
    const cards = await page.locator(".card").all();
    const heads = cards.map(async (card) => [
      await card.locator(".card-name").innerText(),
      await card.locator(".badge").innerText(),
    ]);
    assert.deepEqual(await Promise.all(heads), [
      ["Over", "over the limit until Sat 12:00"],
      ["Soon", "used up until 14:41"],
      ["Once", "used up"],
      ["Scarcer", "nearly used up"],
      ["Scarce", "nearly used up"],
      ["Low", "getting low"],
      ["Unused", "plenty left"],
      ["Off", "switched off"],
    ]);
    assert.equal(
      await page.locator("#summary").innerText(),
      "Used-up quotas: Over (1 week quota) until Sat 12:00, Over (1 week quota) until 14:41, " +
        "Soon (1 week quota) until 14:41 and 1 more.",
    );
  },
  AT_NOON,
);

test(
  "a connection whose requests fail comes first, with a warning, whatever is left of its quota",
  async ({ page, signIn, answer }) => {
    const until = "2026-11-20T12:05:00.000Z";
    answer("/v1/limits", {
      json: listOf(
        entryOf("Fine", { limits: [shareOf(95)] }),
        entryOf("Refused", {
          limits: [shareOf(20)],
          failing: { until, cause: "authentication" },
        }),
        entryOf("Broken", {
          status: "unsupported",
          failing: { until, cause: "server" },
        }),
        entryOf("Resting", { limits: [shareOf(20)], failing: { until } }),
      ),
    });
    await signIn();
    const cards = await page.locator(".card").allInnerTexts();
    assert.deepEqual(cards.map((text) => text.split(/\n+/).slice(0, 4)), [
      [
        ...["Refused", "Z.ai", "failing"],
        "Its requests fail: the provider refuses the gateway's key. Contact the administrator.",
      ],
      [
        ...["Broken", "Z.ai", "failing"],
        "Its requests fail. Contact the administrator.",
      ],
      [
        ...["Resting", "Z.ai", "failing"],
        "After failures, it gets no requests until 12:05.",
      ],
      ["Fine", "Z.ai", "nearly used up", "1 week quota"],
    ]);
    assert.doesNotMatch(cards.join(" "), /not affected|normally/);
    assert.match(
      await page.locator("#summary").innerText(),
      /^Requests fail through Refused, Broken, Resting\. /,
    );
  },
  AT_NOON,
);

test("the summary names no empty balance while money is left in another currency", async ({ page, signIn, answer }) => {
  answer("/v1/limits", {
    json: listOf(
      entryOf("Some", { limits: [balanceOf(0, "CNY"), balanceOf(3, "USD")] }),
      entryOf("Mine", { limits: [shareOf(25)] }),
    ),
  });
  await signIn();
  assert.equal(
    await page.locator("#summary").innerText(),
    "Least left of the quotas: Mine (1 week quota), 75% left.",
  );
});

test("the page has no bar for a balance and an empty one for an unknown amount", async ({ page, signIn, answer }) => {
  answer("/v1/limits", {
    json: listOf(
      entryOf("Stock", { limits: [balanceOf(12.5, "EUR")] }),
      entryOf("Silent", { limits: [unknownWindow()] }),
      entryOf("Empty", { limits: [] }),
    ),
  });
  await signIn();
  assert.equal(await page.getByRole("meter").count(), 0);
  assert.equal(await page.locator(".gauge-none").count(), 1);
  assert.equal(await page.locator(".gauge.unknown").count(), 1);
  assert.equal(await page.locator(".left").first().innerText(), "€12.50 left");
  assert.equal(await page.locator("#summary").innerText(), "");
  await page.getByText("The provider reports no quota for this connection.")
    .waitFor();
});

test("the page treats every name as text", async ({ page, signIn, answer }) => {
  const hostile = `<img src=x onerror="document.title='owned'">`;
  answer("/v1/limits", {
    json: listOf(
      entryOf(hostile, {
        service: hostile,
        limits: [weekOf({ type: hostile, window: hostile, unit: hostile })],
      }),
      entryOf(`${hostile} 2`, {
        status: "unavailable",
        error: { type: hostile, message: hostile },
      }),
    ),
  });
  answer("/v1/models", {
    json: {
      data: [{ id: hostile, protocols: ["chat", "messages", "responses"] }],
    },
  });
  await signIn();
  assert.equal(await page.locator(".card-name").first().innerText(), hostile);
  assert.equal(await page.locator(".model code").innerText(), hostile);
  await page.getByText("Claude Code", { exact: true }).click();
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.title(), "Model Gateway");
});

test("the page reports a token without a connection", async ({ page, signIn, answer }) => {
  answer("/v1/limits", { json: listOf() });
  await signIn();
  assert.equal(
    await page.locator("#summary").innerText(),
    "No connection is assigned to this token. Ask the administrator.",
  );
  assert.equal(await page.locator("#legend").isVisible(), false);
});

test(
  "the page shows times in the zone of its reader",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", {
      json: listOf(entryOf("Mine", { limits: [weekOf()] })),
    });
    await signIn();
    const reset = page.locator(".reset");
    assert.equal(await reset.innerText(), "resets in 1 d 0 h, Sat 20:00");
    assert.equal(await reset.getAttribute("title"), "Sat 21 Nov, 20:00 GMT+8");
    assert.equal(
      await page.locator(".checked time").getAttribute("datetime"),
      "2026-11-20T11:59:48.000Z",
    );
  },
  { ...AT_NOON, timezoneId: "Asia/Shanghai", locale: "de-DE" },
);
