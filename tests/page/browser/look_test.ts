import assert from "node:assert/strict";
import css from "../../../src/page/browser/page.css" with { type: "text" };
import type { Page } from "../../support/browser/browser_packages.ts";
import {
  entryOf,
  everyState,
  listOf,
  NOON_MS,
} from "../../support/wire/limits_list.ts";
import {
  groupLimit,
  ownLimit,
  usageReport,
} from "../../support/wire/own_usage.ts";
import { pageTests, type Visit } from "../../support/browser/page_tests.ts";

const test = await pageTests();

const WIDE = { width: 1200, height: 850 };
const PHONE = { width: 360, height: 740 };

/** The focused control: its name, and whether a ring shows the focus. */
async function focused(page: Page): Promise<string> {
  return await page.evaluate<string>(`
    (() => {
      const found = document.activeElement;
      const ring = getComputedStyle(found.matches(".choice input")
        ? found.nextElementSibling : found);
      const name = found.id || found.getAttribute("aria-label") ||
        found.innerText.split("\\n")[0];
      const isShown = ring.outlineStyle === "solid" &&
        parseFloat(ring.outlineWidth) >= 2;
      return isShown ? name : name + " without a ring";
    })()
  `);
}

test("every control can be reached and used by keyboard, and the focus is always visible", async ({ page, answer }) => {
  const models = [{ id: "one", protocols: ["chat"] }];
  answer("/v1/models", { json: { data: models } });
  answer("/v1/usage", { json: usageReport() });
  assert.equal(await focused(page), "token");
  await page.keyboard.type("mg_alice");
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "enter");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#signed-in");
  const reached: string[] = [];
  for (let count = 0; count < 14; count++) {
    await page.keyboard.press("Tab");
    reached.push(await focused(page));
  }
  assert.deepEqual(reached, [
    "Set up a client",
    ...["history-unit-USD", "The numbers"],
    "client-opencode",
    ...["model", "try"],
    ...["Copy", "~/.config/opencode/opencode.json"],
    ...["Copy", "Copy with my token"],
    "The token, in the shell or in its profile",
    ...["Copy", "Then in the shell"],
    "one",
  ]);
  const described: string[] = await page.evaluate(`
    [...document.querySelectorAll(".copy")].map((button) =>
      document.getElementById(button.getAttribute("aria-describedby")).innerText)
  `);
  assert.deepEqual(described, [
    "~/.config/opencode/opencode.json",
    "The token, in the shell or in its profile",
    "The token, in the shell or in its profile",
    "Then in the shell",
  ]);
  await page.focus("#client-claude");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await focused(page), "client-curl");
  await page.locator("pre", { hasText: "curl" }).waitFor();
  await page.focus("#title");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await focused(page), "forget");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await focused(page), "refresh");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#sign-in");
  assert.equal(await focused(page), "token");
});

/** The scenes of the page, by name. */
const SCENES: Readonly<Record<string, (visit: Visit) => Promise<void>>> = {
  "the question for a token": async () => {},
  "a refused token": async ({ page }) => {
    await page.fill("#token", "wrong");
    await page.press("#token", "Enter");
    await page.locator("#sign-in-error:not(:empty)").waitFor();
  },
  "every state": async ({ signIn, answer }) => {
    const failing = { until: "2026-11-20T12:05:00.000Z", cause: "permission" };
    const list = listOf(...everyState().data, entryOf("Refused", { failing }));
    answer("/v1/limits", { json: list });
    await signIn();
  },
  "used-up limits and a failed trial": async ({ page, signIn, answer }) => {
    answer("/v1/limits", { json: everyState() });
    answer("/v1/usage", {
      json: usageReport(ownLimit(), groupLimit(48.8), groupLimit(50)),
    });
    await signIn();
    await page.selectOption("#model", "demo-error-429");
    await page.click("#try");
    await page.locator(".step.bad").waitFor();
  },
  "quotas that cannot be read": async ({ signIn, answer }) => {
    answer("/v1/limits", {
      status: 504,
      json: { error: { message: "Reading the quotas took too long" } },
    });
    await signIn();
  },
};

/** The colour schemes and widths in which each scene is checked. */
const VIEWS: Readonly<
  Record<string, readonly ["light" | "dark", typeof WIDE]>
> = {
  "in light": ["light", WIDE],
  "in the dark": ["dark", WIDE],
  "on a phone": ["light", PHONE],
  "on a phone in the dark": ["dark", PHONE],
};

for (const [scene, open] of Object.entries(SCENES)) {
  test(
    `axe finds nothing serious in ${scene}, light and dark, wide and on a phone, and nothing is cut off`,
    async (visit) => {
      const { page } = visit;
      await open(visit);
      for (const [view, [colorScheme, viewport]] of Object.entries(VIEWS)) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(viewport);
        assert.deepEqual(await visit.axeFindings(), [], view);
        const widths: number[] = await page.evaluate(
          "[document.documentElement.scrollWidth, innerWidth]",
        );
        assert.ok(
          (widths[0] ?? NaN) <= (widths[1] ?? NaN),
          `${view}: ${widths}`,
        );
      }
    },
  );
}

test(
  "the height of a card follows the card's content, not its neighbours' content",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", { json: everyState() });
    await signIn();
    const cards: { top: number; height: number; room: number }[] = await page
      .evaluate(`
        [...document.querySelectorAll(".card")].map((one) => ({
          top: one.offsetTop,
          height: one.offsetHeight,
          room: one.getBoundingClientRect().bottom -
            one.querySelector(".checked").getBoundingClientRect().bottom,
        }))
      `);
    assert.equal(cards.length, 7);
    const [first, ...others] = cards;
    for (const { room } of others) assert.equal(room, first?.room);
    const row = others.filter(({ top }) => top === first?.top);
    assert.ok(row.some(({ height }) => height !== first?.height));
  },
  { viewport: WIDE, nowMs: NOON_MS },
);

test(
  "on a phone, the header is one row with any button text, and all models have one layout",
  async ({ page, signIn, answer }) => {
    const ids = [
      "a",
      "a-model-with-a-long-name-that-fills-the-line",
      "b-model",
    ];
    const protocols = ["chat", "messages", "responses"];
    answer("/v1/models", {
      json: { data: ids.map((id) => ({ id, protocols })) },
    });
    answer("/v1/limits", {
      json: { ...listOf(), refresh_after_seconds: 3599 },
    });
    await signIn();
    const tops: number[] = await page.evaluate(
      `[...document.querySelectorAll(".top svg, .top button")].map((one) => {
        const { top, height } = one.getBoundingClientRect();
        return Math.round(top + height / 2);
      })`,
    );
    assert.equal(tops.length, 3);
    assert.equal(new Set(tops).size, 1, tops.join());
    const below: boolean[] = await page.evaluate(
      `[...document.querySelectorAll(".model")].map((one) =>
        one.querySelector(".protocols").getBoundingClientRect().top >=
          one.querySelector("code").getBoundingClientRect().bottom)`,
    );
    assert.deepEqual(below, [true, true, true]);
    assert.equal(await page.evaluate("document.body.scrollWidth"), PHONE.width);
  },
  { viewport: PHONE, nowMs: NOON_MS },
);

test(
  "a long name breaks its line rather than the page",
  async ({ page, signIn, answer }) => {
    const name = "a-name-without-a-space-".repeat(8);
    answer("/v1/limits", {
      json: listOf(
        ...everyState().data.map((entry) => ({
          ...entry,
          name,
          service: name,
        })),
      ),
    });
    answer("/v1/models", {
      json: { data: [{ id: name, protocols: ["chat"] }] },
    });
    await signIn();
    assert.equal(await page.evaluate("document.body.scrollWidth"), PHONE.width);
  },
  { viewport: PHONE, nowMs: NOON_MS },
);

/** The widths of a window of 1280 pixels at a zoom of 200 and 400 percent. */
for (const width of [640, 320]) {
  test(
    `at ${width} pixels, as in a window zoomed in, nothing is cut off and every control can be used`,
    async ({ page, signIn, answer }) => {
      answer("/v1/limits", { json: everyState() });
      answer("/v1/usage", {
        json: usageReport(ownLimit(), groupLimit(48.8)),
      });
      await signIn();
      assert.equal(await page.evaluate("document.body.scrollWidth"), width);
      assert.deepEqual(await outside(page), []);
    },
    { viewport: { width, height: 512 }, nowMs: NOON_MS },
  );
}

/** Returns the texts and controls outside of the window, except those that scroll within a box. */
async function outside(page: Page): Promise<readonly string[]> {
  return await page.evaluate<string[]>(`
    [...document.querySelectorAll(
      "main p, main h1, main h2, main h3, button, input, select, .left, .reset",
    )]
      .filter((one) => one.checkVisibility() &&
        !one.closest(".visually-hidden, pre, .choice"))
      .filter((one) => {
        const { left, right } = one.getBoundingClientRect();
        return left < 0 || right > innerWidth;
      })
      .map((one) => one.outerHTML.slice(0, 80))
  `);
}

test(
  "the page follows the reader's font size",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", { json: everyState() });
    await signIn();
    const sizes = () =>
      page.evaluate<number[]>(`
        ["body", ".card p", ".choice span", "pre code", "#model"].map((one) =>
          parseFloat(getComputedStyle(document.querySelector(one)).fontSize))
      `);
    const before = await sizes();
    await page.evaluate("document.documentElement.style.fontSize = '200%'");
    assert.deepEqual(await sizes(), before.map((size) => 2 * size));
    assert.equal(await page.evaluate("document.body.scrollWidth"), 640);
    assert.deepEqual(await outside(page), []);
  },
  { viewport: { width: 640, height: 512 }, nowMs: NOON_MS },
);

test(
  "in a right-to-left page, the bars and their marks are mirrored, and nothing is cut off",
  async ({ page, signIn, answer }) => {
    answer("/v1/limits", { json: everyState() });
    answer("/v1/usage", { json: usageReport(groupLimit(10)) });
    await signIn();
    await page.evaluate("document.documentElement.dir = 'rtl'");
    const [fill, mark]: number[] = await page.evaluate(`(() => {
      const bar = document.querySelector("#own-cards .gauge");
      const whole = bar.getBoundingClientRect();
      const at = (name) => bar.querySelector(name).getBoundingClientRect();
      const centre = (at(".mark").left + at(".mark").right) / 2;
      return [whole.right - at(".fill").right, (whole.right - centre) / whole.width];
    })()`);
    assert.equal(fill, 0);
    assert.ok(Math.abs((mark ?? NaN) - 0.35) < 0.01, String(mark));
    assert.equal(await page.evaluate("document.body.scrollWidth"), PHONE.width);
    assert.deepEqual(await outside(page), []);
    assert.equal(
      await page.evaluate(
        "getComputedStyle(document.querySelector('pre code')).direction",
      ),
      "ltr",
    );
  },
  { viewport: PHONE, nowMs: NOON_MS },
);

test(
  "a right-to-left name does not reorder the words and numbers beside it",
  async ({ page, signIn, answer }) => {
    const name = "צוות המודלים 2";
    answer("/v1/limits", { json: listOf(entryOf(name)) });
    answer("/v1/usage", {
      json: usageReport(groupLimit(20, { group: name, models: [name] })),
    });
    answer("/v1/models", {
      json: { data: [{ id: name, protocols: ["chat"] }] },
    });
    await signIn();
    const isolated: string[] = await page.evaluate(`
      [".card-name", ".window-name", ".service", ".model code"].map((one) =>
        getComputedStyle(document.querySelector(one)).unicodeBidi)
    `);
    assert.deepEqual(isolated, Array(4).fill("isolate"));
  },
  { viewport: PHONE, nowMs: NOON_MS },
);

test("the page follows the reader's choice of light or dark while it is open", async ({ page }) => {
  const ground = () =>
    page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  await page.emulateMedia({ colorScheme: "light" });
  const light = await ground();
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notEqual(await ground(), light);
});

test("nothing on the page moves for readers who prefer reduced motion", async ({ page, signIn, answer }) => {
  answer("/v1/limits", { json: listOf(entryOf("Mine")) });
  await page.emulateMedia({ reducedMotion: "reduce" });
  await signIn();
  await page.hover("#forget");
  assert.equal(await page.evaluate("document.getAnimations().length"), 0);
});

// The contrast of the page's colours (https://www.w3.org/TR/WCAG22/#contrast-minimum and #non-text-contrast),
// computed from the variables. axe measures only what a scene shows, and no bar, mark, border or ring.

type Colour = readonly [red: number, green: number, blue: number];

/** The variables of the page in each colour scheme. */
const [light = {}, dark = {}] = [...css.matchAll(/:root \{([^}]*)\}/g)]
  .map(([, body = ""]) =>
    Object.fromEntries(
      [...body.matchAll(/--([\w-]+):\s*#([0-9a-f]{6});/g)].map((
        [, name = "", digits = ""],
      ) => [name, digits]),
    )
  );

const SCHEMES = { light, dark };

const TEXTS_ON: Readonly<Record<string, readonly string[]>> = {
  ground: ["ink", "ink-soft"],
  surface: [
    ...["ink", "ink-soft", "plenty-ink", "low-ink", "scarce-ink", "over-ink"],
  ],
  sunken: ["ink", "ink-soft"],
  accent: ["accent-ink"],
  // The chosen client.
  ink: ["surface"],
};

const SHAPES_ON: Readonly<Record<string, readonly string[]>> = {
  // What is left of a bar.
  track: ["plenty", "low", "scarce", "over"],
  // Badges, the time in a bar, the edge of the banner and of a wrong field.
  surface: ["plenty", "low", "scarce", "over", "mark"],
  ground: ["focus"],
  sunken: ["focus"],
};

for (const [scheme, variables] of Object.entries(SCHEMES)) {
  const colour = (name: string): Colour => {
    const digits = variables[name] ?? assert.fail(`There is no --${name}`);
    const at = (index: number) =>
      parseInt(digits.slice(2 * index, 2 * index + 2), 16) / 255;
    return [at(0), at(1), at(2)];
  };
  const faintest = (
    pairs: Readonly<Record<string, readonly string[]>>,
    least: number,
  ) =>
    Object.entries(pairs).flatMap(([ground, names]) =>
      names.flatMap((name) => {
        const ratio = contrast(colour(name), colour(ground));
        return ratio >= least
          ? []
          : [`--${name} on --${ground}: ${ratio.toFixed(2)}`];
      })
    );

  Deno.test(`${scheme}: every text has a contrast of 4.5`, () => {
    assert.deepEqual(faintest(TEXTS_ON, 4.5), []);
    const marked = mixed(colour("accent"), colour("sunken"), 0.18);
    assert.ok(contrast(colour("ink"), marked) >= 4.5);
  });

  Deno.test(`${scheme}: every bar, mark, ring and field has a contrast of 3`, () => {
    assert.deepEqual(faintest(SHAPES_ON, 3), []);
    const edge = mixed(colour("ink-soft"), colour("surface"), 0.7);
    assert.ok(contrast(edge, colour("surface")) >= 3);
  });
}

/** Returns the ratio of two colours, from 1 to 21. */
function contrast(one: Colour, other: Colour): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)]
    .sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  );
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

/** Returns a mix of two colours, like `color-mix(in srgb, …)` with a share of `transparent` over a background. */
function mixed(over: Colour, ground: Colour, share: number): Colour {
  const part = (index: 0 | 1 | 2) =>
    share * over[index] + (1 - share) * ground[index];
  return [part(0), part(1), part(2)];
}
