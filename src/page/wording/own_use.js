/**
 * The token's own usage of quotas.
 *
 * @typedef {import("../answers.ts").QuotaList} QuotaList
 * @typedef {import("../answers.ts").QuotaWindow} QuotaWindow
 *
 * @typedef {QuotaWindow & { readonly your_percent?: number | undefined }} WindowWithUse
 */

/**
 * Adds the token's own usage to the windows of a list, when this usage is known and above zero.
 *
 * @param {QuotaList} list
 * @param {unknown} usage The response of `GET /usage`. Any other value is ignored.
 * @returns {QuotaList}
 */
export function withOwnUse(list, usage) {
  const percents = percentsIn(usage);
  if (percents.size === 0) return list;
  return {
    ...list,
    data: list.data.map((entry) => ({
      ...entry,
      limits: entry.limits.map((window) => {
        const percent = percents.get(keyOf(entry, window));
        return percent === undefined
          ? window
          : { ...window, your_percent: percent };
      }),
    })),
  };
}

/**
 * @param {unknown} usage
 * @returns {ReadonlyMap<string, number>} By connection and window.
 */
function percentsIn(usage) {
  const percents = new Map();
  for (const entry of listAt(usage, "connections")) {
    for (const window of listAt(entry, "limits")) {
      const percent = Reflect.get(window, "your_percent");
      // Zero is left out, because the token may have used the quota before the gateway began to count.
      if (typeof percent === "number" && percent > 0) {
        percents.set(keyOf(entry, window), percent);
      }
    }
  }
  return percents;
}

/**
 * Returns the objects in a list of a response.
 *
 * @param {unknown} holder
 * @param {string} key
 * @returns {readonly object[]} Empty when there is no list.
 */
export function listAt(holder, key) {
  const isObject = typeof holder === "object" && holder !== null;
  const list = isObject ? Reflect.get(holder, key) : undefined;
  return Array.isArray(list)
    ? list.filter((one) => typeof one === "object" && one !== null)
    : [];
}

/**
 * @param {object} entry
 * @param {object} window
 * @returns {string}
 */
function keyOf(entry, window) {
  return JSON.stringify([
    Reflect.get(entry, "provider_id"),
    Reflect.get(window, "type"),
    Reflect.get(window, "window"),
  ]);
}
