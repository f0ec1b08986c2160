import assert from "node:assert/strict";
import { PAGE_PATHS } from "../../../src/page/page.ts";
import { endBrowser, startBrowser } from "./browser.ts";
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Page,
  Request,
} from "./browser_packages.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { ALICE_TOKEN } from "../gateway/config.ts";
import { type DemoGateway, startDemoGateway } from "../gateway/demo_gateway.ts";
import { needing } from "../ignored.ts";
import { until, within } from "../within.ts";

/** A visit to the page of a gateway. */
export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly gateway: DemoGateway;
  /** The paths that the browser has requested so far, in order, without the page's own scripts and styles. */
  readonly asked: readonly string[];
  /** Signs in with a token and waits for the page that follows; the focus is then always at the same place. */
  signIn(token?: string): Promise<void>;
  /** Replaces the gateway's response on a path from now on; `offline` breaks the connection. */
  answer(path: AskedPath, answer: Answer | "offline"): void;
  /** Moves a stopped clock on; waits before and after it until the page has no request under way. */
  runFor(ms: number): Promise<void>;
  /** Returns the serious and critical findings of axe, a line each. */
  axeFindings(): Promise<readonly string[]>;
}

/** A path of the gateway that the page's scripts request. */
export type AskedPath = typeof ASKED_PATHS[number];

const ASKED_PATHS = [
  "/v1/limits",
  "/v1/usage",
  "/v1/models",
  "/v1/chat/completions",
  "/v1/messages",
  "/v1/responses",
] as const;

/** A response instead of the gateway's. */
export interface Answer {
  /** Default: 200. */
  readonly status?: number;
  readonly json: unknown;
}

/** The options of a visit. */
export interface VisitOptions extends BrowserContextOptions {
  /** The time at which the page's clock is stopped, in milliseconds since 1970; default: it runs. */
  readonly nowMs?: number;
  /** The limits of the token, as in a configuration; default: none. */
  readonly limits?: readonly JsonObject[];
}

/** Registers a test of the page in a browser. */
export type PageTest = (
  name: string,
  body: (visit: Visit) => Promise<void>,
  options?: VisitOptions,
) => void;

/** The timeout for a click or a query to find its element, in milliseconds. */
const STARTUP_GRACE_MS = 60_000;

/**
 * Starts one browser for the tests of a file. Without a browser, the tests are ignored, with the reason.
 *
 * Each test has its own gateway and profile. It fails when the page sends a request to another server, or reports an
 * error.
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

export async function visitPage(
  found: { readonly browser: Browser; readonly axeSource: string },
  body: (visit: Visit) => Promise<void>,
  { nowMs, limits = [], ...options }: VisitOptions,
): Promise<void> {
  const tokens = [{
    name: "alice",
    sha256: sha256Hex(ALICE_TOKEN),
    connections: ["*"],
    limits: [...limits],
  }];
  await using gateway = await startDemoGateway({ tokens });
  const context = await found.browser.newContext(options);
  context.setDefaultTimeout(STARTUP_GRACE_MS);
  try {
    if (nowMs !== undefined) {
      await context.clock.install({ time: nowMs });
      await context.clock.pauseAt(nowMs);
    }
    const { asked, faults, underWay } = watch(context, gateway.url);
    const answers = new Map<string, Answer | "offline">();
    await answerFrom(context, answers);
    const page = await context.newPage();
    const isQuiet = () =>
      until(() => underWay.size === 0, "the page's requests");
    await page.goto(`${gateway.url}/`);
    await body({
      page,
      context,
      gateway,
      asked,
      signIn: (token = ALICE_TOKEN) => signIn(page, token),
      answer: (path, answer) => void answers.set(path, answer),
      runFor: async (ms) => {
        await isQuiet();
        await page.clock.runFor(ms);
        await isQuiet();
      },
      axeFindings: () => axeFindings(page, found.axeSource),
    });
    assert.deepEqual(faults, []);
  } finally {
    await within(context.close(), "the page to be closed");
  }
}

/** The beginning of a browser's own message about an error status; the tests check the page's reaction instead. */
const NO_SUCCESS = "Failed to load resource:";

const EXPECTED_PATHS = new Set<string>(["/", ...ASKED_PATHS]);

/** The files of the page, without its markup. */
const PARTS = new Set(PAGE_PATHS.filter((path) => path !== "/"));

function watch(context: BrowserContext, origin: string) {
  const asked: string[] = [];
  const faults: string[] = [];
  const underWay = new Set<Request>();
  context.on("requestfinished", (request) => underWay.delete(request));
  context.on("requestfailed", (request) => underWay.delete(request));
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol === "data:") return;
    underWay.add(request);
    const isPart = PARTS.has(url.pathname);
    if (!isPart) asked.push(url.pathname);
    const isExpected = url.origin === origin && url.search === "" &&
      (isPart || EXPECTED_PATHS.has(url.pathname));
    if (!isExpected) faults.push(`request to ${url}`);
  });
  context.on("console", (message) => {
    const isFault = ["error", "warning"].includes(message.type()) &&
      !message.text().startsWith(NO_SUCCESS);
    if (isFault) faults.push(`${message.type()}: ${message.text()}`);
  });
  context.on("weberror", (error) => faults.push(String(error.error())));
  return { asked, faults, underWay };
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.fill("#token", token);
  await page.press("#token", "Enter");
  await page.waitForSelector("#signed-in");
}

/**
 * Responds to the page's requests with `answers`, which may change at any time. The gateway responds to the others.
 *
 * One route serves the whole visit: the browser may cancel a request while a route is replaced.
 */
async function answerFrom(
  context: BrowserContext,
  answers: ReadonlyMap<string, Answer | "offline">,
): Promise<void> {
  for (const path of ASKED_PATHS) {
    await context.route(`**${path}`, (route) => {
      const answer = answers.get(path);
      if (answer === undefined) return route.continue();
      return answer === "offline" ? route.abort() : route.fulfill(answer);
    });
  }
}

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

/** Runs axe through the debugger, because the page's policy allows only the page's own scripts. */
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
