/**
 * What drives a browser, and the judge of how well a page serves everybody. They are named here for the
 * reason that `sdks.ts` gives, and read only where there is a browser.
 */
export { chromium } from "npm:playwright-core@1.65.0";
export type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Page,
} from "npm:playwright-core@1.65.0";
export { default as axe } from "npm:axe-core@4.14.1";
