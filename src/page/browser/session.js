/**
 * The data that this tab keeps until it is closed: the token and the last reading. After a reload, the last reading
 * keeps the page from sending requests too early.
 *
 * @typedef {import("../answers.ts").QuotaList} QuotaList
 * @typedef {import("../wording/models.js").Model} Model
 * @typedef {import("../wording/own_limits.js").OwnLimits} OwnLimits
 *
 * @typedef {object} Reading
 * @property {QuotaList | undefined} [list]
 * @property {number | undefined} [listAtMs] The time of the list, in milliseconds since 1970.
 * @property {readonly OwnLimits[] | undefined} [own] The limits of the token and its group.
 * @property {import("../wording/history.js").History | undefined} [history] The usage of the last days.
 * @property {number | undefined} [ownAtMs] The time of the limits in `own`, in milliseconds since 1970.
 * @property {boolean | undefined} [isOwnOld] True when later limits could not be read.
 * @property {readonly Model[] | undefined} [models]
 * @property {string | undefined} [failure] The reason why the last reading is incomplete.
 * @property {number | undefined} [failures] The number of incomplete readings in a row.
 * @property {number} askedAtMs The time of the last reading, in milliseconds since 1970.
 *
 * @typedef {object} Session
 * @property {string} token
 * @property {Reading | undefined} [reading]
 */

const KEY = "model-gateway";

/**
 * @param {Storage} storage
 * @returns {Session | undefined}
 */
export function loadSession(storage) {
  try {
    const found = JSON.parse(storage.getItem(KEY) ?? "null");
    const isWhole = typeof found?.token === "string" &&
      typeof found.reading?.askedAtMs === "number";
    return isWhole ? found : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {Storage} storage
 * @param {Session} session
 */
export function saveSession(storage, session) {
  try {
    storage.setItem(KEY, JSON.stringify(session));
  } catch {
    // A browser that stores nothing asks for the token again after a reload.
  }
}

/** @param {Storage} storage */
export function forgetSession(storage) {
  storage.removeItem(KEY);
}

/** The interval of the readings until the gateway has reported the interval that it recommends. */
const DEFAULT_REFRESH_SECONDS = 60;

/** The pause after the first incomplete reading. Each further incomplete reading doubles the pause. */
const FIRST_PAUSE_MS = 5000;

/**
 * Returns the earliest time of the next reading, in milliseconds since 1970. The pause grows after each incomplete
 * reading.
 *
 * @param {Session | undefined} session
 * @returns {number}
 */
export function nextReadAtMs(session) {
  const reading = session?.reading;
  if (reading === undefined) return 0;
  if (reading.failure === undefined) return nextListAtMs(session);
  const pauseMs = FIRST_PAUSE_MS * 2 ** ((reading.failures ?? 1) - 1);
  return reading.askedAtMs +
    Math.min(pauseMs, DEFAULT_REFRESH_SECONDS * 1000);
}

/**
 * Returns the earliest time to read the quotas again. Only a response of the gateway sets this time.
 *
 * @param {Session | undefined} session
 * @returns {number} Milliseconds since 1970.
 */
export function nextListAtMs(session) {
  const { list, listAtMs } = session?.reading ?? {};
  if (list === undefined || listAtMs === undefined) return 0;
  const seconds = list.refresh_after_seconds ?? DEFAULT_REFRESH_SECONDS;
  return listAtMs + seconds * 1000;
}

/**
 * Merges a new reading into a session. Data that the new reading lacks is kept from the reading before.
 *
 * @param {Session} session
 * @param {Reading} answer
 * @returns {Session}
 */
export function withAnswer({ token, reading }, answer) {
  return {
    token,
    reading: {
      ...answer,
      list: answer.list ?? reading?.list,
      listAtMs: answer.list === undefined
        ? reading?.listAtMs
        : answer.askedAtMs,
      own: answer.own ?? reading?.own,
      history: answer.history ?? reading?.history,
      ownAtMs: answer.own === undefined ? reading?.ownAtMs : answer.askedAtMs,
      isOwnOld: answer.isOwnOld ?? reading?.isOwnOld,
      models: answer.models ?? reading?.models,
      failures: answer.failure === undefined ? 0 : (reading?.failures ?? 0) + 1,
    },
  };
}
