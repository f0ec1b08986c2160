import assert from "node:assert/strict";
import {
  MAIN_OPERATIONS,
  operationPath,
  OPERATIONS,
  PROTOCOLS,
} from "../../../src/core/protocol.ts";
import { PROBES } from "../../../src/http/wording/probes.js";
import type { Page } from "../../support/browser/browser_packages.ts";
import { pageTests } from "../../support/browser/page_tests.ts";

const test = await pageTests();

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

test("a trial uses the model's native protocol where the client speaks it, and none without a model", async ({ page, signIn, answer, asked }) => {
  const protocols = ["chat", "messages", "responses"];
  const models = [
    { id: "demo-b", protocols, native_protocols: ["messages"] },
    { id: "demo-a", protocols: ["chat"] },
  ];
  await answer("/v1/models", { json: { data: models } });
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
  await answer("/v1/models", { json: { data: [] } });
  await signIn();
  assert.equal(await page.locator("#try").isDisabled(), true);
});

test("a trial ends at the first failed step, with the reason and an instruction", async ({ page, signIn }) => {
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

test("a trial finds a proxy that streams nothing, and a model that calls no tool", async ({ page, signIn, answer, context }) => {
  await signIn();
  await page.locator("#clients").getByText("curl", { exact: true }).click();
  await page.selectOption("#model", "demo-a");
  await answer("/v1/chat/completions", ANSWER);
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
  await answer("/v1/chat/completions", "offline");
  assert.deepEqual(await tryIt(page), ["bad model Cannot reach the gateway."]);
  await answer("/v1/chat/completions", { status: 401, json: {} });
  assert.match(
    (await tryIt(page))[0] ?? "",
    /failed with HTTP 401\. The response gives no reason\.$/,
  );
});

test("another choice ends a trial, and the next token shows nothing of it", async ({ page, signIn, context }) => {
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
