import assert from "node:assert/strict";
import { pageTests } from "../../support/browser/page_tests.ts";
import { NOON_MS } from "../../support/wire/limits_list.ts";
import { ownLimit, usageReport } from "../../support/wire/own_usage.ts";

const test = await pageTests();

test(
  "the page draws a bar for each day, the pace of today and the limit, with the numbers in a table",
  async ({ page, answer, signIn }) => {
    await answer("/v1/usage", {
      json: usageReport(ownLimit({ unit: "USD", limit: 3 })),
    });
    await signIn();
    assert.equal(await page.locator("#history .bar").count(), 35);
    assert.equal(await page.locator("#history .bar-expected").count(), 1);
    assert.equal(await page.locator("#history .bar-limit").count(), 1);
    assert.equal(
      await page.locator("#history .note").innerText(),
      "$36.00 in 35 days, $8.25 in the last 7. Today $2.25, at this pace $4.50 by midnight UTC. The limit of a day is $3.00.",
    );
    await page.click("#history summary");
    const first = page.locator("#history tbody tr").first();
    assert.equal(
      (await first.innerText()).replaceAll(/\s+/g, " "),
      "2026-11-20 108 900,000 720,000 45,000 36,000 $2.25",
    );
  },
  { nowMs: NOON_MS },
);

test("the reader chooses tokens or cost by keyboard, and sees the sum of a group", async ({ page, answer, signIn, axeFindings }) => {
  const report = usageReport();
  const group = report.history.map((day) => ({ ...day, cost_usd: 1 }));
  await answer("/v1/usage", {
    json: { ...report, groups: [{ name: "interns", history: group }] },
  });
  await signIn();
  const note = page.locator("#history .note");
  assert.match(await note.innerText(), /^\$36\.00 in 35 days/);
  await page.focus("#history-unit-USD");
  await page.keyboard.press("ArrowLeft");
  assert.match(await note.innerText(), /^14\.98M tokens in 35 days/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowRight");
  assert.match(await note.innerText(), /^\$35\.00 in 35 days/);
  await page.click("#history summary");
  assert.deepEqual(await axeFindings(), []);
});

test("a gateway without a history shows none", async ({ page, answer, signIn }) => {
  const { history: _, ...older } = usageReport();
  await answer("/v1/usage", { json: older });
  await signIn();
  assert.equal(await page.locator("#history").isVisible(), false);
});
