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

const test = await pageTests();

/** The page's clock stands still and goes on when a test says so. */
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

/** How often the quotas were asked for. */
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
  "the page reads again after refresh_after_seconds and no sooner, even after a press of the button",
  async ({ page, signIn, answer, asked }) => {
    const refresh = page.locator("#refresh");
    await answer("/v1/limits", {
      json: { ...LIST.json, refresh_after_seconds: 90 },
    });
    await signIn();
    await page.clock.runFor(89_000);
    assert.equal(await refresh.innerText(), "Refresh in 1 s");
    assert.equal(await refresh.getAttribute("aria-disabled"), "true");
    await refresh.click({ force: true });
    await page.clock.runFor(900);
    assert.equal(times(asked), 1);
    await answer("/v1/limits", {
      json: listOf(entryOf("Mine", { limits: [shareOf(61)] })),
    });
    await page.clock.runFor(100);
    await page.getByText("61% used", { exact: true }).waitFor();
    assert.equal(times(asked), 2);
  },
  STILL,
);

test(
  "a hidden page sends nothing until it is visible again",
  async ({ page, signIn, answer, asked }) => {
    await answer("/v1/limits", LIST);
    await signIn();
    await setVisibility(page, "hidden");
    await page.clock.runFor(300_000);
    assert.equal(times(asked), 1);
    await setVisibility(page, "visible");
    await until(() => times(asked) === 2, "the page to catch up");
  },
  STILL,
);

test(
  "the button refreshes as soon as the gateway allows",
  async ({ page, signIn, answer, asked }) => {
    await answer("/v1/limits", LIST);
    await signIn();
    await setVisibility(page, "hidden");
    await page.clock.runFor(61_000);
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
  "a reloaded page shows its last reading and reads no sooner than before",
  async ({ page, signIn, answer, asked }) => {
    await answer("/v1/limits", LIST);
    await signIn();
    await page.clock.runFor(20_000);
    await page.reload();
    await page.getByText("25% used", { exact: true }).waitFor();
    await page.clock.runFor(39_000);
    assert.equal(times(asked), 1);
    await page.clock.runFor(1_000);
    await until(() => times(asked) === 2, "the page to ask again");
  },
  STILL,
);

test(
  "the countdowns continue between two readings",
  async ({ page, signIn, answer, asked }) => {
    await answer("/v1/limits", LIST);
    await signIn();
    const reset = page.locator(".reset");
    const checked = page.locator(".checked");
    assert.equal(await reset.innerText(), "resets in 1 d 0 h, Sat 12:00");
    assert.equal(await checked.innerText(), "checked 12 s ago");
    await page.clock.runFor(30_000);
    assert.equal(await reset.innerText(), "resets in 23 h 59 min, at 12:00");
    assert.equal(await checked.innerText(), "checked 42 s ago");
    assert.equal(times(asked), 1);
  },
  { ...STILL, timezoneId: "UTC" },
);

test(
  "a failed refresh keeps the last reading, with its age and the reason",
  async ({ page, signIn, answer }) => {
    await answer("/v1/limits", LIST);
    await signIn();
    await answer("/v1/limits", TIMED_OUT);
    await page.clock.runFor(60_000);
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
    await answer("/v1/limits", LIST);
    await page.clock.runFor(6_000);
    await banner.waitFor({ state: "hidden" });
  },
  { ...STILL, timezoneId: "UTC" },
);

test(
  "a page retries an absent gateway with growing pauses, and continues as before when it is back",
  async ({ page, signIn, answer, asked }) => {
    await answer("/v1/limits", LIST);
    await signIn();
    await answer("/v1/limits", "offline");
    await answer("/v1/models", "offline");
    await page.clock.runFor(60_000);
    await page.getByRole("alert").waitFor();
    assert.equal(times(asked), 2);
    for (
      const [index, pauseMs] of [5000, 10_000, 20_000, 40_000, 60_000].entries()
    ) {
      await page.clock.runFor(pauseMs - 1000);
      assert.equal(times(asked), index + 2, `before ${pauseMs} ms`);
      await page.clock.runFor(1000);
      await until(
        () => times(asked) === index + 3,
        `the page to ask after ${pauseMs} ms`,
      );
      await page.locator("#refresh", { hasText: /^Refresh$/ }).waitFor();
    }
    await answer("/v1/limits", LIST);
    await answer("/v1/models", { json: { data: [] } });
    await page.clock.runFor(60_000);
    await page.getByRole("alert").waitFor({ state: "hidden" });
    const count = times(asked);
    await page.clock.runFor(59_000);
    assert.equal(times(asked), count);
  },
  STILL,
);

test(
  "a press retries an absent gateway at once, and hides the last failure meanwhile",
  async ({ page, signIn, answer, asked, context }) => {
    await answer("/v1/limits", LIST);
    await signIn();
    await answer("/v1/limits", "offline");
    await page.clock.runFor(60_000);
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
  "missing models cause no earlier reading of quotas",
  async ({ page, signIn, answer, asked }) => {
    await answer("/v1/limits", LIST);
    await answer("/v1/models", "offline");
    await signIn();
    await page.clock.runFor(5000);
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
  async ({ page, signIn, answer }) => {
    await answer("/v1/limits", TIMED_OUT);
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
    await answer("/v1/limits", LIST);
    await page.clock.runFor(6_000);
    await page.getByText("25% used", { exact: true }).waitFor();
  },
  STILL,
);

test(
  "the quotas are shown when the models cannot be read",
  async ({ page, signIn, answer }) => {
    await answer("/v1/limits", LIST);
    await answer("/v1/models", "offline");
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
  "the page requests a new token, with the reason, when its own is no longer valid",
  async ({ page, signIn, answer }) => {
    await answer("/v1/limits", LIST);
    await signIn();
    await answer("/v1/limits", UNAUTHORIZED);
    await page.clock.runFor(60_000);
    await page.getByText("The token is unknown.").waitFor();
    assert.equal(await page.locator("#signed-in").isVisible(), false);
    assert.equal(await page.evaluate("sessionStorage.length"), 0);
  },
  STILL,
);
