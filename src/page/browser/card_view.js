import { element } from "./element.js";
import { failureMeaning, STATUS_MEANINGS } from "../wording/failures.js";
import {
  isUsedUp,
  LEVEL_TEXTS,
  levelOf,
  urgentWindows,
} from "../wording/level.js";
import { elapsedShare } from "./pace.js";
import { serviceText } from "../wording/services.js";
import {
  checkedText,
  failingText,
  localResetText,
  localTime,
  untilText,
  waitingText,
} from "../wording/times.js";
import {
  asSentence,
  leftPercent,
  leftText,
  nameParts,
  percentText,
  usedText,
} from "../wording/words.js";

/**
 * @typedef {import("../answers.ts").ConnectionEntry} ConnectionEntry
 * @typedef {import("../answers.ts").QuotaWindow} QuotaWindow
 * @typedef {QuotaWindow & import("./pace.js").TimedWindow} ShownWindow
 * @typedef {import("../wording/own_limits.js").OwnLimits} OwnLimits
 * @typedef {import("./element.js").Ticker} Ticker
 */

/**
 * Creates the card of a connection: its state and its windows.
 *
 * @param {ConnectionEntry} entry
 * @param {Ticker} ticker
 * @returns {HTMLElement}
 */
export function connectionCard(entry, ticker) {
  const { failing } = entry;
  const isOk = entry.status === "ok";
  const isDenied = failing !== undefined && entry.status === "unsupported";
  const badge = failing !== undefined
    ? element("span", { class: "badge badge-unavailable" }, "failing")
    : isOk
    ? levelBadge(entry.limits)
    : stateBadge(entry);
  return element(
    "li",
    { class: "card", "data-status": entry.status },
    cardHead({ name: entry.name, notes: notesOf(entry), badge }),
    failing === undefined
      ? ""
      : element("p", { class: "state" }, failingText(failing, Date.now())),
    // The text for an unsupported quota says that requests are not affected, so it is left out while requests fail.
    isOk ? windowList(entry.limits, ticker) : isDenied ? "" : stateText(entry),
    checkedLine(entry, ticker),
  );
}

/**
 * Returns the service of a connection, and how many requests wait for the connection.
 *
 * @param {ConnectionEntry} entry
 * @returns {readonly string[]}
 */
function notesOf({ service, waiting }) {
  const text = serviceText(service);
  return waiting === undefined ? [text] : [text, waitingText(waiting)];
}

/**
 * Creates the card of the limits of a token or its group.
 *
 * @param {OwnLimits} own
 * @param {Ticker} ticker
 * @param {number | undefined} oldSinceMs The time of the limits, if newer limits could not be read.
 * @returns {HTMLElement}
 */
export function limitsCard({ name, note, limits }, ticker, oldSinceMs) {
  return element(
    "li",
    { class: "card" },
    cardHead({ name, notes: [note], badge: levelBadge(limits) }),
    windowList(limits, ticker),
    ...(oldSinceMs === undefined ? [] : [
      element(
        "p",
        { class: "checked" },
        checkedTime(new Date(oldSinceMs).toISOString(), ticker),
      ),
    ]),
  );
}

/**
 * @param {{ readonly name: string, readonly notes: readonly string[], readonly badge: HTMLElement }} parts
 * @returns {HTMLElement}
 */
function cardHead({ name, notes, badge }) {
  return element(
    "div",
    { class: "card-head" },
    element(
      "h3",
      {},
      element("span", { class: "card-name" }, name),
      ...notes.map((note) => element("span", { class: "service" }, note)),
    ),
    badge,
  );
}

/**
 * Returns the one warning of a card, with the reset of the used-up windows. The bars and the numbers show which windows
 * are used up.
 *
 * @param {readonly QuotaWindow[]} limits
 * @returns {HTMLElement}
 */
function levelBadge(limits) {
  const windows = urgentWindows(limits);
  const level = windows[0] === undefined ? "unknown" : levelOf(windows[0]);
  const text = level === "unknown"
    ? "ok"
    : LEVEL_TEXTS[level] + untilText(windows.filter(isUsedUp), Date.now());
  return element("span", { class: `badge level-${level}` }, text);
}

/**
 * @param {readonly ShownWindow[]} windows
 * @param {Ticker} ticker
 * @returns {HTMLElement}
 */
function windowList(windows, ticker) {
  if (windows.length === 0) {
    return element(
      "p",
      { class: "state" },
      "The provider reports no quota for this connection.",
    );
  }
  const rows = windows.map((window) => windowRow(window, ticker));
  return element("ul", { class: "windows" }, ...rows);
}

/**
 * @param {ShownWindow} window
 * @param {Ticker} ticker
 * @returns {HTMLElement}
 */
function windowRow(window, ticker) {
  const level = levelOf(window);
  const [name, detail] = nameParts(window);
  const reset = element("time", {
    class: "reset",
    datetime: window.resets_at ?? undefined,
    title: localTimeOf(window.resets_at),
  });
  ticker.follow(reset, (nowMs) => localResetText(window, nowMs));
  return element(
    "li",
    { class: `window level-${level}` },
    element(
      "div",
      { class: "window-head" },
      element(
        "span",
        { class: "window-name" },
        element("b", {}, name),
        ` ${detail}`,
      ),
      leftAmount(window),
    ),
    gauge(window),
    element(
      "div",
      { class: "window-foot" },
      element("span", { class: "used" }, usedText(window)),
      reset,
    ),
  );
}

/**
 * Returns the text of {@linkcode leftText}, with the number emphasised.
 *
 * @param {QuotaWindow} window
 * @returns {HTMLElement}
 */
function leftAmount(window) {
  const text = leftText(window);
  const [number = ""] = window.remaining === null
    ? []
    : text.match(/^(under )?\S+/) ?? [];
  return element(
    "span",
    { class: "left" },
    element("strong", {}, number),
    text.slice(number.length),
  );
}

/**
 * Returns the bar of a window: the amount left, and a mark for the time left. A balance has no size, so it gets no bar.
 *
 * @param {ShownWindow} window
 * @returns {HTMLElement}
 */
function gauge(window) {
  const percent = leftPercent(window);
  if (percent === null) {
    const isStock = window.remaining !== null && window.limit === null;
    return element("div", { class: isStock ? "gauge-none" : "gauge unknown" });
  }
  const elapsed = elapsedShare(window, Date.now());
  const time = elapsed === null
    ? ""
    : `, ${percentText((1 - elapsed) * 100)} of the time is left`;
  const bar = element("div", {
    class: "gauge",
    role: "meter",
    "aria-label": nameParts(window).join(" "),
    "aria-valuemin": "0",
    "aria-valuemax": "100",
    "aria-valuenow": String(percent),
    "aria-valuetext": `${leftText(window)}, ${
      LEVEL_TEXTS[levelOf(window)]
    }${time}`,
  });
  const fill = element("div", { class: "fill" });
  fill.style.setProperty("--share", `${percent}%`);
  bar.append(fill);
  if (elapsed !== null) {
    const mark = element("div", { class: "mark" });
    mark.style.setProperty("--share", `${(1 - elapsed) * 100}%`);
    bar.title = time.slice(", ".length);
    bar.append(mark);
  }
  return bar;
}

/**
 * @param {ConnectionEntry} entry An entry that is not `ok`.
 * @returns {HTMLElement}
 */
function stateBadge({ status, error }) {
  const meaning = error && failureMeaning(error.type);
  const isCalm = meaning?.isCalm === true;
  const look = isCalm ? "unsupported" : status;
  const text = isCalm
    ? meaning.title.toLowerCase()
    : STATUS_MEANINGS.get(status)?.title.toLowerCase() ?? status;
  return element("span", { class: `badge badge-${look}` }, text);
}

/**
 * @param {ConnectionEntry} entry An entry that is not `ok`.
 * @returns {HTMLElement}
 */
function stateText({ status, error }) {
  if (error === undefined) {
    const text = STATUS_MEANINGS.get(status)?.advice ?? status;
    return element("p", { class: "state" }, text);
  }
  const { title, advice, isCalm } = failureMeaning(error.type);
  return element(
    "div",
    { class: "state" },
    element("p", { class: "state-title" }, title),
    element("p", {}, advice),
    ...(isCalm ? [] : [detailsOf(error)]),
  );
}

/**
 * Returns the details for the administrator. @param {NonNullable<ConnectionEntry["error"]>} error @returns
 * {HTMLElement}
 */
function detailsOf({ type, message }) {
  return element(
    "details",
    {},
    element("summary", {}, "For the administrator"),
    element("p", {}, asSentence(message)),
    element("p", {}, element("code", {}, type)),
  );
}

/**
 * @param {ConnectionEntry} entry
 * @param {Ticker} ticker
 * @returns {HTMLElement}
 */
function checkedLine({ checked_at: checkedAt, cached }, ticker) {
  const origin = cached ? ", from the gateway's cache" : "";
  const time = checkedTime(checkedAt, ticker);
  return element("p", { class: "checked" }, time, origin);
}

/**
 * @param {string} checkedAt ISO 8601.
 * @param {Ticker} ticker
 * @returns {HTMLElement}
 */
function checkedTime(checkedAt, ticker) {
  const time = element("time", {
    datetime: checkedAt,
    title: localTimeOf(checkedAt),
  });
  ticker.follow(time, (nowMs) => checkedText(checkedAt, nowMs));
  return time;
}

/**
 * @param {string | null} instant ISO 8601.
 * @returns {string | undefined}
 */
function localTimeOf(instant) {
  return instant === null ? undefined : localTime(Date.parse(instant));
}
