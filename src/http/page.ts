import card from "./page/card_view.js" with { type: "text" };
import clipboard from "./page/clipboard.js" with { type: "text" };
import element from "./page/element.js" with { type: "text" };
import gateway from "./page/gateway.js" with { type: "text" };
import historyView from "./page/history_view.js" with { type: "text" };
import main from "./page/main.js" with { type: "text" };
import modelsView from "./page/models_view.js" with { type: "text" };
import pace from "./page/pace.js" with { type: "text" };
import css from "./page/page.css" with { type: "text" };
import html from "./page/page.html" with { type: "text" };
import quotasView from "./page/quotas_view.js" with { type: "text" };
import session from "./page/session.js" with { type: "text" };
import settingsView from "./page/settings_view.js" with { type: "text" };
import signInView from "./page/sign_in_view.js" with { type: "text" };
import summary from "./page/summary.js" with { type: "text" };
import tryView from "./page/try_view.js" with { type: "text" };
import failures from "./wording/failures.js" with { type: "text" };
import dearTurns from "./wording/dear_turns.js" with { type: "text" };
import history from "./wording/history.js" with { type: "text" };
import level from "./wording/level.js" with { type: "text" };
import models from "./wording/models.js" with { type: "text" };
import ownLimits from "./wording/own_limits.js" with { type: "text" };
import ownUse from "./wording/own_use.js" with { type: "text" };
import probes from "./wording/probes.js" with { type: "text" };
import protocols from "./wording/protocols.js" with { type: "text" };
import services from "./wording/services.js" with { type: "text" };
import settings from "./wording/settings.js" with { type: "text" };
import settingsAgents from "./wording/settings_agents.js" with { type: "text" };
import settingsEditors from "./wording/settings_editors.js" with {
  type: "text",
};
import settingsSdks from "./wording/settings_sdks.js" with { type: "text" };
import settingsText from "./wording/settings_text.js" with { type: "text" };
import times from "./wording/times.js" with { type: "text" };
import words from "./wording/words.js" with { type: "text" };

const HTML = "text/html; charset=utf-8";

/** The media type of each kind of file. */
const TYPE_BY_ENDING: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
};

/** The source files of the page and of the wording that it shares with the command line, by path. */
const FILES: Readonly<Record<string, string>> = {
  "/": html,
  "/page/page.css": css,
  "/page/card_view.js": card,
  "/page/clipboard.js": clipboard,
  "/page/element.js": element,
  "/page/gateway.js": gateway,
  "/page/history_view.js": historyView,
  "/page/main.js": main,
  "/page/models_view.js": modelsView,
  "/page/pace.js": pace,
  "/page/quotas_view.js": quotasView,
  "/page/session.js": session,
  "/page/settings_view.js": settingsView,
  "/page/sign_in_view.js": signInView,
  "/page/summary.js": summary,
  "/page/try_view.js": tryView,
  "/wording/failures.js": failures,
  "/wording/dear_turns.js": dearTurns,
  "/wording/history.js": history,
  "/wording/level.js": level,
  "/wording/models.js": models,
  "/wording/own_limits.js": ownLimits,
  "/wording/own_use.js": ownUse,
  "/wording/probes.js": probes,
  "/wording/protocols.js": protocols,
  "/wording/services.js": services,
  "/wording/settings.js": settings,
  "/wording/settings_agents.js": settingsAgents,
  "/wording/settings_editors.js": settingsEditors,
  "/wording/settings_sdks.js": settingsSdks,
  "/wording/settings_text.js": settingsText,
  "/wording/times.js": times,
  "/wording/words.js": words,
};

/** The paths of the page and its files. */
export const PAGE_PATHS: readonly string[] = Object.keys(FILES);

/**
 * The policy of the page: it loads its own scripts and styles, and sends requests to its own gateway. Everything else
 * is forbidden, including other sources, forms, frames and markup from strings.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-cache",
};

/**
 * Returns a file of the page at `/`. The page reads a token from its user, and shows the quotas, the models and the
 * settings of clients. Its files hold no data of any caller. It sends the same requests as a client.
 *
 * @param path An entry of {@linkcode PAGE_PATHS}.
 */
export function pageResponse(path: string): Response {
  const [, ending = ""] = path.split(".");
  return new Response(FILES[path] ?? null, {
    headers: { "content-type": TYPE_BY_ENDING[ending] ?? HTML, ...HEADERS },
  });
}
