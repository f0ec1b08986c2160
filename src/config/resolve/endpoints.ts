import {
  type Endpoint,
  FAMILIES,
  type Family,
  OPERATION_NAMES,
  OPERATIONS,
} from "../../core/protocol.ts";
import { readBaseUrl } from "../base_url.ts";
import type { Connection } from "../config.ts";
import type { Findings, Path } from "../problems.ts";
import type { ConnectionFields } from "../schema/connection.ts";
import { SERVICES } from "../services.ts";

/** Finds the base URLs of a connection, its own or its service's; reports what is wrong with them. */
export function resolveEndpoints(
  fields: ConnectionFields,
  { path, findings, family }: {
    /** Of the connection. */
    readonly path: Path;
    readonly findings: Findings;
    readonly family: Family | undefined;
  },
): Connection["endpoints"] {
  const endpoints: Partial<Record<Endpoint, string>> = {};
  const given = fields.endpoints ?? SERVICES[fields.service].endpoints;
  for (const { endpoint } of Object.values(OPERATIONS)) {
    const text = given[endpoint];
    if (text === undefined || endpoint in endpoints) continue;
    const place = [...path, "endpoints", endpoint];
    const result = readBaseUrl(text, endpoint);
    endpoints[endpoint] = "url" in result ? result.url : text;
    if ("fault" in result) {
      findings.problem(place, result.fault);
    } else if (result.exposed) {
      findings.warn(place, "sends prompts and the key unencrypted; use https");
    }
    if (family !== undefined && !isUsed(endpoint, family)) {
      findings.warn(
        place,
        `is not used: no route of family ${family} needs it`,
      );
    }
  }
  const needed = family === undefined ? undefined : FAMILIES[family].protocol;
  if (needed !== undefined && endpoints[needed] === undefined) {
    findings.problem(
      [...path, "endpoints", needed],
      `is missing; family ${family} is served there`,
    );
  }
  return endpoints;
}

/** Whether a route of the family reaches the endpoint (docs/design.md#paths). */
function isUsed(endpoint: Endpoint, family: Family): boolean {
  const { protocol, serves } = FAMILIES[family];
  return endpoint === protocol ||
    OPERATION_NAMES.some((operation) =>
      OPERATIONS[operation].endpoint === endpoint &&
      (serves[operation] === "native" || serves[operation] === "either")
    );
}
