import { isJsonObject, type JsonValue } from "../../core/json.ts";
import type { ConnectionEntry, QuotaList } from "../../quotas/list.ts";
import type { QuotaWindow } from "../../quotas/window.ts";
import { askGateway, type AskTools, readGateway } from "../gateway_client.ts";

/** Where something is read, and for whom. */
interface Place {
  readonly url: string;
  readonly token: string;
}

/** Longer than any gateway's own budget, so that its answer is heard. */
const DEADLINE_MS = 30_000;

/**
 * Reads the list of limits from a gateway.
 *
 * @param place `url` is the address of the list itself.
 * @throws {GatewayUnread} For everything that is no list.
 */
export function readLimits(
  place: Place,
  tools: AskTools,
): Promise<QuotaList> {
  const options = { ...place, deadlineMs: DEADLINE_MS };
  return readGateway(options, tools, isQuotaList);
}

/** Quotas are there already; what goes beside them is not worth a longer wait. */
const USAGE_DEADLINE_MS = 5000;

/**
 * Reads what a token used, as `GET /usage` says it.
 *
 * @param place `url` is the address of that.
 * @returns Whatever it answers; `undefined` where there is none, as of a gateway that does not say it.
 */
export async function readUsage(
  place: Place,
  tools: AskTools,
): Promise<JsonValue | undefined> {
  const options = { ...place, deadlineMs: USAGE_DEADLINE_MS };
  const answer = await askGateway(options, tools).catch(() => undefined);
  return answer?.body;
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
