import type { JsonObject } from "@gateway/base/json";
import { type Endpoint, ENDPOINTS, type Family } from "@gateway/base/protocol";
import type { QuotaKind } from "./quota_kinds.ts";

/** Every value of a connection's `auth.scheme`. */
export const AUTH_SCHEMES = ["bearer", "x-api-key", "api-key", "none"] as const;

/** The authentication scheme of a provider. */
export type AuthScheme = typeof AUTH_SCHEMES[number];

/** The options of a connection that become a part of the service's addresses. */
export const VARIABLES = ["region", "resource", "project"] as const;

/** One of {@linkcode VARIABLES}. */
export type Variable = typeof VARIABLES[number];

/** The values of the variables of one connection. */
type VariableValues = Readonly<
  Partial<Record<Variable, string | undefined>>
>;

/** The defaults of a connection to a service. */
export interface ServicePreset {
  /** `undefined` when the configuration must set the family. */
  readonly family: Family | undefined;
  /**
   * Base URLs. A configuration that sets any endpoint replaces all of these. `{region}` stands for the variable
   * `region`.
   */
  readonly endpoints: Readonly<Partial<Record<Endpoint, string>>>;
  /** Corrects a URL after its variables are filled in, for regions whose hosts have another form. */
  readonly urlOf?: (filled: string) => string;
  readonly authScheme: AuthScheme | undefined;
  /** True for a server whose key is optional. Without a key, the scheme is `none`. */
  readonly isKeyOptional: boolean;
  /** Headers that the configuration must set, in lower case. */
  readonly requiredHeaders: readonly string[];
  readonly quotaKind: QuotaKind;
  readonly streamOnly: boolean;
  /** Body fields set on translated requests. The configuration may add fields. */
  readonly force: Readonly<JsonObject>;
  /** Body fields removed from translated requests. The configuration may add fields. */
  readonly omit: readonly string[];
}

/** The fields of a preset that most services share. */
export const PLAIN: Pick<
  ServicePreset,
  "isKeyOptional" | "requiredHeaders" | "streamOnly" | "force" | "omit"
> = {
  isKeyOptional: false,
  requiredHeaders: [],
  streamOnly: false,
  force: {},
  omit: [],
};

/** The fields of a provider of Chat Completions with a bearer token, the most common kind. */
export const CHAT_SERVICE = {
  ...PLAIN,
  family: "A",
  authScheme: "bearer",
  quotaKind: "none",
} as const satisfies Partial<ServicePreset>;

/** Returns the endpoints of a provider with one base URL for some protocols; default: for all protocols. */
export function endpointsAt(
  url: string,
  endpoints: readonly Endpoint[] = ENDPOINTS,
): ServicePreset["endpoints"] {
  return Object.fromEntries(endpoints.map((endpoint) => [endpoint, url]));
}

const PLACE_REGEXP = /\{(\w+)\}/g;

/** Returns the variables of a service, in the order of {@linkcode VARIABLES}. */
export function variablesOf(
  { endpoints }: Pick<ServicePreset, "endpoints">,
): readonly Variable[] {
  const named = Object.values(endpoints).flatMap((url) =>
    [...url.matchAll(PLACE_REGEXP)].map(([, name]) => name)
  );
  return VARIABLES.filter((variable) => named.includes(variable));
}

/** Replaces the variables in a base URL. A variable without a value stays. */
export function fillVariables(url: string, values: VariableValues): string {
  return url.replaceAll(PLACE_REGEXP, (place: string, name) => {
    const variable = VARIABLES.find((one) => one === name);
    return (variable && values[variable]) ?? place;
  });
}
