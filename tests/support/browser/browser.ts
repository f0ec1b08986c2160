import type { Browser } from "./browser_packages.ts";
import { within } from "../within.ts";

/** A browser without a window, or the reason why there is none. */
export type FoundBrowser =
  | { readonly browser: Browser; readonly axeSource: string }
  | { readonly reason: string };

/** The names of the program on Linux. */
const NAMES = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
];

/** Its usual places outside the `PATH`. */
const PLACES = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** The options that prevent requests to anything but the gateway of a test. */
const ARGUMENTS = [
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

/** The timeout of a start, longer than it takes on a busy machine, in milliseconds. */
const START_MS = 60_000;

/**
 * Starts the Chromium or Chrome of this machine: the program that `CHROMIUM_PATH` names, else the first on the `PATH`.
 * It downloads nothing.
 */
export async function startBrowser(): Promise<FoundBrowser> {
  const path = await findBrowser();
  if (path === undefined) {
    return { reason: "no Chromium is installed, and CHROMIUM_PATH names none" };
  }
  // With this variable, Playwright does not read /proc, which would need all permissions.
  Deno.env.set("__IS_WSL_TEST__", "1");
  const { chromium, axe } = await import("./browser_packages.ts");
  try {
    const browser = await chromium.launch({
      executablePath: path,
      args: ARGUMENTS,
      timeout: START_MS,
    });
    return { browser, axeSource: axe.source };
  } catch (error) {
    return { reason: `${path} does not start: ${firstLines(error)}` };
  }
}

/** Ends a browser, {@linkcode within} the usual timeout: a browser that hangs fails the test. */
export async function endBrowser(browser: Browser): Promise<void> {
  await within(browser.close(), "the browser to end");
}

async function findBrowser(): Promise<string | undefined> {
  const named = Deno.env.get("CHROMIUM_PATH");
  if (named !== undefined) return await isFile(named) ? named : undefined;
  const directories = (Deno.env.get("PATH") ?? "").split(":");
  const onPath = NAMES.flatMap((name) =>
    directories.map((directory) => `${directory}/${name}`)
  );
  for (const path of [...onPath, ...PLACES]) {
    if (await isFile(path)) return path;
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}

function firstLines(error: unknown): string {
  return String(error).split("\n").slice(0, 3).join(" ");
}
