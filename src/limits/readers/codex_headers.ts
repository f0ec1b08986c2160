import type { HeaderFields } from "../../core/header_fields.ts";
import { amounts, percentAmounts } from "../amounts.ts";
import { instantAfter, instantOfSeconds } from "../instant.ts";
import { periodOfSeconds, TOTAL } from "../period.ts";
import {
  LIMIT_TYPES,
  type QuotaWindow,
  quotaWindow,
  scopedType,
} from "../window.ts";
import { headerNumber } from "./header_value.ts";
import type { HeaderQuota } from "./reader.ts";

/** What the Codex back end tells with every answer; the windows have the same types as the poll's. */
export const codexHeaders: HeaderQuota = {
  probes: [
    "x-codex-primary-used-percent",
    "x-codex-secondary-used-percent",
    "x-codex-credits-balance",
  ],
  parse: (headers, seenAtMs) => [
    ...usageWindows(headers, seenAtMs),
    ...creditWindows(headers),
  ],
};

/** A further meter stands between: `x-codex-bengalfox-primary-used-percent`. */
const USED_REGEXP =
  /^(x-codex(?:-([\w-]+))?-(?:primary|secondary))-used-percent$/;

function usageWindows(headers: HeaderFields, seenAtMs: number): QuotaWindow[] {
  return [...headers.keys()].flatMap((name) => {
    const [, slot, meter] = USED_REGEXP.exec(name) ?? [];
    const usedPercent = headerNumber(headers, name);
    if (slot === undefined || usedPercent === null) return [];
    return [quotaWindow({
      type: scopedType(LIMIT_TYPES.usage, meterName(headers, meter)),
      unit: "percent",
      period: periodOfSeconds(
        (headerNumber(headers, `${slot}-window-minutes`) ?? 0) * 60,
      ),
      amounts: percentAmounts(usedPercent),
      resetsAt: resetOf(headers, slot, seenAtMs),
    })];
  });
}

function meterName(headers: HeaderFields, meter: string | undefined): string {
  if (meter === undefined) return "";
  return headers.get(`x-codex-${meter}-limit-name`) ?? meter;
}

function resetOf(
  headers: HeaderFields,
  slot: string,
  seenAtMs: number,
): string | null {
  const seconds = headerNumber(headers, `${slot}-reset-after-seconds`);
  return instantOfSeconds(headerNumber(headers, `${slot}-reset-at`)) ??
    instantAfter(seenAtMs, seconds === null ? null : seconds * 1000);
}

function creditWindows(headers: HeaderFields): QuotaWindow[] {
  const balance = headerNumber(headers, "x-codex-credits-balance");
  const isUnlimited =
    headers.get("x-codex-credits-unlimited")?.toLowerCase() === "true";
  if (balance === null || isUnlimited) return [];
  return [quotaWindow({
    type: LIMIT_TYPES.balance,
    unit: "credits",
    period: TOTAL,
    amounts: amounts({ remaining: balance }),
    resetsAt: null,
  })];
}
