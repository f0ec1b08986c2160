import { VERSION } from "@gateway/base/version";

const HTML = "text/html; charset=utf-8";

/** The media type of each kind of file. */
const TYPE_BY_ENDING: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
};

/** Reads the source files of the page and of the wording that it shares with the command line, by path. */
const FILES: Readonly<
  Record<string, () => Promise<{ readonly default: string }>>
> = {
  "/": () => import("./browser/page.html", { with: { type: "text" } }),
  "/page/page.css": () =>
    import("./browser/page.css", { with: { type: "text" } }),
  "/page/card_view.js": () =>
    import("./browser/card_view.js", { with: { type: "text" } }),
  "/page/clipboard.js": () =>
    import("./browser/clipboard.js", { with: { type: "text" } }),
  "/page/element.js": () =>
    import("./browser/element.js", { with: { type: "text" } }),
  "/page/gateway.js": () =>
    import("./browser/gateway.js", { with: { type: "text" } }),
  "/page/history_view.js": () =>
    import("./browser/history_view.js", { with: { type: "text" } }),
  "/page/main.js": () =>
    import("./browser/main.js", { with: { type: "text" } }),
  "/page/models_view.js": () =>
    import("./browser/models_view.js", { with: { type: "text" } }),
  "/page/pace.js": () =>
    import("./browser/pace.js", { with: { type: "text" } }),
  "/page/quotas_view.js": () =>
    import("./browser/quotas_view.js", { with: { type: "text" } }),
  "/page/session.js": () =>
    import("./browser/session.js", { with: { type: "text" } }),
  "/page/settings_view.js": () =>
    import("./browser/settings_view.js", { with: { type: "text" } }),
  "/page/sign_in_view.js": () =>
    import("./browser/sign_in_view.js", { with: { type: "text" } }),
  "/page/summary.js": () =>
    import("./browser/summary.js", { with: { type: "text" } }),
  "/page/try_view.js": () =>
    import("./browser/try_view.js", { with: { type: "text" } }),
  "/wording/failures.js": () =>
    import("./wording/failures.js", { with: { type: "text" } }),
  "/wording/dear_turns.js": () =>
    import("./wording/dear_turns.js", { with: { type: "text" } }),
  "/wording/history.js": () =>
    import("./wording/history.js", { with: { type: "text" } }),
  "/wording/level.js": () =>
    import("./wording/level.js", { with: { type: "text" } }),
  "/wording/models.js": () =>
    import("./wording/models.js", { with: { type: "text" } }),
  "/wording/own_limits.js": () =>
    import("./wording/own_limits.js", { with: { type: "text" } }),
  "/wording/own_use.js": () =>
    import("./wording/own_use.js", { with: { type: "text" } }),
  "/wording/probes.js": () =>
    import("./wording/probes.js", { with: { type: "text" } }),
  "/wording/protocols.js": () =>
    import("./wording/protocols.js", { with: { type: "text" } }),
  "/wording/services.js": () =>
    import("./wording/services.js", { with: { type: "text" } }),
  "/wording/settings.js": () =>
    import("./wording/settings.js", { with: { type: "text" } }),
  "/wording/settings_agents.js": () =>
    import("./wording/settings_agents.js", { with: { type: "text" } }),
  "/wording/settings_editors.js": () =>
    import("./wording/settings_editors.js", {
      with: { type: "text" },
    }),
  "/wording/settings_sdks.js": () =>
    import("./wording/settings_sdks.js", { with: { type: "text" } }),
  "/wording/settings_text.js": () =>
    import("./wording/settings_text.js", { with: { type: "text" } }),
  "/wording/times.js": () =>
    import("./wording/times.js", { with: { type: "text" } }),
  "/wording/words.js": () =>
    import("./wording/words.js", { with: { type: "text" } }),
};

/** The paths of the page and its files. */
export const PAGE_PATHS: readonly string[] = Object.keys(FILES);

/**
 * The policy of the page: the page loads its own scripts and styles, and sends requests to its own gateway. Everything
 * else is forbidden, including other sources, forms, frames and markup from strings.
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
 * settings of clients. The page's files hold no data of any caller. The page sends the same requests as a client.
 *
 * @param path An entry of {@linkcode PAGE_PATHS}.
 */
export async function pageResponse(path: string): Promise<Response> {
  const [, ending = ""] = path.split(".");
  const file = await FILES[path]?.();
  const text = path === "/"
    ? file?.default.replace("%VERSION%", VERSION)
    : file?.default;
  return new Response(text ?? null, {
    headers: { "content-type": TYPE_BY_ENDING[ending] ?? HTML, ...HEADERS },
  });
}
