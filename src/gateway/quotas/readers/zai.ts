import { z } from "zod";
import { unreadable } from "../failure.ts";
import {
  instantOfMs,
  type Period,
  period,
  type PeriodUnit,
} from "../period.ts";
import { QUOTA_TYPES, quotaWindow } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  checkPayload,
  credential,
  errorBody,
  flag,
  hostUrl,
  keyRejected,
  numeric,
  requireWindows,
  text,
  withQuery,
} from "./payload.ts";
import type { QuotaReader, QuotaRequest, QuotaSource } from "./reader.ts";

/** The GLM Coding Plan of Z.ai (api.z.ai) and of BigModel (*.bigmodel.cn), personal and team. */
export const zai: QuotaReader = {
  poll: {
    requests: (source) => [request(source)],
    parse([body]) {
      rejectErrors(checkPayload(envelope, body));
      const { data, limits } = checkPayload(payload, body);
      return requireWindows(windowsOf(data?.limits ?? limits ?? []));
    },
  },
};

const envelope = z.object({ code: numeric, success: flag, msg: text });

const row = z.object({
  type: z.string().regex(/^[\w .:-]{1,64}$/).nullish(),
  /** The type, in responses without `type`. One client received such responses. */
  name: z.string().regex(/^[\w .:-]{1,64}$/).nullish(),
  unit: numeric,
  number: numeric,
  /** The limit, despite the name. */
  usage: numeric,
  currentValue: numeric,
  remaining: numeric,
  /** The share used in percent, rounded down. */
  percentage: numeric,
  /** Milliseconds since 1970. Absent until the window's first request. */
  nextResetTime: numeric,
});

type Row = z.output<typeof row>;

const rows = z.array(row).nullish();

const payload = z.object({
  data: z.object({ limits: rows }).nullish(),
  limits: rows,
});

function request(source: QuotaSource): QuotaRequest {
  const url = hostUrl(source, "/api/monitor/usage/quota/limit");
  const headers = {
    accept: "application/json",
    // Asks for error messages in English, because the reader looks for English words in the errors of plans.
    "accept-language": "en-US,en",
    // The vendor's own script sends the bare key.
    authorization: credential(source),
  };
  if (source.quota.plan === "personal") return { url, headers };
  const { organization, project } = source.quota;
  if (organization === undefined || project === undefined) {
    throw unreadable(
      "misconfigured",
      "a team plan needs its organization and project. Set quota.organization and quota.project.",
    );
  }
  return {
    url: withQuery(url, "type", "2"),
    headers: {
      ...headers,
      "bigmodel-organization": organization,
      "bigmodel-project": project,
    },
  };
}

/** Throws the failure of an error body. Errors have the status 200. */
function rejectErrors({ code, success, msg }: z.output<typeof envelope>): void {
  const isSuccess = success !== false && [null, 0, 200].includes(code ?? null);
  if (isSuccess) return;
  if (code === 401 || (code && code >= 1000 && code <= 1004)) {
    throw keyRejected(" Check the key, its region and its expiry.");
  }
  if (/coding plan/i.test(msg ?? "")) {
    throw unreadable(
      "quota",
      "the connection's key has no active coding plan.",
    );
  }
  throw errorBody();
}

function windowsOf(all: readonly Row[]): QuotaWindow[] {
  const limitsTools = (one: Row) => typeOf(one) === QUOTA_TYPES.toolCalls;
  if (all.length > 0 && all.every(limitsTools)) {
    throw unreadable(
      "quota",
      "the coding plan has ended, and only its tool package is left.",
    );
  }
  const credits = new Set(
    all.filter((one) => typeOf(one) === QUOTA_TYPES.credits).map(lengthOf),
  );
  // A row of the old token meter may remain beside the credit meter of the same window.
  const isSuperseded = (one: Row) =>
    typeOf(one) === QUOTA_TYPES.tokens && credits.has(lengthOf(one));
  return all.filter((one) => !isSuperseded(one)).map(toWindow);
}

function lengthOf({ unit, number }: Row): string {
  return `${number} ${unit}`;
}

function toWindow(one: Row): QuotaWindow {
  const { usage, currentValue, remaining, percentage } = one;
  const hasCounts = [usage, currentValue, remaining]
    .some((value) => typeof value === "number");
  const exact = (currentValue ?? NaN) / (usage || NaN) * 100;
  const stated = percentage ?? 0;
  const isRounded = stated <= exact + 1 && stated < 100;
  return quotaWindow({
    type: one.type ?? one.name ?? "unknown",
    unit: hasCounts ? UNIT_BY_TYPE.get(typeOf(one)) ?? "unknown" : "percent",
    period: periodOf(one),
    limit: usage,
    used: currentValue,
    remaining,
    usedPercent: isRounded ? null : percentage,
    resetsAt: instantOfMs(one.nextResetTime),
  });
}

function typeOf(one: Row): string {
  return (one.type ?? one.name ?? "").toUpperCase();
}

const UNIT_BY_TYPE = new Map<string, string>([
  [QUOTA_TYPES.credits, "credits"],
  [QUOTA_TYPES.tokens, "tokens"],
  [QUOTA_TYPES.toolCalls, "requests"],
]);

const UNIT_BY_CODE: Readonly<Record<number, PeriodUnit>> = {
  3: "hour",
  4: "day",
  5: "month",
  6: "week",
  7: "year",
};

/** Returns the period with the provider's codes. A week has the unit code 6 and the count 1 or 7. */
function periodOf(one: Row): Period {
  const code = wholeNumber(one.unit);
  const count = wholeNumber(one.number);
  const unit = code === null ? undefined : UNIT_BY_CODE[code];
  const name = unit === "week"
    ? "weekly"
    : unit !== undefined && count !== null && count > 0
    ? period(count, unit).name
    : "unknown";
  return { name, unit: code, count };
}

function wholeNumber(value: number | null | undefined): number | null {
  return Number.isSafeInteger(value) ? value ?? null : null;
}
