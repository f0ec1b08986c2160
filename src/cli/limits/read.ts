import { isJsonObject, type JsonValue, parseJson } from "../../core/json.ts";
import type { ConnectionEntry, QuotaList } from "../../limits/list.ts";
import type { QuotaWindow } from "../../limits/window.ts";
import { answerText, connectionFault } from "../gateway_client.ts";
import { plainText } from "../text.ts";

/** What {@linkcode readLimits} reaches the gateway with. */
export interface ReadLimitsTools {
  readonly fetch: typeof fetch;
  /** A signal that aborts after this many milliseconds. */
  readonly deadline: (ms: number) => AbortSignal;
}

/** The limits could not be read; the message is one line for people, without the token. */
export class LimitsUnread extends Error {
  override readonly name = "LimitsUnread";
  /** Whether asking again later may help. */
  readonly isPassing: boolean;

  constructor(message: string, { isPassing }: { readonly isPassing: boolean }) {
    super(message);
    this.isPassing = isPassing;
  }
}

/** Longer than any gateway's own budget, so that its answer is heard. */
const DEADLINE_MS = 30_000;

/**
 * Reads the list of limits from a gateway. The token goes to that address alone: a redirect is not followed.
 *
 * @param where `url` is the address of the list itself.
 * @throws {LimitsUnread} For everything that is no list.
 */
export async function readLimits(
  where: { readonly url: string; readonly token: string },
  { fetch, deadline }: ReadLimitsTools,
): Promise<QuotaList> {
  const { status, body } = await exchange(where, { fetch, deadline });
  if (status === 200 && isQuotaList(body)) return body;
  throw refusal(where.url, { status, body });
}

/** Whoever asks for quotas has them; what is told beside them is not worth a longer wait. */
const USAGE_DEADLINE_MS = 5000;

/**
 * Reads what a token used, as `GET /usage` tells it.
 *
 * @param where `url` is the address of that.
 * @returns Whatever it answers; `undefined` where there is none, as of a gateway that does not tell.
 */
export async function readUsage(
  { url, token }: { readonly url: string; readonly token: string },
  { fetch, deadline }: ReadLimitsTools,
): Promise<JsonValue | undefined> {
  try {
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${token}`, accept: "application/json" },
      redirect: "manual",
      signal: deadline(USAGE_DEADLINE_MS),
    });
    return parseJson(await answer.text());
  } catch {
    return undefined;
  }
}

interface Exchanged {
  readonly status: number;
  readonly body: JsonValue | undefined;
}

async function exchange(
  { url, token }: { readonly url: string; readonly token: string },
  { fetch, deadline }: ReadLimitsTools,
): Promise<Exchanged> {
  try {
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${token}`, accept: "application/json" },
      redirect: "manual",
      signal: deadline(DEADLINE_MS),
    });
    const text = await answerText(answer) ?? "";
    return { status: answer.status, body: parseJson(text) };
  } catch (error) {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    if (isLate) {
      const reason = `there was no answer in ${DEADLINE_MS / 1000} s`;
      throw unread(url, reason, { isPassing: true });
    }
    const fault = connectionFault(error);
    const reason = fault === undefined
      ? "nothing answers there, see whether the gateway runs and --url names it"
      : `something is there, but ${fault}`;
    throw unread(url, reason, { isPassing: fault === undefined });
  }
}

function refusal(url: string, { status, body }: Exchanged): LimitsUnread {
  const message = messageOf(body);
  if (status === 401) {
    const reason =
      "the gateway does not know the token, or it has expired: ask the administrator for a new one";
    return unread(url, reason, { isPassing: false });
  }
  if (status === 504) {
    const reason =
      "the providers took longer than the gateway waits, ask again in a moment: what was read is kept";
    return unread(url, reason, { isPassing: true });
  }
  if (message === undefined || status < 400) {
    const reason =
      `what answers there is no Model Gateway (HTTP ${status}), see whether --url names one`;
    return unread(url, reason, { isPassing: status >= 500 });
  }
  const isPassing = status === 429 || status >= 500;
  return unread(url, `HTTP ${status}, ${message}`, { isPassing });
}

/** What the gateway's error object says (docs/design.md#errors). */
function messageOf(body: JsonValue | undefined): string | undefined {
  const error = isJsonObject(body) ? body.error : undefined;
  const message = isJsonObject(error) ? error.message : undefined;
  return typeof message === "string" ? plainText(message) : undefined;
}

function unread(
  url: string,
  reason: string,
  options: { readonly isPassing: boolean },
): LimitsUnread {
  return new LimitsUnread(`Cannot read ${url}: ${reason}`, options);
}

/**
 * Whether a gateway's answer is a list of limits (docs/quotas.md#fields-of-a-window). Fields beyond it are welcome: the
 * gateway may be newer than this program.
 */
function isQuotaList(value: unknown): value is QuotaList {
  return isJsonObject(value) && value.object === "list" &&
    typeof value.refresh_after_seconds === "number" &&
    Array.isArray(value.data) && value.data.every(isEntry);
}

function isEntry(value: unknown): value is ConnectionEntry {
  return isJsonObject(value) &&
    areTexts([value.name, value.service, value.status, value.checked_at]) &&
    typeof value.cached === "boolean" &&
    (value.error === undefined || isError(value.error)) &&
    Array.isArray(value.limits) && value.limits.every(isWindow);
}

function isError(value: JsonValue): boolean {
  return isJsonObject(value) && areTexts([value.type, value.message]);
}

function isWindow(value: unknown): value is QuotaWindow {
  if (!isJsonObject(value)) return false;
  const { limit, used, remaining, used_percent, period_count } = value;
  return areTexts([value.type, value.window, value.unit]) &&
    [limit, used, remaining, used_percent, period_count].every(isAmount) &&
    (value.resets_at === null || typeof value.resets_at === "string");
}

function areTexts(values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}

function isAmount(value: unknown): boolean {
  return value === null || typeof value === "number";
}
