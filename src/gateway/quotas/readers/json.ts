import { credentialHeader } from "../../config/credential.ts";
import type {
  JsonCondition,
  JsonQuota,
  JsonWindow,
} from "../../config/schema/quota.ts";
import { complement, type KnownAmounts, tidy } from "../amounts.ts";
import { QuotaFailure } from "../failure.ts";
import {
  instantAfter,
  instantOfMs,
  instantOfSeconds,
  instantOfText,
  periodOfText,
} from "../period.ts";
import { quotaWindow } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import { errorBody, keyRejected, numeric, text } from "./payload.ts";
import type { QuotaReader, QuotaRequest, QuotaSource } from "./reader.ts";

/** A service whose quota response the config describes. */
export const json: QuotaReader = {
  poll: {
    requests: (source) => [request(source)],
    parse([body], { source, nowMs }) {
      const quota = settingsOf(source);
      rejectErrors(body, quota);
      const windows = quota.windows.flatMap((one) =>
        windowsOf(one, body, nowMs)
      );
      if (windows.length > 0) return windows;
      throw new QuotaFailure(
        "broken",
        "Cannot read the quota: the provider's response has none of the windows of quota.windows.",
      );
    },
  },
};

function settingsOf({ quota }: QuotaSource): JsonQuota {
  if (quota.json !== undefined) return quota.json;
  throw new QuotaFailure(
    "misconfigured",
    "Cannot read the quota: the kind json needs windows. Set quota.windows.",
  );
}

function request(source: QuotaSource): QuotaRequest {
  const { url } = source.quota;
  if (url === undefined) {
    throw new QuotaFailure(
      "misconfigured",
      "Cannot read the quota: the kind json needs an address. Set quota.url.",
    );
  }
  const headers = new Headers({ accept: "application/json" });
  addCredential(headers, source);
  const fixed = Object.entries(settingsOf(source).headers);
  for (const [name, value] of fixed) headers.set(name, value);
  return { url, headers: Object.fromEntries(headers) };
}

/** Adds the credential, if any, in the form that the connection sends it. */
function addCredential(
  headers: Headers,
  { connection: { auth }, quota }: QuotaSource,
): void {
  if (quota.key !== undefined) {
    headers.set("authorization", `Bearer ${quota.key}`);
  } else {
    const credential = credentialHeader(auth);
    if (credential !== undefined) headers.set(...credential);
  }
}

function rejectErrors(body: unknown, quota: JsonQuota): void {
  if (quota.unauthorized && isMet(quota.unauthorized, body)) {
    throw keyRejected();
  }
  if (quota.success && !isMet(quota.success, body)) {
    throw errorBody();
  }
}

function isMet(condition: JsonCondition, body: unknown): boolean {
  const value = valueAt(body, condition.at);
  return condition.in.some((one) => one === value);
}

/** Returns the window in a response. A window that is missing, or has no number, is left out. */
function windowsOf(
  window: JsonWindow,
  body: unknown,
  nowMs: number,
): QuotaWindow[] {
  const item = itemOf(window, valueAt(body, window.at));
  if (item === undefined) return [];
  const found = amountsOf(window, item);
  if (Object.values(found).every((value) => value === null)) return [];
  return [quotaWindow({
    type: window.type,
    unit: window.unit,
    period: periodOfText(window.period),
    ...found,
    resetsAt: window.resets_at ? resetOf(window.resets_at, item, nowMs) : null,
  })];
}

function itemOf({ where }: JsonWindow, value: unknown): unknown {
  if (where === undefined) return value;
  const wanted = Object.entries(where);
  return Array.isArray(value)
    ? value.find((item) =>
      wanted.every(([name, one]) => memberOf(item, name) === one)
    )
    : undefined;
}

function amountsOf(window: JsonWindow, item: unknown): KnownAmounts {
  const usedPercent = window.share ? percentOf(window.share, item) : null;
  if (usedPercent !== null) {
    if (window.unit === "percent") return { usedPercent };
    if (window.unit === "fraction") {
      return { limit: 1, used: tidy(usedPercent / 100) };
    }
  }
  const scaled = (pointer: string | undefined) => {
    const value = pointer === undefined ? null : numberAt(item, pointer);
    return value === null ? null : tidy(value * window.scale);
  };
  return {
    limit: scaled(window.limit),
    used: scaled(window.used),
    remaining: scaled(window.remaining),
    usedPercent,
  };
}

function percentOf(
  share: NonNullable<JsonWindow["share"]>,
  item: unknown,
): number | null {
  const value = numberAt(item, share.at);
  if (value === null) return null;
  switch (share.of) {
    case "used_percent":
      return value;
    case "used_fraction":
      return tidy(value * 100);
    case "remaining_percent":
      return complement(value, 100);
    case "remaining_fraction":
      return complement(value * 100, 100);
  }
}

function numberAt(item: unknown, pointer: string): number | null {
  const result = numeric.safeParse(valueAt(item, pointer));
  if (result.success) return result.data ?? null;
  throw new QuotaFailure(
    "broken",
    `Cannot read the quota: the provider's response has no number at ${pointer}.`,
  );
}

function resetOf(
  reset: NonNullable<JsonWindow["resets_at"]>,
  item: unknown,
  nowMs: number,
): string | null {
  if (reset.format === "iso") {
    return instantOfText(text.safeParse(valueAt(item, reset.at)).data);
  }
  const value = numberAt(item, reset.at);
  switch (reset.format) {
    case "epoch_seconds":
      return instantOfSeconds(value);
    case "epoch_ms":
      return instantOfMs(value);
    case "seconds_left":
      return instantAfter(nowMs, value === null ? null : value * 1000);
    case "ms_left":
      return instantAfter(nowMs, value);
  }
}

/**
 * Returns the value at a JSON pointer (RFC 6901).
 *
 * @param pointer Empty for `value` itself. Each part follows a slash, with `~1` for a slash and `~0` for a tilde in the
 * part.
 * @returns Undefined when there is no such value.
 */
export function valueAt(value: unknown, pointer: string): unknown {
  return pointer.split("/").slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce(memberOf, value);
}

/** Returns a member of an object or an array. Only own members count, so that `constructor` is none. */
function memberOf(value: unknown, part: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, part)?.value;
}
