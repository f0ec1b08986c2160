import { createHash } from "node:crypto";
import card from "./page/card_view.js" with { type: "text" };
import clipboard from "./page/clipboard.js" with { type: "text" };
import element from "./page/element.js" with { type: "text" };
import failures from "./page/failures.js" with { type: "text" };
import gateway from "./page/gateway.js" with { type: "text" };
import level from "./page/level.js" with { type: "text" };
import main from "./page/main.js" with { type: "text" };
import models from "./page/models.js" with { type: "text" };
import modelsView from "./page/models_view.js" with { type: "text" };
import pace from "./page/pace.js" with { type: "text" };
import css from "./page/page.css" with { type: "text" };
import html from "./page/page.html" with { type: "text" };
import quotasView from "./page/quotas_view.js" with { type: "text" };
import session from "./page/session.js" with { type: "text" };
import settings from "./page/settings.js" with { type: "text" };
import settingsView from "./page/settings_view.js" with { type: "text" };
import signInView from "./page/sign_in_view.js" with { type: "text" };
import summary from "./page/summary.js" with { type: "text" };
import times from "./page/times.js" with { type: "text" };
import words from "./page/words.js" with { type: "text" };
import { joinModules } from "./page/join.ts";

/** The page's modules, each behind those that it imports. */
const SCRIPT = joinModules([
  words,
  level,
  times,
  failures,
  pace,
  summary,
  session,
  models,
  settings,
  gateway,
  element,
  clipboard,
  signInView,
  card,
  quotasView,
  modelsView,
  settingsView,
  main,
]);

const STYLE = lineFeeds(css);

const PAGE = lineFeeds(html)
  .replace("<style></style>", () => `<style>${STYLE}</style>`)
  .replace(
    '<script type="module"></script>',
    () => `<script type="module">${SCRIPT}</script>`,
  );

/**
 * What a browser lets the page do: run these very scripts and styles, and talk to the gateway it came from.
 * Nothing else can be loaded, sent, framed or written as markup.
 */
const POLICY = [
  "default-src 'none'",
  `script-src '${integrity(SCRIPT)}'`,
  `style-src '${integrity(STYLE)}'`,
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-cache",
};

/**
 * The page for people at `/`: one file that asks its reader for a token and shows the quotas, the models
 * and the settings of clients. It holds nothing of any caller and asks the gateway what a client would.
 */
export function pageResponse(): Response {
  return new Response(PAGE, { headers: HEADERS });
}

/** How a Content-Security-Policy names an inline text: by its SHA-256. */
function integrity(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/** Browsers read a page so before they hash its parts. */
function lineFeeds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
