import { byId, setText } from "./element.js";
import { connectionCard, limitsCard } from "./card_view.js";
import { summaryText } from "./summary.js";
import { mostUrgentFirst } from "../wording/level.js";
import { localTime } from "../wording/times.js";

/**
 * @typedef {import("./element.js").Ticker} Ticker
 * @typedef {import("./session.js").Reading} Reading
 */

/**
 * Shows the limits and the quotas of a reading, or the reason why there are none.
 *
 * @param {Reading} reading
 * @param {Ticker} ticker Updates the countdowns.
 */
export function showQuotas(reading, ticker) {
  const own = mostUrgentFirst(reading.own ?? []);
  const entries = reading.list && mostUrgentFirst(reading.list.data);
  byId("summary", HTMLElement).textContent = summaryText(own, entries);
  byId("own", HTMLElement).hidden = own.length === 0;
  byId("own-cards", HTMLElement).replaceChildren(
    ...own.map((limits) =>
      limitsCard(
        limits,
        ticker,
        reading.isOwnOld === true ? reading.ownAtMs : undefined,
      )
    ),
  );
  byId("cards", HTMLElement).replaceChildren(
    ...(entries ?? []).map((entry) => connectionCard(entry, ticker)),
  );
  byId("quotas-title", HTMLElement).hidden = !entries?.length;
  const hasQuotas = hasBars(entries ?? []);
  byId("legend", HTMLElement).hidden = !hasQuotas && !hasBars(own);
  byId("legend-quotas", HTMLElement).hidden = !hasQuotas;
  showFailure(reading);
}

/** @param {readonly { readonly limits: readonly unknown[] }[]} cards @returns {boolean} */
function hasBars(cards) {
  return cards.some(({ limits }) => limits.length > 0);
}

/** Hides the last failure while the page reads again. */
export function hideFailure() {
  byId("failure", HTMLElement).hidden = true;
}

/** @param {Reading} reading */
function showFailure({ failure, ...reading }) {
  const banner = byId("failure", HTMLElement);
  const failures = [
    ...(failure === undefined ? [] : [failure, ...ageOf(reading)]),
    ...ownFailure(reading),
  ];
  banner.hidden = failures.length === 0;
  setText(
    banner,
    failures.length === 0
      ? ""
      : [...failures, "The page tries again automatically."].join(" "),
  );
}

/**
 * Returns the time of the token's limits when newer limits could not be read.
 *
 * @param {Reading} reading
 * @returns {readonly string[]} A sentence or none.
 */
function ownFailure({ isOwnOld, own = [], ownAtMs }) {
  if (isOwnOld !== true) return [];
  return own.length === 0 || ownAtMs === undefined
    ? ["Your limits could not be read."]
    : [
      `Your limits could not be read: those below are from ${
        localTime(ownAtMs)
      }.`,
    ];
}

/**
 * Returns the time of the quotas when they are older than the last reading.
 *
 * @param {Reading} reading
 * @returns {readonly string[]} A sentence or none.
 */
function ageOf({ listAtMs, askedAtMs }) {
  return listAtMs === undefined || listAtMs === askedAtMs
    ? []
    : [`These quotas are from ${localTime(listAtMs)}.`];
}
