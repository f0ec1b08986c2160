import type { Endpoint, Family } from "../../../src/core/protocol.ts";
import { connectionFile, minimalFile, UPSTREAM_KEY } from "./config.ts";

/** What a connection of each family speaks natively, every endpoint that it may have. */
const ENDPOINTS: Readonly<Record<Family, readonly Endpoint[]>> = {
  A: ["chat", "messages", "responses", "completions"],
  B: ["messages"],
  C: ["responses"],
};

/**
 * A connection to an upstream of a family, as the configuration file says it; named after its family, with
 * the models `model-a` and `renamed-a` (upstream `upstream-a`), and so on for the others.
 *
 * @param url Where the upstream is; the family's letter is the path below which its endpoints are.
 */
export function familyConnection(
  family: Family,
  url: string,
  overrides: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const letter = family.toLowerCase();
  return connectionFile({
    name: `Family ${family}`,
    family,
    endpoints: Object.fromEntries(
      ENDPOINTS[family].map((endpoint) => [endpoint, `${url}/${letter}`]),
    ),
    auth: {
      scheme: family === "B" ? "x-api-key" : "bearer",
      key: UPSTREAM_KEY,
    },
    models: [
      `model-${letter}`,
      { id: `renamed-${letter}`, upstream: `upstream-${letter}` },
    ],
    ...overrides,
  });
}

/** A configuration with a connection of each family to one upstream. */
export function familiesFile(
  url: string,
  overrides: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const families = ["A", "B", "C"] as const;
  return minimalFile({
    connections: families.map((family) => familyConnection(family, url)),
    ...overrides,
  });
}
