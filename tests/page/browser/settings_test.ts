import assert from "node:assert/strict";
import type { Page } from "../../support/browser/browser_packages.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { runSetup } from "../../../src/tools/setup/command.ts";
import { CLIENTS } from "../../../src/page/wording/settings.js";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { until } from "../../support/within.ts";
import { pageTests } from "../../support/browser/page_tests.ts";

const test = await pageTests();

const MODELS = {
  json: {
    data: [
      {
        id: "everywhere",
        protocols: ["chat", "messages", "responses"],
        native_protocols: ["messages"],
        context_length: 131_072,
        architecture: { input_modalities: ["text", "image"] },
      },
      { id: "it's/chat only", protocols: ["chat"] },
      { id: "claude", protocols: ["messages"] },
      { id: "gpt", protocols: ["responses"] },
    ],
  },
};

const CHAT = ["everywhere", "it's/chat only"];
const MESSAGES = ["everywhere", "claude"];
const ALL = ["everywhere", "it's/chat only", "claude", "gpt"];

/** The models that each client supports. */
const FITTING = {
  "Claude Code": MESSAGES,
  "Codex CLI": ["everywhere", "gpt"],
  "opencode": ALL,
  "Qwen Code": CHAT,
  "Continue": CHAT,
  "VS Code": ALL,
  "Zed": ALL,
  "Cursor": CHAT,
  "OpenAI SDK, JavaScript": CHAT,
  "OpenAI SDK, Python": CHAT,
  "Anthropic SDK, JavaScript": MESSAGES,
  "Anthropic SDK, Python": MESSAGES,
  "curl": CHAT,
};

const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };

async function pickClient(page: Page, name: string): Promise<void> {
  await page.locator("#clients").getByText(name, { exact: true }).click();
}

async function readClipboard(page: Page): Promise<string> {
  return await page.evaluate<string>("navigator.clipboard.readText()");
}

/** Presses a button of the snippet at `index` and reads what it copies. */
async function copied(
  page: Page,
  { index, button }: { readonly index: number; readonly button: string },
): Promise<string> {
  await page.locator(".snippet").nth(index)
    .getByRole("button", { name: button, exact: true }).click();
  await page.getByRole("status").filter({ hasText: `${button}: Copied.` })
    .waitFor({ state: "attached" });
  return await readClipboard(page);
}

test("each client offers the models that it supports, and shows how many models it does not support", async ({ page, signIn, answer }) => {
  answer("/v1/models", MODELS);
  await signIn();
  assert.deepEqual(
    await page.locator("#clients label").allInnerTexts(),
    Object.keys(FITTING),
  );
  for (const [client, models] of Object.entries(FITTING)) {
    await pickClient(page, client);
    assert.deepEqual(await page.locator("#model option").allInnerTexts(), [
      ...models,
    ], client);
    assert.match(
      await page.locator("#model-hint").innerText(),
      models === ALL ? /^$/ : new RegExp(
        `^${client} uses \\w+\\. 2 models are not served with that`,
      ),
    );
  }
});

test("the settings of every client name this gateway and the chosen model, and show no token", async ({ page, signIn, answer, gateway }) => {
  answer("/v1/models", MODELS);
  await signIn();
  for (const [client, models] of Object.entries(FITTING)) {
    await pickClient(page, client);
    for (const model of models) {
      await page.selectOption("#model", model);
      const texts = (await page.locator("pre").allInnerTexts()).join("\n");
      assert.ok(texts.includes(gateway.url), client);
      // A shell writes an apostrophe in its own way.
      assert.ok(texts.replaceAll(`'\\''`, "'").includes(model), texts);
      assert.ok(texts.includes("YOUR_TOKEN"), client);
      assert.equal((await page.content()).includes(ALICE_TOKEN), false);
    }
  }
});

test(
  "a text is copied as displayed, or with the reader's token",
  async ({ page, signIn, gateway }) => {
    await signIn();
    await pickClient(page, "Claude Code");
    const shown = await page.locator("pre").nth(0).innerText();
    const copy = { index: 0, button: "Copy" };
    assert.equal(await copied(page, copy), shown);
    assert.equal(JSON.parse(shown).env.ANTHROPIC_BASE_URL, gateway.url);
    assert.equal(
      await copied(page, { index: 1, button: "Copy" }),
      "export MODEL_GATEWAY_TOKEN=YOUR_TOKEN",
    );
    assert.equal(
      await copied(page, { index: 1, button: "Copy with my token" }),
      `export MODEL_GATEWAY_TOKEN=${ALICE_TOKEN}`,
    );
    assert.equal((await page.content()).includes(ALICE_TOKEN), false);
  },
  CLIPBOARD,
);

test(
  "a copy button keeps its position and width, and can copy again at once",
  async ({ page, signIn }) => {
    await signIn();
    const button = page.locator(".snippet").nth(1).locator("button").nth(1);
    await button.scrollIntoViewIfNeeded();
    const before = await button.boundingBox();
    await button.click();
    await page.getByText("Copied", { exact: true }).waitFor();
    assert.deepEqual(await button.boundingBox(), before);
    await page.evaluate("navigator.clipboard.writeText('')");
    const { x = 0, y = 0, width = 0, height = 0 } = before ?? {};
    await page.mouse.click(x + width - 3, y + height / 2);
    await until(
      async () => (await readClipboard(page)).includes(ALICE_TOKEN),
      "the second press to copy the token, too",
    );
  },
  CLIPBOARD,
);

test(
  "the page shows the same setup text as the command line, for every client",
  async ({ page, signIn, answer, gateway }) => {
    answer("/v1/models", MODELS);
    await signIn();
    for (const { id, name } of CLIENTS) {
      await pickClient(page, name);
      const io = createMemoryIo({ MODEL_GATEWAY_TOKEN: ALICE_TOKEN });
      await runSetup([id, "--url", gateway.url], {
        ...io,
        fetch: () => Promise.resolve(Response.json(MODELS.json)),
        deadline: AbortSignal.timeout,
      });
      assert.equal(
        `${await page.locator("pre").nth(id === "curl" ? 1 : 0).innerText()}\n`,
        io.written(),
      );
    }
  },
);

test("a text is copied even if the browser has no clipboard API, and the focus stays", async ({ page, context, gateway, signIn }) => {
  await context.addInitScript(
    `Object.defineProperty(navigator, "clipboard", { value: undefined })`,
  );
  await page.goto(`${gateway.url}/`);
  await signIn();
  await pickClient(page, "curl");
  const button = page.getByRole("button", { name: "Copy", exact: true });
  await button.nth(1).press("Enter");
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(
    await page.evaluate("document.activeElement.firstChild.textContent"),
    "Copied",
  );
  await page.focus("#search");
  await page.keyboard.press("ControlOrMeta+V");
  assert.match(await page.inputValue("#search"), /^curl .*\/v1\/chat/);
});

test("a press on a model selects it in the settings, for another client if necessary", async ({ page, signIn, answer }) => {
  answer("/v1/models", MODELS);
  await signIn();
  await page.getByRole("button", { name: /^gpt/ }).click();
  assert.equal(await page.inputValue("#model"), "gpt");
  assert.equal(await page.isChecked("#client-codex"), true);
  assert.equal(await page.evaluate("document.activeElement.id"), "model");
});

test("the export of the token comes before a command, but after a settings file", async ({ page, signIn }) => {
  await signIn();
  const texts = async (client: string) => {
    await pickClient(page, client);
    return await page.locator("pre").allInnerTexts();
  };
  const [first = "", second = ""] = await texts("curl");
  assert.match(first, /^export MODEL_GATEWAY_TOKEN=/);
  assert.match(second, /^curl .*\$MODEL_GATEWAY_TOKEN/s);
  const [file = ""] = await texts("OpenAI SDK, Python");
  assert.match(file, /^import os/);
});

test("the list of models can be searched, and shows all of them on request", async ({ page, signIn }) => {
  await signIn();
  const count = page.locator("#model-count");
  const all = Number.parseInt(await count.innerText());
  assert.equal(await page.locator(".model").count(), 12);
  await page.fill("#search", "B THINK");
  assert.equal(await count.innerText(), `1 of ${all} models`);
  assert.equal(await page.locator(".model code").innerText(), "demo-b-think");
  await page.fill("#search", "");
  await page.getByRole("button", { name: `Show all ${all}` }).click();
  assert.equal(await page.locator(".model").count(), all);
});

test("an unlisted model is in the whole list and in a search, and can be set up", async ({ page, signIn, answer }) => {
  const data = [
    { id: "shown", protocols: ["chat"] },
    { id: "hidden", protocols: ["chat"], listed: false },
  ];
  answer("/v1/models", { json: { data } });
  await signIn();
  const names = () => page.locator(".model code").allInnerTexts();
  const offered = () => page.locator("#model option").allInnerTexts();
  assert.deepEqual(await names(), ["shown"]);
  assert.deepEqual(await offered(), ["shown"]);
  const count = page.locator("#model-count");
  const all = "1 model and 1 unlisted";
  assert.equal(await count.innerText(), all);
  await page.getByRole("button", { name: `Show all ${all}` }).click();
  assert.equal(await count.innerText(), all);
  assert.deepEqual(await names(), ["shown", "hidden"]);
  await page.getByRole("button", { name: "hidden" }).click();
  assert.equal(await page.inputValue("#model"), "hidden");
  assert.match(await page.locator("pre").first().innerText(), /hidden/);
});

/** The id of the focused element. */
async function focusedId(page: Page): Promise<string> {
  return await page.evaluate<string>("document.activeElement.id");
}

async function stored(page: Page): Promise<string> {
  return await page.evaluate<string>("JSON.stringify(sessionStorage)");
}

test("the page shows the windows of a token's connections, with their usage, remainder and reset", async ({ page, signIn }) => {
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

test("the page shows why a token is rejected, keeps the token in the field, and accepts the next token", async ({ page, signIn, asked }) => {
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

test("the page hides the rejection of a token when the next token is tried", async ({ page, context }) => {
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

test("the page shows nothing of one token to the user of the next token", async ({ page, signIn, answer }) => {
  await signIn();
  await page.getByRole("button", { name: "Forget token" }).click();
  const nothing = { json: { object: "list", data: [] } };
  answer("/v1/limits", nothing);
  answer("/v1/models", nothing);
  await signIn();
  await page.getByText("No connection is assigned to this token").waitFor();
  assert.equal(await page.locator(".card, .model, .snippet").count(), 0);
});

test("the page keeps its form, with the reason, when the gateway cannot be reached", async ({ page, answer }) => {
  answer("/v1/limits", "offline");
  answer("/v1/models", "offline");
  await page.fill("#token", ALICE_TOKEN);
  await page.press("#token", "Enter");
  await page.getByText("Cannot reach the gateway.").waitFor();
  assert.equal(await focusedId(page), "token");
  assert.equal(await stored(page), "{}");
});
