import assert from "node:assert/strict";
import type { Page } from "../../support/browser/browser_packages.ts";
import {
  entryOf,
  listOf,
  NOON_MS,
  shareOf,
  weekOf,
} from "../../support/wire/limits_list.ts";
import { pageTests } from "../../support/browser/page_tests.ts";
import { until } from "../../support/within.ts";
import { elapsedShare } from "../../../src/page/browser/pace.js";

const test = await pageTests();

/** The clock of the page runs only when a test advances it. */
const STILL = { nowMs: NOON_MS };

const LIST = { json: listOf(entryOf("Mine", { limits: [weekOf()] })) };

const TIMED_OUT = {
  status: 504,
  json: {
    error: {
      type: "provider_limits_timeout",
      code: "provider_limits_timeout",
      message: "Reading the quotas took longer than 12 seconds",
    },
  },
};

const UNAUTHORIZED = {
  status: 401,
  json: { error: { message: "The token is unknown" } },
};

/** The number of requests for the quotas. */
function times(asked: readonly string[]): number {
  return asked.filter((path) => path === "/v1/limits").length;
}

async function setVisibility(page: Page, state: string): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, "visibilityState", {
      configurable: true, value: "${state}",
    });
    document.dispatchEvent(new Event("visibilitychange"));
  `);
}

test(
  "the page reads again after refresh_after_seconds, and no earlier when the button is pressed",
  async ({ page, signIn, answer, asked, runFor }) => {
    const refresh = page.locator("#refresh");
    answer("/v1/limits", {
      json: { ...LIST.json, refresh_after_seconds: 90 },
    });
    await signIn();
    await runFor(89_000);
    assert.equal(await refresh.innerText(), "Refresh in 1 s");
    assert.equal(await refresh.getAttribute("aria-disabled"), "true");
    await refresh.click({ force: true });
    await runFor(900);
    assert.equal(times(asked), 1);
    answer("/v1/limits", {
      json: listOf(entryOf("Mine", { limits: [shareOf(61)] })),
    });
    await runFor(100);
    await page.getByText("61% used", { exact: true }).waitFor();
    assert.equal(times(asked), 2);
  },
  STILL,
);

test(
  "a hidden page sends no requests until it is visible again",
  async ({ page, signIn, answer, asked, runFor }) => {
    answer("/v1/limits", LIST);
    await signIn();
    await setVisibility(page, "hidden");
    await runFor(300_000);
    assert.equal(times(asked), 1);
    await setVisibility(page, "visible");
    await until(() => times(asked) === 2, "the page to catch up");
  },
  STILL,
);

test(
  "the button refreshes as soon as the gateway allows",
  async ({ page, signIn, answer, asked, runFor }) => {
    answer("/v1/limits", LIST);
    await signIn();
    await setVisibility(page, "hidden");
    await runFor(61_000);
    assert.equal(await page.locator("#refresh").innerText(), "Refresh");
    await page.click("#refresh");
    await page.getByRole("status").filter({ hasText: "Refreshed." })
      .waitFor({ state: "attached" });
    assert.equal(times(asked), 2);
    assert.equal(
      await page.locator("#refresh").innerText(),
      "Refresh in 1 min 0 s",
    );
  },
  STILL,
);

test(
  "a reloaded page shows its last reading, and requests the next one no sooner than without a reload",
  async ({ page, signIn, answer, asked, runFor }) => {
    answer("/v1/limits", LIST);
    await signIn();
    await runFor(20_000);
    await page.reload();
    await page.getByText("25% used", { exact: true }).waitFor();
    await runFor(39_000);
    assert.equal(times(asked), 1);
    await runFor(1_000);
    await until(() => times(asked) === 2, "the page to ask again");
  },
  STILL,
);

test(
  "the countdowns continue between two readings",
  async ({ page, signIn, answer, asked, runFor }) => {
    answer("/v1/limits", LIST);
    await signIn();
    const reset = page.locator(".reset");
    const checked = page.locator(".checked");
    assert.equal(await reset.innerText(), "resets in 1 d 0 h, Sat 12:00");
    assert.equal(await checked.innerText(), "checked 12 s ago");
    await runFor(30_000);
    assert.equal(await reset.innerText(), "resets in 23 h 59 min, at 12:00");
    assert.equal(await checked.innerText(), "checked 42 s ago");
    assert.equal(times(asked), 1);
  },
  { ...STILL, timezoneId: "UTC" },
);

test(
  "a failed refresh keeps the last reading, with its age and the reason",
  async ({ page, signIn, answer, runFor }) => {
    answer("/v1/limits", LIST);
    await signIn();
    answer("/v1/limits", TIMED_OUT);
    await runFor(60_000);
    const banner = page.getByRole("alert");
    await banner.waitFor();
    assert.equal(
      await banner.innerText(),
      "The gateway reports an error: Reading the quotas took longer than 12 seconds. " +
        "These quotas are from Fri 20 Nov, 12:00 UTC. The page tries again automatically.",
    );
    assert.equal(await page.locator(".used").innerText(), "25% used");
    assert.equal(
      await page.locator(".checked").innerText(),
      "checked 1 min ago",
    );
    answer("/v1/limits", LIST);
    await runFor(6_000);
    await banner.waitFor({ state: "hidden" });
  },
  { ...STILL, timezoneId: "UTC" },
);

test(
  "a page retries an unreachable gateway with growing pauses, and then continues as before",
  async ({ page, signIn, answer, asked, runFor }) => {
    answer("/v1/limits", LIST);
    await signIn();
    answer("/v1/limits", "offline");
    answer("/v1/models", "offline");
    await runFor(60_000);
    await page.getByRole("alert").waitFor();
    assert.equal(times(asked), 2);
    for (
      const [index, pauseMs] of [5000, 10_000, 20_000, 40_000, 60_000].entries()
    ) {
      await runFor(pauseMs - 1000);
      assert.equal(times(asked), index + 2, `before ${pauseMs} ms`);
      await runFor(1000);
      await until(
        () => times(asked) === index + 3,
        `the page to ask after ${pauseMs} ms`,
      );
      await page.locator("#refresh", { hasText: /^Refresh$/ }).waitFor();
    }
    answer("/v1/limits", LIST);
    answer("/v1/models", { json: { data: [] } });
    await runFor(60_000);
    await page.getByRole("alert").waitFor({ state: "hidden" });
    const count = times(asked);
    await runFor(59_000);
    assert.equal(times(asked), count);
  },
  STILL,
);

test(
  "the button retries an unreachable gateway at once, and hides the last failure meanwhile",
  async ({ page, signIn, answer, asked, context, runFor }) => {
    answer("/v1/limits", LIST);
    await signIn();
    answer("/v1/limits", "offline");
    await runFor(60_000);
    const banner = page.locator("#failure");
    await banner.waitFor();
    assert.equal(
      await page.locator("#refresh").getAttribute("aria-disabled"),
      "false",
    );
    const held = Promise.withResolvers<void>();
    await context.unroute("**/v1/limits");
    await context.route("**/v1/limits", async (route) => {
      await held.promise;
      await route.fulfill(LIST);
    });
    await page.click("#refresh");
    await until(() => times(asked) === 3, "the page to ask at once");
    assert.equal(await banner.isVisible(), false);
    held.resolve();
    await page.getByText("Refresh in 1 min 0 s").waitFor();
    assert.equal(await banner.isVisible(), false);
  },
  STILL,
);

test(
  "missing models do not make the page read the quotas sooner",
  async ({ page, signIn, answer, asked, runFor }) => {
    answer("/v1/limits", LIST);
    answer("/v1/models", "offline");
    await signIn();
    await runFor(5000);
    await page.click("#refresh");
    await until(
      () => asked.filter((path) => path === "/v1/models").length >= 3,
      "the page to ask for the models",
    );
    assert.equal(times(asked), 1);
  },
  STILL,
);

test(
  "the models and settings are shown when the quotas cannot be read at first",
  async ({ page, signIn, answer, runFor }) => {
    answer("/v1/limits", TIMED_OUT);
    await signIn();
    assert.equal(
      await page.locator("#summary").innerText(),
      "The quotas are not known yet.",
    );
    assert.match(
      await page.getByRole("alert").innerText(),
      /took longer than 12 seconds\. The page tries again automatically\.$/,
    );
    assert.ok(await page.locator(".model").count() > 0);
    answer("/v1/limits", LIST);
    await runFor(6_000);
    await page.getByText("25% used", { exact: true }).waitFor();
  },
  STILL,
);

test(
  "the quotas are shown when the models cannot be read",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", LIST);
    answer("/v1/models", "offline");
    await signIn();
    assert.equal(await page.locator(".used").innerText(), "25% used");
    assert.equal(
      await page.getByRole("alert").innerText(),
      "Cannot reach the gateway. The page tries again automatically.",
    );
  },
  STILL,
);

test(
  "the page asks for a new token, with the reason, when its token is no longer valid",
  async ({ page, signIn, answer, runFor }) => {
    answer("/v1/limits", LIST);
    await signIn();
    answer("/v1/limits", UNAUTHORIZED);
    await runFor(60_000);
    await page.getByText("The token is unknown.").waitFor();
    assert.equal(await page.locator("#signed-in").isVisible(), false);
    assert.equal(await page.evaluate("sessionStorage.length"), 0);
  },
  STILL,
);

const DAY_MS = 86_400_000;

/** Returns the share of a window that has passed at an instant. */
function shareAt(
  now: string,
  [window, resets_at]: readonly [string, string | null],
  { period_count = null, starts_at = null }: {
    readonly period_count?: number | null;
    readonly starts_at?: string | null;
  } = {},
): number | null {
  return elapsedShare(
    { window, resets_at, period_count, starts_at },
    Date.parse(now),
  );
}

Deno.test("elapsedShare() divides each month by its own length", () => {
  const cases: readonly [string, string, number][] = [
    // November has 30 days, February 28 or 29, and the year of the reset counts.
    ["2026-11-16T00:00Z", "2026-12-01T00:00:00Z", 15 / 30],
    ["2026-01-16T12:00Z", "2026-02-01T00:00:00Z", 15.5 / 31],
    ["2026-02-15T00:00Z", "2026-03-01T00:00:00Z", 14 / 28],
    ["2028-02-15T12:00Z", "2028-03-01T00:00:00Z", 14.5 / 29],
    ["2026-12-31T00:00Z", "2027-01-01T00:00:00Z", 30 / 31],
    // A month of a subscription may begin on any day.
    ["2026-03-17T06:00Z", "2026-04-17T06:00:00Z", 0],
    ["2026-03-30T00:00Z", "2026-03-31T00:00:00Z", 30 / 31],
  ];
  for (const [now, reset, expected] of cases) {
    const share = shareAt(now, ["monthly", reset]) ?? NaN;
    assert.ok(Math.abs(share - expected) < 1e-9, `${now}: ${share}`);
  }
});

Deno.test("elapsedShare() supports years, quarters and windows of constant length", () => {
  const reset = "2027-01-01T00:00:00Z";
  const share = (window: string, now: string, period_count = 1) =>
    shareAt(now, [window, reset], { period_count });
  assert.equal(share("yearly", "2026-01-01T00:00Z"), 0);
  assert.equal(share("three_month", "2026-10-01T00:00Z", 3), 0);
  assert.equal(share("five_hour", "2026-12-31T21:30Z", 5), 0.5);
  assert.equal(share("weekly", "2026-12-25T00:00Z"), 0);
  assert.equal(share("daily", "2026-12-31T18:00Z"), 0.75);
});

Deno.test("elapsedShare() uses the start that the gateway names, in any notation", () => {
  const ends = ["2026-12-01T00:00:00Z", "2026-12-01T01:00:00+01:00"];
  for (const resets_at of ends) {
    const share = shareAt("2026-11-16T00:00Z", ["monthly", resets_at], {
      starts_at: "2026-11-01T00:00:00.000Z",
    });
    assert.equal(share, 0.5);
  }
  const share = shareAt(
    "2026-11-16T00:00Z",
    ["fortnight", "2026-11-23T00:00:00Z"],
    { starts_at: "2026-11-09T00:00:00Z" },
  );
  assert.equal(share, 0.5);
});

Deno.test("elapsedShare() is null when the window, its reset or its length is unknown", () => {
  const now = "2026-11-16T00:00Z";
  const reset = new Date(Date.parse(now) + DAY_MS).toISOString();
  assert.equal(shareAt(now, ["monthly", null]), null);
  assert.equal(shareAt(now, ["monthly", "soon"]), null);
  assert.equal(shareAt(now, ["total", reset]), null);
  assert.equal(shareAt(now, ["unknown", reset]), null);
  assert.equal(shareAt(now, ["five_hour", reset]), null);
  assert.equal(shareAt(now, ["five_hour", reset], { period_count: 0 }), null);
  // The reset has passed, or is further away than the length of the window.
  assert.equal(shareAt(now, ["monthly", "2026-11-15T00:00:00Z"]), null);
  assert.equal(shareAt(now, ["daily", "2026-11-20T00:00:00Z"]), null);
});
