import { readHttpUrl } from "./endpoints.ts";
import type { QuotaConfig } from "../config.ts";
import { resolveKey } from "./auth.ts";
import { headerNameFault, isHeaderValue } from "./headers.ts";
import { type QuotaKind, SERVICES } from "@gateway/services";
import type { ResolveTools } from "../environment.ts";
import type { Located } from "@gateway/base/problems";
import type { ConnectionFields } from "../schema/connection.ts";
import type { JsonQuota, QuotaFields } from "../schema/quota.ts";

/** The quota fields of the file with the resolved kind. */
type QuotaOfKind = QuotaFields & { readonly kind: QuotaKind };

/**
 * Resolves how the quota of a connection is read. If the connection can still serve models, a missing setting is only a
 * warning.
 *
 * @returns `undefined` when the quota is not read.
 */
export async function resolveQuota(
  { service, quota = { plan: "personal" } }: ConnectionFields,
  options: ResolveTools & Located,
): Promise<QuotaConfig | undefined> {
  const within = { ...options, path: [...options.path, "quota"] };
  const kind = quota.kind ?? SERVICES[service].quotaKind;
  checkUrl(quota, within);
  checkPlan({ ...quota, kind }, within);
  checkUse({ ...quota, kind }, within);
  const key = await resolveKey(quota, within);
  const json = resolveJson({ ...quota, kind }, within);
  if (kind === "none") return undefined;
  const { plan, organization, project, url } = quota;
  const resolved = { kind, plan, organization, project, url, key, json };
  warnOfGaps(resolved, within);
  return resolved;
}

function checkUrl(
  { url }: QuotaFields,
  { path, findings }: Located,
): void {
  if (url === undefined) return;
  const result = readHttpUrl(url);
  if ("fault" in result) {
    findings.problem([...path, "url"], result.fault);
  } else if (result.exposed) {
    findings.warn([...path, "url"], "sends the key unencrypted. Use https.");
  }
}

/** The kinds whose quota depends on the plan. */
const KINDS_WITH_PLANS: ReadonlySet<QuotaKind> = new Set(["zai", "bigmodel"]);

function checkPlan(
  { kind, plan, organization, project }: QuotaOfKind,
  { path, findings }: Located,
): void {
  if (KINDS_WITH_PLANS.has(kind)) return;
  const given = {
    plan: plan === "team" ? plan : undefined,
    organization,
    project,
  };
  for (const [field, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const message =
      `is only for the kinds zai and bigmodel, because \`kind: ${kind}\` has no plans. Remove it.`;
    findings.problem([...path, field], message);
  }
}

/** The kinds that read the quota only from response headers, and `none`. */
const KINDS_WITHOUT_CALLS: ReadonlySet<QuotaKind> = new Set([
  "openai",
  "groq",
  "headers",
  "none",
]);

function checkUse(
  quota: QuotaOfKind,
  { path, findings }: Located,
): void {
  if (!KINDS_WITHOUT_CALLS.has(quota.kind)) return;
  for (const field of ["url", "key", "key_file"] as const) {
    if (quota[field] === undefined) continue;
    const message = `has no effect: \`kind: ${quota.kind}\` sends no request.`;
    findings.warn([...path, field], message);
  }
}

function warnOfGaps(
  quota: QuotaConfig,
  { path, findings }: Located,
): void {
  const gap = (field: string, reason: string) =>
    findings.warn([...path, field], `is missing. ${reason}`);
  const isTeam = quota.plan === "team" && KINDS_WITH_PLANS.has(quota.kind);
  const ofTeam = "Without it, the quota of a team plan cannot be read.";
  if (isTeam && quota.organization === undefined) gap("organization", ofTeam);
  if (isTeam && quota.project === undefined) gap("project", ofTeam);
  if (quota.kind === "copilot" && (quota.key ?? quota.url) === undefined) {
    gap("key", "Copilot reports its quota only to a GitHub OAuth token.");
  }
}

const JSON_FIELDS = ["headers", "success", "unauthorized", "windows"] as const;

function resolveJson(
  quota: QuotaFields,
  { path, findings }: Located,
): JsonQuota | undefined {
  if (quota.kind !== "json") {
    for (const field of JSON_FIELDS.filter((one) => quota[one] !== undefined)) {
      const message = "is only for `kind: json`. Remove it.";
      findings.problem([...path, field], message);
    }
    return undefined;
  }
  for (const field of ["url", "windows"] as const) {
    if (quota[field] !== undefined) continue;
    findings.problem([...path, field], "is missing. `kind: json` needs it.");
  }
  const { headers = {}, success, unauthorized, windows = [] } = quota;
  checkHeaders(headers, { path: [...path, "headers"], findings });
  return { headers, success, unauthorized, windows };
}

function checkHeaders(
  headers: Readonly<Record<string, string>>,
  { path, findings }: Located,
): void {
  for (const [name, value] of Object.entries(headers)) {
    const fault = headerNameFault(name.toLowerCase(), undefined);
    if (fault !== undefined) findings.problem([...path, name], fault);
    if (isHeaderValue(value)) continue;
    findings.problem(
      [...path, name],
      "must be printable ASCII without line breaks or outer spaces.",
    );
  }
}
