import { byId } from "./element.js";
import { connectionCard } from "./card_view.js";
import { summaryText } from "./summary.js";

/**
 * @typedef {import("./element.js").Ticker} Ticker
 * @typedef {import("./session.js").Reading} Reading
 */

/**
 * Shows the quotas of a reading, or why there are none.
 *
 * @param {Reading} reading
 * @param {Ticker} ticker Keeps its countdowns going.
 */
export function showQuotas({ list, failure }, ticker) {
  const summary = byId("summary", HTMLElement);
  summary.textContent = list === undefined
    ? "The quotas are not known yet."
    : summaryText(list.data);
  byId("cards", HTMLElement).replaceChildren(
    ...(list?.data ?? []).map((entry) => connectionCard(entry, ticker)),
  );
  byId("legend", HTMLElement).hidden = (list?.data ?? []).every(
    ({ limits }) => limits.length === 0,
  );
  showFailure(failure, list !== undefined);
}

/**
 * @param {string | undefined} failure
 * @param {boolean} hasOlder Whether an older list is on the page.
 */
function showFailure(failure, hasOlder) {
  const banner = byId("failure", HTMLElement);
  banner.hidden = failure === undefined;
  banner.textContent = failure === undefined
    ? ""
    : `${failure} ${
      hasOlder ? "What stands here is older. " : ""
    }The page asks again by itself.`;
}
