import { isJsonObject, type JsonValue } from "@gateway/base/json";
import type { ConnectionEntry, QuotaList } from "@gateway/page/answers";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  type GatewayAddress,
  readGateway,
  requestGateway,
  type RequestTools,
} from "../gateway_client.ts";

/** The timeout of the list, longer than the gateway's own, so that the gateway's error arrives. */
const DEADLINE_MS = 30_000;

/**
 * Reads the list of limits from a gateway.
 *
 * @throws {GatewayUnread} When the response is not a list.
 */
export function readLimits(
  { base, token }: GatewayAddress,
  tools: RequestTools,
): Promise<QuotaList> {
  const url = `${base}/v1/limits`;
  const options = { url, token, deadlineMs: DEADLINE_MS };
  return readGateway(options, tools, isQuotaList);
}

/** The timeout of the usage. It is short because the quotas are ready to be drawn without it. */
const USAGE_DEADLINE_MS = 5000;

/**
 * Reads the usage of a token from `GET /usage`.
 *
 * @returns The body of any response; `undefined` without a response or without JSON.
 */
export async function readUsage(
  { base, token }: GatewayAddress,
  tools: RequestTools,
): Promise<JsonValue | undefined> {
  const url = `${base}/v1/usage`;
  const options = { url, token, deadlineMs: USAGE_DEADLINE_MS };
  const answer = await requestGateway(options, tools).catch(() => undefined);
  return answer?.body;
}

/**
 * Returns true when a body is a list of limits (docs/quotas.md#fields-of-a-window). It accepts unknown fields, because
 * the gateway may be newer than this program.
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
    (value.waiting === undefined || isWaiting(value.waiting)) &&
    (value.failing === undefined ||
      isJsonObject(value.failing) && typeof value.failing.until === "string") &&
    Array.isArray(value.limits) && value.limits.every(isWindow);
}

function isError(value: JsonValue): boolean {
  return isJsonObject(value) && areTexts([value.type, value.message]);
}

function isWaiting(value: JsonValue): boolean {
  return isJsonObject(value) &&
    [value.requests, value.seconds].every((one) => typeof one === "number");
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
