import { isJsonObject } from "@gateway/base/json";
import { credentialHeader } from "../../config/credential.ts";
import type {
  JsonCondition,
  JsonQuota,
  JsonWindow,
} from "../../config/schema/quota.ts";
import { complement, type KnownAmounts, tidy } from "../amounts.ts";
import { unreadable } from "../failure.ts";
import {
  instantAfter,
  instantOfMs,
  instantOfSeconds,
  instantOfText,
  periodOfText,
} from "../period.ts";
import { quotaWindow } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  checkPayload,
  errorBody,
  flag,
  keyRejected,
  numeric,
  text,
} from "./payload.ts";
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
      throw unreadable(
        "broken",
        "the provider's response has none of the windows of quota.windows.",
      );
    },
  },
};

function settingsOf({ quota }: QuotaSource): JsonQuota {
  if (quota.json !== undefined) return quota.json;
  throw unreadable(
    "misconfigured",
    "the kind json needs windows. Set quota.windows.",
  );
}

function request(source: QuotaSource): QuotaRequest {
  const { url } = source.quota;
  if (url === undefined) {
    throw unreadable(
      "misconfigured",
      "the kind json needs an address. Set quota.url.",
    );
  }
  const headers = new Headers({ accept: "application/json" });
  addCredential(headers, source);
  const fixed = Object.entries(settingsOf(source).headers);
  for (const [name, value] of fixed) headers.set(name, value);
  return { url, headers: Object.fromEntries(headers) };
}

/** Adds the credential, if any: `quota.key` as a bearer token, or the connection's credential in its usual header. */
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

/** A window that the reader of a service describes, in the form that a configuration has for the kind `json`. */
export type WindowRow =
  & Omit<JsonWindow, "at" | "scale">
  & Partial<Pick<JsonWindow, "at" | "scale">>
  & {
    /** The part that the type limits. */
    readonly scope?: string;
    /** True when the window stops requests, or a pointer to such a boolean. */
    readonly stopped?: string | boolean;
  };

/**
 * Returns the windows that the rows describe in a response. Leaves out missing windows.
 *
 * @throws QuotaFailure `broken` when a value has an unknown form.
 */
export function rowWindows(
  rows: readonly WindowRow[],
  body: unknown,
  nowMs: number,
): QuotaWindow[] {
  requireObject(body, "");
  return rows.flatMap((row) => {
    const window = { at: "", scale: 1, ...row };
    requireObject(body, window.at);
    return windowsOf(window, body, nowMs);
  });
}

function requireObject(body: unknown, pointer: string): void {
  const value = valueAt(body, pointer) ?? {};
  if (isJsonObject(value)) return;
  throw unreadable(
    "broken",
    `the provider's response has no object at ${pointer || "its top"}.`,
  );
}

/** Returns a window from a response. Returns nothing when the window is missing or has no number. */
function windowsOf(
  window: WindowRow & JsonWindow,
  body: unknown,
  nowMs: number,
): QuotaWindow[] {
  const item = itemOf(window, valueAt(body, window.at));
  if (item === undefined || item === null) return [];
  const found = amountsOf(window, item);
  const isStopped = typeof window.stopped === "string"
    ? checkPayload(flag, valueAt(item, window.stopped)) === true
    : window.stopped;
  const isBare = Object.values(found).every((value) => value === null);
  if (isBare && !isStopped) return [];
  return [quotaWindow({
    ...{ type: window.type, scope: window.scope, unit: window.unit },
    period: periodOfText(window.period),
    ...found,
    isStopped,
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

/** An amount of US dollars as text, such as `$1,036.00`. */
const DOLLARS_REGEXP = /^-?\$[\d,]{1,15}(\.\d{1,6})?$/;

function numberAt(item: unknown, pointer: string): number | null {
  const value = valueAt(item, pointer);
  const result = numeric.safeParse(
    typeof value === "string" && DOLLARS_REGEXP.test(value)
      ? value.replaceAll(/[$,]/g, "")
      : value,
  );
  if (result.success) return result.data ?? null;
  throw unreadable(
    "broken",
    `the provider's response has no number at ${pointer}.`,
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
 * @param pointer Empty for `value` itself. Otherwise, a slash comes before each part. In a part, `~1` stands for a
 * slash and `~0` for a tilde.
 * @returns Undefined when there is no such value.
 */
export function valueAt(value: unknown, pointer: string): unknown {
  return pointer.split("/").slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce(memberOf, value);
}

/** Returns an own member of an object or an array. An inherited member, such as `constructor`, counts as absent. */
function memberOf(value: unknown, part: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, part)?.value;
}
