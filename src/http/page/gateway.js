import { withOwnUse } from "../wording/own_use.js";
import { asSentence } from "../wording/words.js";

/**
 * The requests of the page to its gateway.
 *
 * @typedef {import("../../quotas/list.ts").QuotaList} QuotaList
 * @typedef {import("../wording/models.js").Model} Model
 *
 * @typedef {object} Answers The data that could be read, and the failure when some could not.
 * @property {QuotaList | undefined} list
 * @property {readonly Model[] | undefined} models
 * @property {string | undefined} failure A sentence for the reader.
 */

/** Longer than the gateway's own budget for reading the quotas. */
const DEADLINE_MS = 30_000;

/** The gateway rejects the token. */
export class TokenRejected extends Error {}

/**
 * Reads the quotas and the models of a token. Either may fail alone.
 *
 * @param {string} base The gateway's address without a trailing slash.
 * @param {string} token
 * @param {{ readonly isListDue: boolean }} options True when the quotas are requested, too.
 * @returns {Promise<Answers>}
 * @throws {TokenRejected} With the gateway's message.
 */
export async function readGateway(base, token, { isListDue }) {
  const [list, models] = await Promise.allSettled([
    isListDue ? readLimits(base, token) : undefined,
    readList(`${base}/v1/models`, token),
  ]);
  const reasons = [list, models].flatMap((one) =>
    one.status === "rejected" ? [one.reason] : []
  );
  const refusal = reasons.find((reason) => reason instanceof TokenRejected);
  if (refusal !== undefined) throw refusal;
  return {
    list: list.status === "fulfilled" ? list.value : undefined,
    models: models.status === "fulfilled" ? models.value.data : undefined,
    failure: reasons[0]?.message,
  };
}

/**
 * Reads the quotas, with the token's own usage of them when the gateway reports it.
 *
 * @param {string} base
 * @param {string} token
 * @returns {Promise<QuotaList>}
 */
async function readLimits(base, token) {
  const list = await readList(`${base}/v1/limits`, token);
  try {
    const answer = await send(`${base}/v1/usage`, token);
    return withOwnUse(list, await answer.json());
  } catch {
    return list;
  }
}

/**
 * @param {string} url
 * @param {string} token
 * @returns {Promise<any>} A list object.
 */
async function readList(url, token) {
  const answer = await send(url, token);
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
 * @param {string} url
 * @param {string} token
 * @returns {Promise<Response>}
 */
async function send(url, token) {
  try {
    return await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
  } catch {
    throw new Error("Cannot reach the gateway.");
  }
}
