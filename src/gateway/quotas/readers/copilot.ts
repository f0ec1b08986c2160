import { z } from "zod";
import { amounts, complement, type KnownAmounts } from "../amounts.ts";
import { unreadable } from "../failure.ts";
import { instantOfText, period } from "../period.ts";
import { QUOTA_TYPES, quotaWindow } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import { checkPayload, credential, flag, numeric, text } from "./payload.ts";
import type { QuotaReader, QuotaRequest, QuotaSource } from "./reader.ts";

/**
 * GitHub Copilot. GitHub's API reports Copilot's quota, and only to a GitHub OAuth token. The connection itself uses
 * another endpoint and key, so `quota.key` holds the OAuth token.
 */
export const copilot: QuotaReader = {
  poll: {
    requests: (source) => [request(source)],
    parse: ([body]) => windowsOf(checkPayload(payload, body)),
  },
};

const snapshot = z.object({
  entitlement: numeric,
  remaining: numeric,
  /** The same amount as `remaining`, with decimals. */
  quota_remaining: numeric,
  percent_remaining: numeric,
  unlimited: flag,
  overage_count: numeric,
  token_based_billing: flag,
}).nullish();

const payload = z.object({
  quota_reset_date_utc: text,
  quota_reset_date: text,
  token_based_billing: flag,
  quota_snapshots: z.object({
    premium_interactions: snapshot,
    chat: snapshot,
    completions: snapshot,
  }).nullish(),
  /** The limits of the free plan, in the plan's older form. */
  monthly_quotas: z.object({ chat: numeric, completions: numeric }).nullish(),
  /** The remaining amounts of the free plan, despite the name. */
  limited_user_quotas: z.object({ chat: numeric, completions: numeric })
    .nullish(),
  limited_user_reset_date: text,
});

type Payload = z.output<typeof payload>;
type Snapshot = NonNullable<z.output<typeof snapshot>>;

function request(source: QuotaSource): QuotaRequest {
  const { quota } = source;
  if (quota.key === undefined && quota.url === undefined) {
    throw unreadable(
      "misconfigured",
      "Copilot needs a GitHub OAuth token. Set quota.key.",
    );
  }
  return {
    url: quota.url ?? "https://api.github.com/copilot_internal/user",
    headers: {
      accept: "application/json",
      authorization: `token ${credential(source)}`,
      "editor-version": "vscode/1.104.0",
      "editor-plugin-version": "copilot-chat/0.31.0",
      "user-agent": "GitHubCopilotChat/0.31.0",
      "x-github-api-version": "2025-04-01",
    },
  };
}

/**
 * Returns the windows of an account. An account with only unlimited meters has no windows, and this is not an error.
 */
function windowsOf(body: Payload): QuotaWindow[] {
  const { quota_snapshots: snapshots, limited_user_quotas: left } = body;
  if (snapshots) {
    return Object.entries(snapshots).flatMap(([meter, one]) =>
      one && isMetered(one) ? [snapshotWindow(meter, one, body)] : []
    );
  }
  if (left) {
    return [
      freeWindow("chat", body),
      freeWindow("completions", body),
    ];
  }
  throw unreadable(
    "quota",
    "the GitHub account of quota.key has no Copilot quota.",
  );
}

/** Returns true for a meter with numbers. Seats that an organisation manages have zeros, and −1 means unlimited. */
function isMetered(one: Snapshot): boolean {
  if (one.unlimited || one.entitlement === -1) return false;
  return one.entitlement !== 0 || (one.remaining ?? 0) !== 0;
}

function snapshotWindow(
  meter: string,
  one: Snapshot,
  body: Payload,
): QuotaWindow {
  const isCredits = meter === "premium_interactions" &&
    (one.token_based_billing ?? body.token_based_billing ?? false);
  const isShare = typeof one.entitlement !== "number";
  return quotaWindow({
    type: isCredits ? QUOTA_TYPES.credits : QUOTA_TYPES.requests,
    scope: meter,
    unit: isShare ? "percent" : isCredits ? "credits" : "requests",
    period: period(1, "month"),
    ...(isShare
      ? { usedPercent: complement(one.percent_remaining, 100) }
      : countsOf(one)),
    resetsAt: instantOfText(body.quota_reset_date_utc) ??
      instantOfText(body.quota_reset_date),
  });
}

/**
 * Returns the counts. GitHub counts use beyond the allowance separately, so the overage is added to the used amount.
 */
function countsOf(one: Snapshot): KnownAmounts {
  const plain = {
    limit: one.entitlement,
    remaining: one.quota_remaining ?? one.remaining,
    otherPercent: complement(one.percent_remaining, 100),
  };
  const overage = one.overage_count ?? 0;
  const { used } = amounts(plain);
  return overage <= 0 || used === null
    ? plain
    : { ...plain, used: used + overage };
}

function freeWindow(
  meter: "chat" | "completions",
  body: Payload,
): QuotaWindow {
  return quotaWindow({
    type: QUOTA_TYPES.requests,
    scope: meter,
    unit: "requests",
    period: period(1, "month"),
    limit: body.monthly_quotas?.[meter],
    remaining: body.limited_user_quotas?.[meter],
    resetsAt: instantOfText(body.limited_user_reset_date),
  });
}
