import { type Endpoint, type Family, OPERATIONS } from "../../core/protocol.ts";
import { readBaseUrl } from "../base_url.ts";
import type { Connection } from "../config.ts";
import type { Findings, Path } from "../problems.ts";
import type { ConnectionFields } from "../schema/connection.ts";
import { SERVICES } from "../services.ts";

/** The endpoint without which a family cannot be served. */
const ENDPOINT_BY_FAMILY: Readonly<Record<Family, Endpoint>> = {
  A: "chat",
  B: "messages",
  C: "responses",
};

/** The endpoints that routes of a family reach (docs/design.md#paths). */
const USED_BY_FAMILY: Readonly<Record<Family, readonly Endpoint[]>> = {
  A: ["chat", "messages", "responses", "completions"],
  B: ["messages"],
  C: ["responses"],
};

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
    if (family !== undefined && !USED_BY_FAMILY[family].includes(endpoint)) {
      findings.warn(
        place,
        `is not used: no route of family ${family} needs it`,
      );
    }
  }
  const needed = family === undefined ? undefined : ENDPOINT_BY_FAMILY[family];
  if (needed !== undefined && endpoints[needed] === undefined) {
    findings.problem(
      [...path, "endpoints", needed],
      `is missing; family ${family} is served there`,
    );
  }
  return endpoints;
}
