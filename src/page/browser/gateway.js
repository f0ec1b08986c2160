import { historyOf } from "../wording/history.js";
import { ownLimits } from "../wording/own_limits.js";
import { withOwnUse } from "../wording/own_use.js";
import { asSentence } from "../wording/words.js";

/**
 * The requests of the page to its gateway.
 *
 * @typedef {import("../answers.ts").QuotaList} QuotaList
 * @typedef {import("../wording/models.js").Model} Model
 * @typedef {import("../wording/own_limits.js").OwnLimits} OwnLimits
 *
 * @typedef {import("../wording/history.js").History} History
 *
 * @typedef {object} Answers The data that could be read, and the failure when some data could not be read.
 * @property {QuotaList | undefined} list
 * @property {readonly OwnLimits[] | undefined} own The limits of the token and its group.
 * @property {History | undefined} history The usage of the last days.
 * @property {boolean | undefined} isOwnOld True when the limits of `own` could not be read; undefined when they were
 * not requested.
 * @property {readonly Model[] | undefined} models
 * @property {string | undefined} failure A sentence for the reader.
 */

/** The timeout of a reading. It is longer than the gateway's own time limit for reading the quotas. */
const DEADLINE_MS = 30_000;

/** The error when the gateway rejects the token. */
export class TokenRejected extends Error {}

/**
 * Reads the limits, the quotas and the models of a token. Each of the three may fail alone.
 *
 * @param {string} base The gateway's address without a trailing slash.
 * @param {string} token
 * @param {{ readonly isListDue: boolean }} options True when the quotas are requested, too.
 * @returns {Promise<Answers>}
 * @throws {TokenRejected} With the gateway's message.
 */
export async function readGateway(base, token, { isListDue }) {
  const [list, models] = await Promise.allSettled([
    isListDue ? readList(`${base}/v1/limits`, token) : undefined,
    readList(`${base}/v1/models`, token, { "x-gateway-models": "all" }),
  ]);
  const reasons = [list, models].flatMap((one) =>
    one.status === "rejected" ? [one.reason] : []
  );
  const refusal = reasons.find((reason) => reason instanceof TokenRejected);
  if (refusal !== undefined) throw refusal;
  // By now, the gateway has read the quotas, so it can compute how much of each quota the token has used.
  const usage = isListDue ? await readUsage(base, token) : undefined;
  const body = usage?.body;
  const quotas = list.status === "fulfilled" ? list.value : undefined;
  return {
    list: quotas && withOwnUse(quotas, body),
    own: ownLimits(body),
    history: historyOf(body),
    isOwnOld: usage?.hasFailed,
    models: models.status === "fulfilled" ? models.value.data : undefined,
    failure: reasons[0]?.message,
  };
}

/**
 * Reads only the limits and the usage of a token and its group.
 *
 * @param {string} base The gateway's address without a trailing slash.
 * @param {string} token
 * @returns {Promise<{ readonly own: readonly OwnLimits[] | undefined, readonly history: History | undefined }>}
 * Undefined when they cannot be read.
 */
export async function readOwnUsage(base, token) {
  const { body } = await readUsage(base, token);
  return { own: ownLimits(body), history: historyOf(body) };
}

/**
 * Reads the usage of a token. If this fails, the page still shows the quotas.
 *
 * @param {string} base
 * @param {string} token
 * @returns {Promise<{ readonly body?: unknown, readonly hasFailed: boolean }>} `hasFailed` is false for a gateway
 * without a usage report (404).
 */
async function readUsage(base, token) {
  try {
    const answer = await send(`${base}/v1/usage`, token);
    const hasFailed = !answer.ok && answer.status !== 404;
    return hasFailed ? { hasFailed } : { body: await answer.json(), hasFailed };
  } catch {
    return { hasFailed: true };
  }
}

/**
 * @param {string} url
 * @param {string} token
 * @param {Readonly<Record<string, string>>} [headers]
 * @returns {Promise<any>} A list object.
 */
async function readList(url, token, headers) {
  const answer = await send(url, token, undefined, headers);
  const body = await answer.json().catch(() => undefined);
  if (answer.ok && Array.isArray(body?.data)) return body;
  if (answer.ok) {
    throw new Error(
      "Cannot read the response: it is not one of a Model Gateway.",
    );
  }
  const message = body?.error?.message ?? `HTTP ${answer.status}`;
  if (answer.status === 401) throw new TokenRejected(asSentence(message));
  throw new Error(`The gateway reports an error: ${asSentence(message)}`);
}

/**
 * Sends a request to the gateway. Follows no redirect, so that only this address receives the token.
 *
 * @param {string} url
 * @param {string} token
 * @param {unknown} [body] The body of a POST; absent for a GET.
 * @param {Readonly<Record<string, string>>} [more] Further headers.
 * @returns {Promise<Response>}
 * @throws {Error} When no response comes. The message is a sentence for the reader.
 */
export async function send(url, token, body, more = {}) {
  const isPost = body !== undefined;
  try {
    return await fetch(url, {
      method: isPost ? "POST" : "GET",
      headers: {
        authorization: `Bearer ${token}`,
        ...(isPost ? POST_HEADERS : {}),
        ...more,
      },
      body: isPost ? JSON.stringify(body) : null,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(isPost ? MODEL_DEADLINE_MS : DEADLINE_MS),
    });
  } catch {
    throw new Error("Cannot reach the gateway.");
  }
}

/** Messages routes require the version; other routes ignore it. */
const POST_HEADERS = {
  "content-type": "application/json",
  "anthropic-version": "2023-06-01",
};

/** The timeout of a request; it leaves a model time to reason about one sentence. */
const MODEL_DEADLINE_MS = 120_000;
