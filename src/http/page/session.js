/**
 * What this tab remembers until it is closed: the token, and what was read last, so that reloading the
 * page does not ask the gateway sooner than it may be asked.
 *
 * @typedef {import("../../quotas/list.ts").QuotaList} QuotaList
 * @typedef {import("../wording/models.js").Model} Model
 *
 * @typedef {object} Reading
 * @property {QuotaList | undefined} [list]
 * @property {number | undefined} [listAtMs] When the list was read, in milliseconds since 1970.
 * @property {readonly Model[] | undefined} [models]
 * @property {string | undefined} [failure] Why the last question had no full answer.
 * @property {number | undefined} [failures] How many questions one after another had none.
 * @property {number} askedAtMs When the last question was answered, in milliseconds since 1970.
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

/** What the specification recommends; used until the gateway has said otherwise. */
const DEFAULT_REFRESH_SECONDS = 60;

/** The pause after the first question without a full answer; each further one doubles it. */
const FIRST_PAUSE_MS = 5000;

/**
 * The earliest time to ask the gateway again, in milliseconds since 1970: soon, and then less and less soon,
 * while something is missing.
 *
 * @param {Session | undefined} session
 * @returns {number}
 */
export function nextAskAtMs(session) {
  const reading = session?.reading;
  if (reading === undefined) return 0;
  if (reading.failure === undefined) return nextListAtMs(session);
  const pauseMs = FIRST_PAUSE_MS * 2 ** ((reading.failures ?? 1) - 1);
  return reading.askedAtMs +
    Math.min(pauseMs, DEFAULT_REFRESH_SECONDS * 1000);
}

/**
 * The earliest time to ask for the quotas again: the gateway says it with them, and nothing else brings it
 * forward.
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
 * What is known after another question: what it could not tell stays as it was.
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
      models: answer.models ?? reading?.models,
      failures: answer.failure === undefined ? 0 : (reading?.failures ?? 0) + 1,
    },
  };
}
