import assert from "node:assert/strict";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import type { Page } from "../../support/browser/browser_packages.ts";
import { pageTests } from "../../support/browser/page_tests.ts";

const test = await pageTests();

/** The id of what has the focus. */
async function focusedId(page: Page): Promise<string> {
  return await page.evaluate<string>("document.activeElement.id");
}

async function stored(page: Page): Promise<string> {
  return await page.evaluate<string>("JSON.stringify(sessionStorage)");
}

test("the page shows the windows of each connection for a token, with the use, the rest and the reset", async ({ page, signIn }) => {
  await signIn();
  assert.deepEqual(await page.locator(".card h3 .card-name").allInnerTexts(), [
    "Demo A",
    "Demo B",
    "Demo C",
  ]);
  const week = page.locator(".card").first().locator(".window").nth(1);
  assert.match(
    await week.innerText(),
    /^1 week credits\s+7,119 of 10,000 left\s+28\.8% used\s+resets in 2 d 2\d h, \w{3} \d\d:\d\d$/,
  );
  const bar = week.getByRole("meter", { name: "1 week credits" });
  assert.equal(await bar.getAttribute("aria-valuenow"), "71.2");
  assert.match(
    await bar.getAttribute("aria-valuetext") ?? "",
    /^7,119 of 10,000 left, plenty left, \S+ of the time is left$/,
  );
  assert.equal(await focusedId(page), "title");
});

test("the page shows why a token is rejected, keeps it in the field, and accepts the next one", async ({ page, signIn, asked }) => {
  await page.fill("#token", "wrong");
  await page.press("#token", "Enter");
  await page.getByRole("alert").filter({ hasText: "token" }).waitFor();
  assert.equal(await focusedId(page), "token");
  assert.equal(await page.getAttribute("#token", "aria-invalid"), "true");
  assert.equal(
    await page.evaluate<string>("getSelection().toString()"),
    "•••••",
  );
  assert.equal(await page.locator("#signed-in").isVisible(), false);
  assert.equal(await stored(page), "{}");
  await signIn();
  assert.equal(await page.locator("#sign-in").isVisible(), false);
  assert.equal(asked.filter((path) => path === "/v1/limits").length, 2);
});

test("the page hides the rejection of a token when the next one is tried", async ({ page, context }) => {
  await page.fill("#token", "wrong");
  await page.press("#token", "Enter");
  const error = page.locator("#sign-in-error");
  await page.locator("#sign-in-error:not(:empty)").waitFor();
  const held = Promise.withResolvers<void>();
  await context.route("**/v1/*", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.press("#token", "Enter");
  await page.getByRole("button", { name: "Loading…" }).waitFor();
  assert.equal(await error.innerText(), "");
  assert.equal(await page.getAttribute("#token", "aria-invalid"), null);
  held.resolve();
  await page.locator("#sign-in-error:not(:empty)").waitFor();
});

test("the page sends no text that cannot be a token", async ({ page, asked }) => {
  await page.fill("#token", "two words");
  await page.press("#token", "Enter");
  await page.getByText("Enter your token").waitFor();
  assert.equal(await focusedId(page), "token");
  assert.deepEqual(asked, ["/"]);
});

test("the token stays in its tab: in no address, cookie, lasting storage or other tab, and not on the page", async ({ page, context, gateway, signIn }) => {
  await signIn();
  assert.match(await stored(page), new RegExp(ALICE_TOKEN));
  assert.equal(page.url(), `${gateway.url}/`);
  assert.deepEqual((await context.storageState()).cookies, []);
  assert.equal(await page.evaluate("localStorage.length"), 0);
  assert.equal((await page.content()).includes(ALICE_TOKEN), false);
  assert.equal(await page.inputValue("#token"), "");
  const other = await context.newPage();
  await other.goto(`${gateway.url}/`);
  await other.waitForSelector("#sign-in");
  assert.equal(await stored(other), "{}");
});

test("the page forgets the token on request", async ({ page, signIn, asked }) => {
  await signIn();
  await page.getByRole("button", { name: "Forget token" }).click();
  await page.waitForSelector("#sign-in");
  assert.equal(await stored(page), "{}");
  assert.equal(await page.locator("#signed-in").isVisible(), false);
  assert.equal(await page.locator("#controls").isVisible(), false);
  assert.equal(await focusedId(page), "token");
  const before = asked.length;
  await page.reload();
  await page.waitForSelector("#sign-in");
  assert.deepEqual(asked.slice(before), ["/"]);
});

test("the page shows nothing of one token to the next", async ({ page, signIn, answer }) => {
  await signIn();
  await page.getByRole("button", { name: "Forget token" }).click();
  const nothing = { json: { object: "list", data: [] } };
  await answer("/v1/limits", nothing);
  await answer("/v1/models", nothing);
  await signIn();
  await page.getByText("No connection is assigned to this token").waitFor();
  assert.equal(await page.locator(".card, .model, .snippet").count(), 0);
});

test("the page keeps its form, with the reason, when the gateway cannot be reached", async ({ page, answer }) => {
  await answer("/v1/limits", "offline");
  await answer("/v1/models", "offline");
  await page.fill("#token", ALICE_TOKEN);
  await page.press("#token", "Enter");
  await page.getByText("Cannot reach the gateway.").waitFor();
  assert.equal(await focusedId(page), "token");
  assert.equal(await stored(page), "{}");
});
