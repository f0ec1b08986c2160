import assert from "node:assert/strict";
import { PAGE_PATHS } from "../../../src/http/page.ts";
import { endBrowser, startBrowser } from "./browser.ts";
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Page,
} from "./browser_packages.ts";
import { ALICE_TOKEN } from "../gateway/config.ts";
import { type DemoGateway, startDemoGateway } from "../gateway/demo_gateway.ts";
import { needing } from "../ignored.ts";
import { within } from "../within.ts";

/** Somebody in front of the page that a gateway serves. */
export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly gateway: DemoGateway;
  /** The paths that the browser has asked for so far, in order, less the page's own scripts and style. */
  readonly asked: readonly string[];
  /** Puts in a token, waits for what it opens and gives the focus a place that is always the same. */
  signIn(token?: string): Promise<void>;
  /** Lets a path answer this from now on, in the place of the gateway; `offline` breaks the connection. */
  answer(path: AskedPath, answer: Answer | "offline"): Promise<void>;
  /** What axe finds that is serious or worse, a line each. */
  axeFindings(): Promise<readonly string[]>;
}

/** What the page asks for once it is there. */
export type AskedPath = "/v1/limits" | "/v1/usage" | "/v1/models";

/** What is said in the place of the gateway. */
export interface Answer {
  /** Default: 200. */
  readonly status?: number;
  readonly json: unknown;
}

/** How the visitor sees the page. */
export interface VisitOptions extends BrowserContextOptions {
  /** Where the page's clock stands still, in milliseconds since 1970; default: it runs. */
  readonly nowMs?: number;
}

/** Registers a test of the page in a browser. */
export type PageTest = (
  name: string,
  body: (visit: Visit) => Promise<void>,
  options?: VisitOptions,
) => void;

/** How long a click or a look waits for its element, in milliseconds. */
const STARTUP_GRACE_MS = 15_000;

/**
 * Starts one browser for the tests of a file. Without one they are ignored, and say why.
 *
 * Every test has a gateway and a profile of its own. After each, the page must have asked nothing but that
 * gateway and must have run without an error.
 */
export async function pageTests(): Promise<PageTest> {
  const found = await startBrowser();
  if ("reason" in found) {
    return (name) =>
      Deno.test({ ...needing(name, found.reason), fn: () => {} });
  }
  Deno.test.afterAll(() => endBrowser(found.browser));
  return (name, body, options = {}) =>
    Deno.test(name, async () => {
      await visitPage(found, body, options);
    });
}

async function visitPage(
  found: { readonly browser: Browser; readonly axeSource: string },
  body: (visit: Visit) => Promise<void>,
  { nowMs, ...options }: VisitOptions,
): Promise<void> {
  await using gateway = await startDemoGateway();
  const context = await found.browser.newContext(options);
  context.setDefaultTimeout(STARTUP_GRACE_MS);
  try {
    if (nowMs !== undefined) {
      await context.clock.install({ time: nowMs });
      await context.clock.pauseAt(nowMs);
    }
    const { asked, faults } = watch(context, gateway.url);
    const page = await context.newPage();
    await page.goto(`${gateway.url}/`);
    await body({
      page,
      context,
      gateway,
      asked,
      signIn: (token = ALICE_TOKEN) => signIn(page, token),
      answer: (path, answer) => answerInstead(context, { path, answer }),
      axeFindings: () => axeFindings(page, found.axeSource),
    });
    assert.deepEqual(faults, []);
  } finally {
    await within(context.close(), "the page to be closed");
  }
}

/** A browser says so by itself when an answer is no success; the tests look at what the page makes of it. */
const NO_SUCCESS = "Failed to load resource:";

const QUESTIONS = new Set(["/", "/v1/limits", "/v1/usage", "/v1/models"]);

/** What the page is made of, beside its markup. */
const PARTS = new Set(PAGE_PATHS.filter((path) => path !== "/"));

function watch(context: BrowserContext, origin: string) {
  const asked: string[] = [];
  const faults: string[] = [];
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol === "data:") return;
    const isPart = PARTS.has(url.pathname);
    if (!isPart) asked.push(url.pathname);
    const isExpected = url.origin === origin && url.search === "" &&
      (isPart || QUESTIONS.has(url.pathname));
    if (!isExpected) faults.push(`request to ${url}`);
  });
  context.on("console", (message) => {
    const isFault = ["error", "warning"].includes(message.type()) &&
      !message.text().startsWith(NO_SUCCESS);
    if (isFault) faults.push(`${message.type()}: ${message.text()}`);
  });
  context.on("weberror", (error) => faults.push(String(error.error())));
  return { asked, faults };
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.fill("#token", token);
  await page.press("#token", "Enter");
  await page.waitForSelector("#signed-in");
}

async function answerInstead(
  context: BrowserContext,
  { path, answer }: {
    readonly path: AskedPath;
    readonly answer: Answer | "offline";
  },
): Promise<void> {
  await context.unroute(`**${path}`);
  await context.route(
    `**${path}`,
    (route) => answer === "offline" ? route.abort() : route.fulfill(answer),
  );
}

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

/** The page's policy allows no script but its own; what the debugger evaluates is not subject to it. */
async function axeFindings(
  page: Page,
  source: string,
): Promise<readonly string[]> {
  await within(page.evaluate(source), "axe to be read");
  const found: Violation[] = await within(
    page.evaluate("axe.run().then(({ violations }) => violations)"),
    "axe to judge the page",
  );
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`);
}
