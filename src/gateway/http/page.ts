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
  "/": () => import("../../page/browser/page.html", { with: { type: "text" } }),
  "/page/page.css": () =>
    import("../../page/browser/page.css", { with: { type: "text" } }),
  "/page/card_view.js": () =>
    import("../../page/browser/card_view.js", { with: { type: "text" } }),
  "/page/clipboard.js": () =>
    import("../../page/browser/clipboard.js", { with: { type: "text" } }),
  "/page/element.js": () =>
    import("../../page/browser/element.js", { with: { type: "text" } }),
  "/page/gateway.js": () =>
    import("../../page/browser/gateway.js", { with: { type: "text" } }),
  "/page/history_view.js": () =>
    import("../../page/browser/history_view.js", { with: { type: "text" } }),
  "/page/main.js": () =>
    import("../../page/browser/main.js", { with: { type: "text" } }),
  "/page/models_view.js": () =>
    import("../../page/browser/models_view.js", { with: { type: "text" } }),
  "/page/pace.js": () =>
    import("../../page/browser/pace.js", { with: { type: "text" } }),
  "/page/quotas_view.js": () =>
    import("../../page/browser/quotas_view.js", { with: { type: "text" } }),
  "/page/session.js": () =>
    import("../../page/browser/session.js", { with: { type: "text" } }),
  "/page/settings_view.js": () =>
    import("../../page/browser/settings_view.js", { with: { type: "text" } }),
  "/page/sign_in_view.js": () =>
    import("../../page/browser/sign_in_view.js", { with: { type: "text" } }),
  "/page/summary.js": () =>
    import("../../page/browser/summary.js", { with: { type: "text" } }),
  "/page/try_view.js": () =>
    import("../../page/browser/try_view.js", { with: { type: "text" } }),
  "/wording/failures.js": () =>
    import("../../page/wording/failures.js", { with: { type: "text" } }),
  "/wording/dear_turns.js": () =>
    import("../../page/wording/dear_turns.js", { with: { type: "text" } }),
  "/wording/history.js": () =>
    import("../../page/wording/history.js", { with: { type: "text" } }),
  "/wording/level.js": () =>
    import("../../page/wording/level.js", { with: { type: "text" } }),
  "/wording/models.js": () =>
    import("../../page/wording/models.js", { with: { type: "text" } }),
  "/wording/own_limits.js": () =>
    import("../../page/wording/own_limits.js", { with: { type: "text" } }),
  "/wording/own_use.js": () =>
    import("../../page/wording/own_use.js", { with: { type: "text" } }),
  "/wording/probes.js": () =>
    import("../../page/wording/probes.js", { with: { type: "text" } }),
  "/wording/protocols.js": () =>
    import("../../page/wording/protocols.js", { with: { type: "text" } }),
  "/wording/services.js": () =>
    import("../../page/wording/services.js", { with: { type: "text" } }),
  "/wording/settings.js": () =>
    import("../../page/wording/settings.js", { with: { type: "text" } }),
  "/wording/settings_agents.js": () =>
    import("../../page/wording/settings_agents.js", { with: { type: "text" } }),
  "/wording/settings_editors.js": () =>
    import("../../page/wording/settings_editors.js", {
      with: { type: "text" },
    }),
  "/wording/settings_sdks.js": () =>
    import("../../page/wording/settings_sdks.js", { with: { type: "text" } }),
  "/wording/settings_text.js": () =>
    import("../../page/wording/settings_text.js", { with: { type: "text" } }),
  "/wording/times.js": () =>
    import("../../page/wording/times.js", { with: { type: "text" } }),
  "/wording/words.js": () =>
    import("../../page/wording/words.js", { with: { type: "text" } }),
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
export async function pageResponse(path: string): Promise<Response> {
  const [, ending = ""] = path.split(".");
  const file = await FILES[path]?.();
  return new Response(file?.default ?? null, {
    headers: { "content-type": TYPE_BY_ENDING[ending] ?? HTML, ...HEADERS },
  });
}
