/**
 * Draws the page. Without arguments, it writes docs/page.png. With a folder, it writes a picture of each scene there,
 * light and dark, at the widths of a phone, a tablet and a desktop.
 */
import {
  balanceOf,
  entryOf,
  everyState,
  listOf,
  NOON_MS,
  shareOf,
  weekOf,
} from "../../support/wire/limits_list.ts";
import {
  groupLimit,
  ownLimit,
  usageReport,
} from "../../support/wire/own_usage.ts";
import { endBrowser, startBrowser } from "../../support/browser/browser.ts";
import { type Visit, visitPage } from "../../support/browser/page_tests.ts";
import type { QuotaWindow } from "../../../src/page/answers.ts";

const WIDTHS = [360, 800, 1280];
const SCHEMES = ["light", "dark"] as const;

const PICTURE = new URL("../../../docs/page.png", import.meta.url);
const PICTURE_WIDTH = 1100;
const PICTURE_SCALE = 1.4;
const PICTURE_MARGIN = 24;

const LONG = "a-name-without-a-space-".repeat(4);

const fiveHours = (used: number, parts: Partial<QuotaWindow> = {}) =>
  shareOf(used, {
    window: "five_hour",
    period_unit: 3,
    period_count: 5,
    resets_at: "2026-11-20T14:41:00.000Z",
    ...parts,
  });

const GLM = entryOf("GLM team", {
  limits: [
    fiveHours(34.4, {
      type: "CREDIT_LIMIT",
      unit: "credits",
      limit: 2000,
      used: 688,
      remaining: 1312,
    }),
    weekOf({ resets_at: "2026-11-23T08:00:00.000Z" }),
  ],
});

const CLAUDE = entryOf("Claude Max", {
  service: "anthropic",
  limits: [fiveHours(100), shareOf(46)],
});

const STOCK = entryOf("DeepSeek", {
  service: "deepseek",
  limits: [balanceOf(110.5, "CNY")],
});

const FAILING = entryOf("OpenRouter", {
  service: "openrouter",
  failing: { until: "2026-11-20T12:05:00.000Z", cause: "authentication" },
  limits: [balanceOf(12.4, "USD")],
});

/** The quotas and the usage of each scene. */
const SCENES: Readonly<Record<string, [unknown, unknown?]>> = {
  none: [listOf()],
  one: [listOf(GLM), usageReport(ownLimit())],
  twelve: [
    listOf(
      ...Array.from(
        { length: 12 },
        (_, index) =>
          entryOf(`Account ${index + 1}`, {
            limits: [fiveHours((index * 9) % 101), shareOf((index * 23) % 101)],
          }),
      ),
    ),
    usageReport(ownLimit(), groupLimit(12)),
  ],
  states: [
    listOf(...everyState().data, FAILING),
    usageReport(
      ownLimit({ used: 5_000_000, remaining: 0, used_percent: 100 }),
      groupLimit(48.8),
    ),
  ],
  unpriced: [
    listOf(GLM, CLAUDE),
    {
      ...usageReport(
        ownLimit({
          unit: "requests",
          limit: 900,
          used: 96,
          remaining: 804,
          used_percent: 10.6,
        }),
        ownLimit({
          unit: "USD",
          limit: 900,
          used: 2.25,
          remaining: 897.75,
          used_percent: 0.25,
        }),
      ),
      history: usageReport().history.map((day) => ({
        ...day,
        unpriced_requests: 3,
      })),
    },
  ],
  long: [
    listOf(
      ...everyState().data.map((one) => ({ ...one, name: LONG })),
    ),
    usageReport(groupLimit(50, { group: LONG, models: [LONG] })),
  ],
};

/** Opens the page with these quotas and this usage. */
async function open(
  { page, signIn, answer }: Visit,
  [list, usage = usageReport()]: readonly [unknown, unknown?],
): Promise<void> {
  answer("/v1/limits", { json: list });
  answer("/v1/usage", { json: usage });
  await signIn();
  await page.locator("#summary").waitFor({ state: "attached" });
}

const [folder] = Deno.args;
const found = await startBrowser();
if ("reason" in found) throw new Error(found.reason);
const options = { nowMs: NOON_MS, timezoneId: "Europe/Berlin" };
if (folder === undefined) {
  await visitPage(found, async (visit) => {
    await open(visit, [listOf(GLM, CLAUDE, STOCK), usageReport(ownLimit())]);
    const end = await visit.page.evaluate<number>(
      `document.getElementById("history").getBoundingClientRect().bottom`,
    );
    const height = Math.round(end + PICTURE_MARGIN);
    await visit.page.screenshot({
      path: PICTURE.pathname,
      fullPage: true,
      clip: { x: 0, y: 0, width: PICTURE_WIDTH, height },
    });
  }, {
    ...options,
    viewport: { width: PICTURE_WIDTH, height: 800 },
    deviceScaleFactor: PICTURE_SCALE,
  });
} else {
  await Deno.mkdir(folder, { recursive: true });
  for (const [name, scene] of Object.entries(SCENES)) {
    await visitPage(found, async (visit) => {
      const { page } = visit;
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.screenshot({ path: `${folder}/sign-in.png` });
      await open(visit, scene);
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 900 });
          await page.screenshot({
            path: `${folder}/${name}-${colorScheme}-${width}.png`,
            fullPage: true,
          });
        }
      }
    }, options);
  }
}
await endBrowser(found.browser);
