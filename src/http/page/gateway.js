import { withOwnUse } from "../wording/own_use.js";

/**
 * The questions that the page asks the gateway it came from.
 *
 * @typedef {import("../../quotas/list.ts").QuotaList} QuotaList
 * @typedef {import("../wording/models.js").Model} Model
 *
 * @typedef {object} Answers What could be read, and why not everything.
 * @property {QuotaList | undefined} list
 * @property {readonly Model[] | undefined} models
 * @property {string | undefined} failure In words for the reader.
 */

/** Longer than the gateway's own budget for reading the quotas. */
const DEADLINE_MS = 30_000;

/** The gateway does not know the token, or no longer. */
export class TokenRefused extends Error {}

/**
 * Reads the quotas and the models of a token; one is there without the other.
 *
 * @param {string} base The gateway's address without a trailing slash.
 * @param {string} token
 * @param {{ readonly isListDue: boolean }} options Whether to ask for the quotas, too.
 * @returns {Promise<Answers>}
 * @throws {TokenRefused} With the gateway's words.
 */
export async function askGateway(base, token, { isListDue }) {
  const [list, models] = await Promise.allSettled([
    isListDue ? askLimits(base, token) : undefined,
    ask(`${base}/v1/models`, token),
  ]);
  const reasons = [list, models].flatMap((one) =>
    one.status === "rejected" ? [one.reason] : []
  );
  const refusal = reasons.find((reason) => reason instanceof TokenRefused);
  if (refusal !== undefined) throw refusal;
  return {
    list: list.status === "fulfilled" ? list.value : undefined,
    models: models.status === "fulfilled" ? models.value.data : undefined,
    failure: reasons[0]?.message,
  };
}

/**
 * The quotas, with what the token used of them where the gateway tells that.
 *
 * @param {string} base
 * @param {string} token
 * @returns {Promise<QuotaList>}
 */
async function askLimits(base, token) {
  const list = await ask(`${base}/v1/limits`, token);
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
async function ask(url, token) {
  const answer = await send(url, token);
  const body = await answer.json().catch(() => undefined);
  if (answer.ok && Array.isArray(body?.data)) return body;
  if (answer.ok) throw new Error("What answers here is no Model Gateway.");
  const message = body?.error?.message ?? `HTTP ${answer.status}`;
  if (answer.status === 401) throw new TokenRefused(`${message}.`);
  throw new Error(`The gateway answers: ${message}.`);
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
    throw new Error("The gateway cannot be reached.");
  }
}
