import { z } from "zod";
import { instantOfText, periodOfText, TOTAL } from "../period.ts";
import { QUOTA_TYPES, quotaWindow, strictest } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  bearerHeaders,
  checkPayload,
  numeric,
  quantity,
  rootUrl,
  text,
  withQuery,
} from "./payload.ts";
import type { QuotaReader, QuotaRequest, QuotaSource } from "./reader.ts";

/** A LiteLLM proxy: the budgets of the key, of the key's user and of the key's team. All of them limit the key. */
export const litellm: QuotaReader = {
  poll: {
    requests: (source) => [{
      url: rootUrl(source, "/key/info"),
      headers: bearerHeaders(source),
    }],
    followUps: ([body], source) => ownerRequests(keyOf(body), source),
    parse([body, ...owners]) {
      const key = keyOf(body);
      return [...keyWindows(key), ...ownerWindows(owners, key)];
    },
  },
};

/** All amounts are in US dollars. A null `max_budget` means that there is no cap. */
const budget = z.object({
  spend: numeric,
  max_budget: numeric,
  budget_duration: text,
  budget_reset_at: text,
});

type Budget = z.output<typeof budget>;

const key = budget.extend({
  spend: quantity,
  user_id: text,
  team_id: text,
  /** Windows besides the main budget. `budget_limits_usage` has their spending, by duration. */
  budget_limits: z.array(z.object({
    budget_duration: z.string(),
    max_budget: numeric,
    reset_at: text,
  })).nullish(),
  budget_limits_usage: z.record(
    z.string(),
    z.object({ current_spend: numeric }).nullish(),
  ).nullish(),
});

type Key = z.output<typeof key>;

/**
 * The response about the key. The fields of the key are in `info`, or at the top level if a proxy leaves out `info`.
 */
const keyPayload = z.union([
  z.object({ info: key }).transform(({ info }) => info),
  key,
]);

const ownerPayload = z.object({
  user_info: budget.nullish(),
  team_info: budget.nullish(),
  teams: z.array(budget.extend({ team_id: text })).nullish(),
});

function keyOf(body: unknown): Key {
  return checkPayload(keyPayload, body);
}

function ownerRequests(
  { user_id, team_id }: Key,
  source: QuotaSource,
): QuotaRequest[] {
  const keyUrl = rootUrl(source, "/key/info");
  const optional = (path: string, name: string, id: string) => ({
    url: withQuery(new URL(path, keyUrl).href, name, id),
    headers: bearerHeaders(source),
    optional: true,
  });
  return [
    ...(user_id ? [optional("../user/info", "user_id", user_id)] : []),
    ...(team_id ? [optional("../team/info", "team_id", team_id)] : []),
  ];
}

function keyWindows(info: Key): QuotaWindow[] {
  const others = (info.budget_limits ?? []).map((one) =>
    quotaWindow({
      type: QUOTA_TYPES.spend,
      unit: "USD",
      period: periodOfText(one.budget_duration),
      limit: one.max_budget,
      used: spendOf(info, one.budget_duration),
      resetsAt: instantOfText(one.reset_at),
    })
  );
  const isMainBare = typeof info.max_budget !== "number";
  return isMainBare && others.length > 0
    ? others
    : strictest([budgetWindow("", info), ...others]);
}

function spendOf(info: Key, duration: string): number | null | undefined {
  const usage = info.budget_limits_usage ?? {};
  return Object.hasOwn(usage, duration)
    ? usage[duration]?.current_spend
    : undefined;
}

/** Returns the budgets of the key's user and the key's team, without the user's other teams. */
function ownerWindows(
  bodies: readonly unknown[],
  { team_id }: Key,
): QuotaWindow[] {
  const owners = bodies.filter((body) => body !== undefined)
    .map((body) => checkPayload(ownerPayload, body));
  const user = owners.find(({ user_info }) => user_info)?.user_info;
  const team = owners.find(({ team_info }) => team_info)?.team_info ??
    owners.flatMap(({ teams }) => teams ?? [])
      .find((one) => team_id && one.team_id === team_id);
  return [["user", user] as const, ["team", team] as const]
    .flatMap(([scope, owner]) =>
      typeof owner?.max_budget === "number" ? [budgetWindow(scope, owner)] : []
    );
}

function budgetWindow(scope: string, one: Budget): QuotaWindow {
  return quotaWindow({
    type: QUOTA_TYPES.spend,
    scope,
    unit: "USD",
    period: one.budget_duration ? periodOfText(one.budget_duration) : TOTAL,
    limit: one.max_budget,
    used: one.spend,
    resetsAt: instantOfText(one.budget_reset_at),
  });
}
