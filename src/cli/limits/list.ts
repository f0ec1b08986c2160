import { isJsonObject, type JsonValue } from "../../core/json.ts";
import type { ConnectionEntry, LimitsList } from "../../limits/list.ts";
import type { QuotaWindow } from "../../limits/window.ts";

/**
 * Whether a gateway's answer is a list of limits (docs/quotas.md#fields-of-a-window). Fields beyond it are welcome: the
 * gateway may be newer than this program.
 */
export function isLimitsList(value: unknown): value is LimitsList {
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
