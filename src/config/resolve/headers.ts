import type { Connection } from "../config.ts";
import { headerNameFault, isHeaderValue } from "../http_header.ts";
import type { Findings, Path } from "../problems.ts";
import { schemeOf } from "./auth.ts";
import type { ConnectionFields } from "../schema/connection.ts";

/** Finds the headers that a connection adds, names in lower case; reports what is wrong with them. */
export function resolveHeaders(
  fields: ConnectionFields,
  { path, findings }: {
    /** Of the connection. */
    readonly path: Path;
    readonly findings: Findings;
  },
): Connection["headers"] {
  const headers = new Map<string, string>();
  const scheme = schemeOf(fields);
  for (const [writtenName, value] of Object.entries(fields.headers)) {
    const place = [...path, "headers", writtenName];
    const name = writtenName.toLowerCase();
    const fault = headerNameFault(name, scheme);
    if (fault !== undefined) findings.problem(place, fault);
    if (headers.has(name)) {
      findings.problem(place, "stands twice; upper and lower case are alike");
    }
    if (!isHeaderValue(value)) {
      findings.problem(
        place,
        "must be printable ASCII without line breaks or outer spaces",
      );
    }
    headers.set(name, value);
  }
  return Object.fromEntries(headers);
}
