/**
 * The packages that drive a browser and check accessibility. They are imported here for the reason in `sdks.ts`, and
 * loaded only when there is a browser.
 */
export { chromium } from "npm:playwright-core@1.65.1";
export type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Page,
  Request,
} from "npm:playwright-core@1.65.1";
export { default as axe } from "npm:axe-core@4.14.1";
