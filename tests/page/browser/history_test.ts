import assert from "node:assert/strict";
import { NOON_MS } from "../../support/wire/limits_list.ts";
import { ownLimit, usageReport } from "../../support/wire/own_usage.ts";
import { pageTests } from "../../support/browser/page_tests.ts";

const test = await pageTests();

test(
  "the page draws a bar for each day, the pace of today and the limit, with the numbers in a table",
  async ({ page, answer, signIn }) => {
    answer("/v1/usage", {
      json: usageReport(ownLimit({ unit: "USD", limit: 3 })),
    });
    await signIn();
    assert.equal(await page.locator("#history .bar").count(), 35);
    assert.equal(await page.locator("#history .bar-expected").count(), 1);
    assert.equal(await page.locator("#history .bar-limit").count(), 1);
    assert.deepEqual(await page.locator(".chart-text span").allInnerTexts(), [
      "$4.50",
      "pale: today at this pace, dashed: the limit",
      "2026-10-17",
      "today, UTC",
    ]);
    assert.equal(
      await page.locator("#history .note").first().innerText(),
      "$36.00 since 2026-10-18, $8.25 in the last 7 days. Today $2.25, at this pace about $4.50 by midnight UTC. The limit is $3.00 a day.",
    );
    assert.match(
      await page.locator("#history .note").last().innerText(),
      /^This month: 3 turns read little or nothing from the prompt cache/,
    );
    await page.click("#history summary");
    const first = page.locator("#history tbody tr").first();
    assert.equal(
      (await first.innerText()).replaceAll(/\s+/g, " "),
      "2026-11-20 $2.25 108 900,000 720,000 45,000 36,000",
    );
  },
  { nowMs: NOON_MS },
);

test("the reader chooses requests, tokens or cost by keyboard, and sees the sum of a group", async ({ page, answer, signIn, axeFindings }) => {
  const report = usageReport();
  const group = report.history.map((day) => ({ ...day, cost_usd: 1 }));
  answer("/v1/usage", {
    json: { ...report, groups: [{ name: "interns", history: group }] },
  });
  await signIn();
  const note = page.locator("#history .note").first();
  assert.match(await note.innerText(), /^\$36\.00 since 2026-10-18/);
  await page.focus("#history-unit-USD");
  await page.keyboard.press("ArrowLeft");
  assert.match(await note.innerText(), /^14\.98M tokens since 2026-10-18/);
  await page.keyboard.press("ArrowLeft");
  assert.match(await note.innerText(), /^1,728 requests since 2026-10-18/);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowRight");
  assert.match(await note.innerText(), /^\$34\.00 since 2026-10-18/);
  await page.click("#history summary");
  assert.deepEqual(await axeFindings(), []);
});

test("without any price, the days show tokens and offer no cost", async ({ page, answer, signIn }) => {
  const report = usageReport();
  const history = report.history.map((day) => ({ ...day, cost_usd: null }));
  answer("/v1/usage", { json: { ...report, history } });
  await signIn();
  const note = page.locator("#history .note").first();
  assert.match(await note.innerText(), /^14\.98M tokens since /);
  const choices = page.locator("#history-choices .choice");
  assert.deepEqual(await choices.allInnerTexts(), ["Requests", "Tokens"]);
});

test(
  "a limit of requests has a line, and requests are shown first if nothing else is limited",
  async ({ page, answer, signIn }) => {
    const report = usageReport(ownLimit({ unit: "requests", limit: 200 }));
    const history = report.history.map((day) => ({ ...day, cost_usd: null }));
    answer("/v1/usage", { json: { ...report, history } });
    await signIn();
    assert.equal(await page.isChecked("#history-unit-requests"), true);
    assert.equal(await page.locator("#history .bar-limit").count(), 1);
    assert.match(
      await page.locator("#history .note").first().innerText(),
      /at this pace about 220 requests by midnight UTC\. The limit is 200 requests a day\.$/,
    );
    assert.match(
      await page.locator("#history .bar title").last().innerHTML(),
      /^2026-11-20: 108 requests$/,
    );
  },
  { nowMs: NOON_MS },
);

/** The heights of the bars of the days with requests, in pixels. */
const HEIGHTS = `
  [...document.querySelectorAll("#history .bar")]
    .map((bar) => bar.getBoundingClientRect().height)
    .filter((height) => height > 0)
`;

test(
  "a limit far above the usage is named instead of drawn, so that the bars fill the chart",
  async ({ page, answer, signIn }) => {
    answer("/v1/usage", {
      json: usageReport(ownLimit({ unit: "USD", limit: 900 })),
    });
    await signIn();
    assert.equal(await page.locator("#history .bar-limit").count(), 0);
    assert.deepEqual(
      await page.locator(".chart-text span").allInnerTexts().then((all) =>
        all.slice(0, 2)
      ),
      ["$4.50", "pale: today at this pace, the limit is 200 times this height"],
    );
    const heights = await page.evaluate<number[]>(HEIGHTS);
    // Half of the expected amount of today, whose bar has the full height of 140 within its borders.
    assert.ok(Math.max(...heights) > 65, heights.join());
  },
  { nowMs: NOON_MS },
);

test("the bar of a day with little usage is visible beside a high bar", async ({ page, answer, signIn }) => {
  const report = usageReport();
  const history = report.history.map((day, index) => ({
    ...day,
    cost_usd: index === 3 ? 5000 : day.cost_usd,
  }));
  answer("/v1/usage", { json: { ...report, history } });
  await signIn();
  const heights = await page.evaluate<number[]>(HEIGHTS);
  assert.equal(heights.length, 30);
  assert.ok(Math.min(...heights) >= 1.9, String(Math.min(...heights)));
});

test("a cost that leaves requests out is marked, with the number of these requests", async ({ page, answer, signIn }) => {
  const report = usageReport();
  const history = report.history.map((day, index) => ({
    ...day,
    unpriced_requests: index === 33 ? 4 : 0,
  }));
  answer("/v1/usage", { json: { ...report, history } });
  await signIn();
  const note = page.locator("#history .note").first();
  const left = "The cost leaves out 4 requests to models without a price.";
  assert.ok((await note.innerText()).endsWith(left));
  await page.click("#history summary");
  const cells = page.locator("#history-numbers table").first()
    .locator("tbody tr td:nth-child(2)");
  const marked = (await cells.allInnerTexts()).map((text) =>
    text.endsWith("+")
  );
  assert.deepEqual(marked.slice(0, 3), [false, true, false]);
  assert.equal(marked.filter(Boolean).length, 1);
  await page.locator("label", { hasText: "Tokens" }).click();
  assert.ok(!(await note.innerText()).includes("leaves out"));
});

test("a history without requests is one sentence, without bars and tables", async ({ page, answer, signIn }) => {
  const report = usageReport();
  const history = report.history.map((day) => ({ ...day, requests: 0 }));
  answer("/v1/usage", { json: { ...report, history } });
  await signIn();
  assert.equal(
    (await page.locator("#history").innerText()).replaceAll(/\s+/g, " "),
    "The last five weeks No requests were counted in the last 35 days.",
  );
});

test("a gateway without a history shows none", async ({ page, answer, signIn }) => {
  const { history: _, ...older } = usageReport();
  answer("/v1/usage", { json: older });
  await signIn();
  assert.equal(await page.locator("#history").isVisible(), false);
});
