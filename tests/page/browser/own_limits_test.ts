import assert from "node:assert/strict";
import {
  entryOf,
  listOf,
  NOON_MS,
  weekOf,
} from "../../support/wire/limits_list.ts";
import {
  groupLimit,
  ownLimit,
  usageReport,
} from "../../support/wire/own_usage.ts";
import { pageTests } from "../../support/browser/page_tests.ts";
import { until } from "../../support/within.ts";
import {
  MAIN_OPERATIONS,
  operationPath,
  OPERATIONS,
  PROTOCOLS,
} from "../../../src/base/protocol.ts";
import { PROBES } from "../../../src/page/wording/probes.js";
import type { Page } from "../../support/browser/browser_packages.ts";

const test = await pageTests();

const AT_NOON = { nowMs: NOON_MS, timezoneId: "Europe/Berlin" };

const LIST = { json: listOf(entryOf("GLM team", { limits: [weekOf()] })) };

test(
  "the limits of the token and its group come first, with their remainder, usage and reset",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", LIST);
    answer("/v1/usage", {
      json: usageReport(groupLimit(50), ownLimit({ models: ["glm-5.1"] })),
    });
    await signIn();
    const cards = await page.locator(".card").allInnerTexts();
    assert.deepEqual(cards.map((text) => text.split(/\n+/)), [
      [
        ...["Group interns", "shared by its members", "used up until 1 Dec"],
        ...["1 month money", "$0.00 of $50.00 left"],
        ...["100% used", "resets in 10 d 12 h, 1 Dec"],
      ],
      [
        ...["Your token", "its own limits", "plenty left"],
        ...["1 day tokens, for glm-5.1", "3,750,000 of 5,000,000 left"],
        ...["25% used", "resets in 12 h 0 min, at 01:00"],
      ],
      [
        ...["GLM team", "Z.ai", "plenty left"],
        ...["1 week credits", "7,500 of 10,000 left"],
        ...["25% used", "resets in 1 d 0 h, Sat 13:00"],
        "checked 12 s ago",
      ],
    ]);
    assert.equal(
      await page.locator("#summary").innerText(),
      "Used-up limits: Group interns (1 month money) until 1 Dec. " +
        "Requests are refused until it resets. " +
        "Least left of the quotas: GLM team (1 week credits), 7,500 of 10,000 left.",
    );
    const bar = page.getByRole("meter", { name: "1 month money" });
    assert.equal(await bar.getAttribute("aria-valuenow"), "0");
    // Of November, ten and a half of thirty days are left; of the day, half.
    assert.deepEqual(
      await page.locator("#own-cards .mark").evaluateAll((marks) =>
        marks.map((mark) => mark.getAttribute("style"))
      ),
      ["--share: 35%;", "--share: 50%;"],
    );
    assert.match(
      await bar.getAttribute("aria-valuetext") ?? "",
      /35% of the time is left$/,
    );
  },
  AT_NOON,
);

test(
  "the summary names a limit that rejects larger requests before it is used up",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", LIST);
    answer("/v1/usage", { json: usageReport(groupLimit(48.8)) });
    await signIn();
    assert.match(
      await page.locator("#summary").innerText(),
      /^Least left of your limits: Group interns \(1 month money\), \$1\.20 of \$50\.00 left\. A request that needs more is refused\. /,
    );
  },
  AT_NOON,
);

test(
  "a card has one warning, beside its name, and shows only the remainder of a window",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", LIST);
    answer("/v1/usage", { json: usageReport(groupLimit(50)) });
    await signIn();
    const card = page.locator("#own-cards .card");
    const text = await card.innerText();
    assert.equal(text.match(/used up/g)?.length, 1);
    assert.doesNotMatch(text, /usage|spen[dt]/i);
    const [name, badge]: number[] = await page.evaluate(`
      [".card-name", ".badge"].map((one) =>
        document.querySelector("#own-cards " + one).getBoundingClientRect().top)
    `);
    assert.ok(Math.abs((name ?? NaN) - (badge ?? NaN)) < 8, `${name} ${badge}`);
  },
  { ...AT_NOON, viewport: { width: 390, height: 800 } },
);

test(
  "the limits are shown when the quotas cannot be read, and stay when the usage cannot be read",
  async ({ page, signIn, answer, runFor }) => {
    const usage = { json: usageReport(groupLimit(50)) };
    answer("/v1/limits", {
      status: 504,
      json: { error: { message: "Reading the quotas took too long" } },
    });
    answer("/v1/usage", usage);
    await signIn();
    assert.match(
      await page.locator("#summary").innerText(),
      /until it resets\. The quotas are not known yet\.$/,
    );
    assert.equal(await page.locator("#quotas-title").isVisible(), false);
    answer("/v1/limits", LIST);
    answer("/v1/usage", { status: 500, json: {} });
    await runFor(6_000);
    await page.locator("#cards .card").waitFor();
    assert.equal(await page.locator("#own-cards .card").count(), 1);
  },
  AT_NOON,
);

test(
  "limits show their age when newer limits cannot be read",
  async ({ page, signIn, answer, runFor }) => {
    const runUntil = (holds: () => Promise<boolean>, what: string) =>
      until(async () => {
        await runFor(10_000);
        return await holds();
      }, what);
    const banner = page.locator("#failure");
    const age = page.locator("#own-cards .checked");
    answer("/v1/limits", LIST);
    answer("/v1/usage", { json: usageReport(groupLimit(20)) });
    await signIn();
    assert.equal(await banner.isVisible(), false);
    assert.equal(await age.count(), 0);
    const reason = page.getByText(
      "Your limits could not be read: those below are from Fri 20 Nov, 13:00 CET. " +
        "The page tries again automatically.",
      { exact: true },
    );
    for (const status of [500, 429, 503]) {
      answer("/v1/usage", { status, json: { error: { message: "No" } } });
      await runFor(60_000);
      await runUntil(() => reason.isVisible(), "the reason to be shown");
    }
    assert.match(await age.innerText(), /^checked [3-9] min ago$/);
    assert.match(
      await page.locator("#own-cards").innerText(),
      /\$30\.00 of \$50\.00 left/,
    );
    await page.reload();
    await banner.waitFor();
    answer("/v1/usage", { json: usageReport(groupLimit(25)) });
    const left = page.getByText("$25.00 of $50.00 left", { exact: true });
    await runUntil(
      async () => await left.isVisible() && !await banner.isVisible(),
      "the limits to be read again",
    );
    assert.equal(await age.count(), 0);
  },
  AT_NOON,
);

test(
  "a sentence replaces limits that could not be read",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", LIST);
    answer("/v1/usage", { status: 500, json: {} });
    await signIn();
    assert.equal(
      await page.locator("#failure").innerText(),
      "Your limits could not be read. The page tries again automatically.",
    );
    assert.equal(await page.locator("#own").isVisible(), false);
  },
  AT_NOON,
);

test("the page explains the bars of limits and of quotas only if it shows such bars", async ({ page, signIn, answer }) => {
  const usage = { json: usageReport(groupLimit(50)) };
  answer("/v1/usage", usage);
  answer("/v1/limits", { json: listOf(entryOf("GLM team")) });
  await signIn();
  const legend = page.locator("#legend");
  assert.equal(
    (await legend.innerText()).trim(),
    "A bar shows what is left. The mark on it shows the time left.",
  );
  await page.getByRole("button", { name: "Forget token" }).click();
  answer("/v1/limits", LIST);
  await signIn();
  assert.match(await legend.innerText(), / Each quota is shared by everyone/);
});

test("the page has no part for limits if there are none, or the gateway does not report them", async ({ page, signIn, answer }) => {
  answer("/v1/limits", LIST);
  for (const json of [usageReport(), { error: { message: "No such path" } }]) {
    answer("/v1/usage", { json });
    await signIn();
    assert.equal(await page.locator("#own").isVisible(), false);
    await page.getByRole("button", { name: "Forget token" }).click();
  }
});

test(
  "the page shows the limits of a real gateway, and a rejected request names the page's address",
  async ({ page, signIn, asked }) => {
    await signIn();
    const card = page.locator("#own-cards .card");
    assert.match(await card.innerText(), /1 day requests\s+1 of 1 left/);
    await page.selectOption("#model", "demo-a");
    await page.click("#try");
    const step = page.locator(".step.bad");
    await step.waitFor();
    assert.match(
      await step.innerText(),
      /this token may use 1 request per day and has used 1\. .* will reset at \w{3} \d+ \w{3}, \d\d:\d\d GMT\+8\. See your limits at http:\/\/127\.0\.0\.1:\d+\/ or with model-gateway usage\./,
    );
    assert.equal(asked.filter((path) => path === "/v1/messages").length, 2);
    await card.getByText("0 of 1 left").waitFor();
    assert.equal(asked.filter((path) => path === "/v1/limits").length, 1);
  },
  { limits: [{ window: "day", requests: 1 }], timezoneId: "Asia/Shanghai" },
);

async function steps(page: Page): Promise<readonly string[]> {
  const texts = await page.locator(".step").allInnerTexts();
  return texts.map((text) => text.split(/\s+/).join(" "));
}

/** Presses the button and waits for the end of the trial. */
async function tryIt(page: Page): Promise<readonly string[]> {
  await page.click("#try");
  await page.getByRole("button", { name: "Try it", exact: true }).waitFor();
  return await steps(page);
}

test("a model is tried from the page in the protocol of each client, with the tab's token", async ({ page, signIn, asked }) => {
  await signIn();
  for (
    const [client, path] of [
      ["Claude Code", "/v1/messages"],
      ["Codex CLI", "/v1/responses"],
      ["curl", "/v1/chat/completions"],
    ] as const
  ) {
    await page.locator("#clients").getByText(client, { exact: true }).click();
    await page.selectOption("#model", "demo-a");
    const before = asked.length;
    assert.deepEqual(await tryIt(page), [
      `good model demo-a answers on ${path}.`,
      "good stream it arrives and ends correctly.",
      "good tools demo-a calls them.",
    ]);
    const sent = asked.slice(before).filter((one) => one !== "/v1/usage");
    assert.deepEqual(sent, [path, path, path]);
  }
});

test("a trial uses the model's native protocol if the client speaks it, and needs a model", async ({ page, signIn, answer, asked }) => {
  const protocols = ["chat", "messages", "responses"];
  const models = [
    { id: "demo-b", protocols, native_protocols: ["messages"] },
    { id: "demo-a", protocols: ["chat"] },
  ];
  answer("/v1/models", { json: { data: models } });
  await signIn();
  await page.locator("#clients").getByText("opencode", { exact: true }).click();
  assert.equal(
    (await tryIt(page))[0],
    "good model demo-b answers on /v1/messages.",
  );
  await page.selectOption("#model", "demo-a");
  await tryIt(page);
  assert.ok(asked.includes("/v1/chat/completions"));
  await page.getByRole("button", { name: "Forget token" }).click();
  answer("/v1/models", { json: { data: [] } });
  await signIn();
  assert.equal(await page.locator("#try").isDisabled(), true);
});

test("a trial ends at the first failed step, with the reason and a remedy", async ({ page, signIn }) => {
  await signIn();
  await page.locator("#clients").getByText("curl", { exact: true }).click();
  const cases: readonly [string, RegExp][] = [
    [
      "demo-error-429",
      /^bad model demo-error-429 failed with HTTP 429\. .* The top of this page shows what is left\.$/,
    ],
    [
      "demo-error-500",
      /^bad model demo-error-500 failed with HTTP 50\d\. .* Try another model\. If that fails too, contact the administrator\.$/,
    ],
  ];
  for (const [model, expected] of cases) {
    await page.selectOption("#model", model);
    const [only = "", ...more] = await tryIt(page);
    assert.match(only, expected);
    assert.deepEqual(more, []);
  }
});

const ANSWER = { json: { choices: [{ message: { content: "OK" } }] } };

test("a trial detects a proxy that buffers streams, and a model that calls no tool", async ({ page, signIn, answer, context }) => {
  await signIn();
  await page.locator("#clients").getByText("curl", { exact: true }).click();
  await page.selectOption("#model", "demo-a");
  answer("/v1/chat/completions", ANSWER);
  assert.match(
    (await tryIt(page))[1] ?? "",
    /^bad stream demo-a sent application\/json instead of a stream\. A proxy may/,
  );
  await context.unroute("**/v1/chat/completions");
  let count = 0;
  await context.route("**/v1/chat/completions", async (route) => {
    count += 1;
    const body = count === 2 ? "data: [DONE]\n\n" : JSON.stringify(ANSWER.json);
    const contentType = count === 2 ? "text/event-stream" : "application/json";
    await route.fulfill({ body, contentType });
  });
  assert.deepEqual((await tryIt(page)).slice(1), [
    "good stream it arrives and ends correctly.",
    "bad tools demo-a did not call the tool in the prompt. For an agent, choose another model.",
  ]);
  await context.unroute("**/v1/chat/completions");
  await context.route("**/v1/chat/completions", async (route) => {
    const isStream = route.request().postDataJSON().stream === true;
    await route.fulfill(
      isStream
        ? { body: "data: {}\n\n", contentType: "text/event-stream" }
        : ANSWER,
    );
  });
  assert.match(
    (await tryIt(page))[1] ?? "",
    /^bad stream The stream of demo-a broke off\./,
  );
});

test("a trial reports an absent gateway and a rejected token", async ({ page, signIn, answer }) => {
  await signIn();
  await page.locator("#clients").getByText("curl", { exact: true }).click();
  answer("/v1/chat/completions", "offline");
  assert.deepEqual(await tryIt(page), ["bad model Cannot reach the gateway."]);
  answer("/v1/chat/completions", { status: 401, json: {} });
  assert.match(
    (await tryIt(page))[0] ?? "",
    /failed with HTTP 401\. The response gives no reason\.$/,
  );
});

test("choosing another model ends a trial, and the page hides the trial from the next token", async ({ page, signIn, context }) => {
  await signIn();
  await page.locator("#clients").getByText("curl", { exact: true }).click();
  await page.selectOption("#model", "demo-a");
  const held = Promise.withResolvers<void>();
  await context.route("**/v1/chat/completions", async (route) => {
    await held.promise;
    await route.fulfill(ANSWER);
  });
  await page.click("#try");
  const button = page.locator("#try");
  assert.equal(await button.innerText(), "Trying…");
  assert.equal(await button.getAttribute("aria-disabled"), "true");
  await page.selectOption("#model", "demo-b");
  assert.equal(await button.innerText(), "Try it");
  const answered = page.waitForResponse("**/v1/chat/completions");
  held.resolve();
  await answered;
  assert.deepEqual(await steps(page), []);
  await tryIt(page);
  assert.equal(await page.locator(".step").count(), 2);
  await page.getByRole("button", { name: "Forget token" }).click();
  await signIn();
  assert.equal(await page.locator(".step").count(), 0);
});

Deno.test("the page sends a trial to the path of the protocol's main operation", () => {
  for (const protocol of PROTOCOLS) {
    const operation = OPERATIONS[MAIN_OPERATIONS[protocol]];
    assert.equal(
      PROBES[protocol].path,
      operationPath(operation, "any", { stream: true }),
    );
    assert.equal(operation.streamField, "stream");
  }
});
