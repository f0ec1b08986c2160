import {
  type Endpoint,
  FAMILIES,
  type Family,
  OPERATION_NAMES,
  OPERATIONS,
} from "@gateway/base/protocol";
import type { Connection } from "../config.ts";
import type { Located } from "@gateway/base/problems";
import type { ConnectionFields } from "../schema/connection.ts";
import {
  fillVariables,
  SERVICES,
  VARIABLES,
  variablesOf,
} from "@gateway/services";
import { isLoopback } from "./server.ts";

/** Resolves the base URLs of a connection: the configured URLs, or those of the service. Reports invalid URLs. */
export function resolveEndpoints(
  fields: ConnectionFields,
  { path, findings, family }: Located & {
    readonly family: Family | undefined;
  },
): Connection["endpoints"] {
  const endpoints: Partial<Record<Endpoint, string>> = {};
  checkVariables(fields, { path, findings });
  const given = fields.endpoints ?? presetEndpoints(fields, family);
  for (const { endpoint } of Object.values(OPERATIONS)) {
    const text = given[endpoint];
    if (text === undefined || endpoint in endpoints) continue;
    const place = [...path, "endpoints", endpoint];
    const result = readBaseUrl(text, endpoint);
    endpoints[endpoint] = "url" in result ? result.url : text;
    if ("fault" in result) {
      findings.problem(place, result.fault);
    } else if (result.exposed) {
      findings.warn(place, "sends prompts and the key unencrypted. Use https.");
    }
    if (family !== undefined && !isUsed(endpoint, family)) {
      findings.warn(
        place,
        `is not used: no route of family ${family} needs it.`,
      );
    }
  }
  const needed = family === undefined ? undefined : FAMILIES[family].protocol;
  if (needed !== undefined && endpoints[needed] === undefined) {
    findings.problem(
      [...path, "endpoints", needed],
      `is missing. Family ${family} needs it.`,
    );
  }
  return endpoints;
}

/** Returns the endpoints of a service that a connection of this family can use. */
function presetEndpoints(
  { service, ...values }: ConnectionFields,
  family: Family | undefined,
): Readonly<Partial<Record<Endpoint, string>>> {
  const { endpoints, urlOf = String } = SERVICES[service];
  const used: Partial<Record<Endpoint, string>> = {};
  for (const { endpoint } of Object.values(OPERATIONS)) {
    const url = endpoints[endpoint];
    if (url === undefined || family && !isUsed(endpoint, family)) continue;
    used[endpoint] = urlOf(fillVariables(url, values));
  }
  return used;
}

/** Reports each variable that the service needs and the connection lacks, and each variable without effect. */
function checkVariables(
  fields: ConnectionFields,
  { path, findings }: Located,
): void {
  const { service } = fields;
  const needed = variablesOf(SERVICES[service]);
  for (const variable of VARIABLES) {
    const place = [...path, variable];
    // A region is also a label, so every service may have a region.
    const isNeeded = needed.includes(variable);
    const isLabel = !isNeeded || fields.endpoints !== undefined;
    if (variable === "region" && isLabel) continue;
    const isGiven = fields[variable] !== undefined;
    if (!isNeeded) {
      const message = `has no meaning for \`service: ${service}\`. Remove it.`;
      if (isGiven) findings.problem(place, message);
    } else if (fields.endpoints === undefined) {
      const message = `is missing. \`service: ${service}\` needs it.`;
      if (!isGiven) findings.problem(place, message);
    } else if (isGiven) {
      findings.warn(
        place,
        "has no effect: the addresses in endpoints are complete.",
      );
    }
  }
}

/** Returns true when a route of the family reaches the endpoint (docs/design.md#paths). */
function isUsed(endpoint: Endpoint, family: Family): boolean {
  const { protocol, serves } = FAMILIES[family];
  return endpoint === protocol ||
    OPERATION_NAMES.some((operation) =>
      OPERATIONS[operation].endpoint === endpoint &&
      (serves[operation] === "native" || serves[operation] === "either")
    );
}

/** A base URL in its normal form, or the problem of the text. */
type BaseUrlResult = {
  readonly url: string;
  /** True when a key sent there could be read on the network. */
  readonly exposed: boolean;
} | { readonly fault: string };

/**
 * Parses a base URL. The paths of an endpoint are appended to this URL. The text must be http or https, without
 * credentials, query and fragment. Removes a trailing slash.
 */
export function readBaseUrl(text: string, endpoint: Endpoint): BaseUrlResult {
  const result = readHttpUrl(text);
  if ("fault" in result) return result;
  if (/[?#]/.test(text)) {
    return { fault: "must be a base URL, without a query or a fragment." };
  }
  const url = result.url.replace(/\/+$/, "");
  const operation = Object.values(OPERATIONS).find((shape) =>
    shape.endpoint === endpoint && url.endsWith(shape.path)
  );
  if (operation !== undefined) {
    return {
      fault:
        `must be a base URL. Leave out ${operation.path}, which the gateway appends.`,
    };
  }
  return { url, exposed: result.exposed };
}

/** Parses an absolute http or https URL without credentials. */
export function readHttpUrl(text: string): BaseUrlResult {
  const url = URL.canParse(text) && !/[\s\p{Cc}]/u.test(text)
    ? new URL(text)
    : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    return { fault: "must be a URL such as https://api.example.com/v1." };
  }
  if (url.username !== "" || url.password !== "") {
    return { fault: "must not hold credentials. Set them in auth." };
  }
  const exposed = url.protocol === "http:" && !isLoopback(url.hostname);
  return { url: url.href, exposed };
}
