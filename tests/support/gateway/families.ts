import type { Endpoint, Family } from "../../../src/base/protocol.ts";
import { connectionFile, minimalFile, UPSTREAM_KEY } from "./config.ts";

/** All native endpoints of a connection of each family. */
const ENDPOINTS: Readonly<Record<Family, readonly Endpoint[]>> = {
  A: ["chat", "messages", "responses", "completions"],
  B: ["messages"],
  C: ["responses"],
};

/**
 * Returns the configuration of a connection to an upstream of a family. The connection is named after its family. Its
 * models are `model-a` and `renamed-a` (upstream `upstream-a`), and so on for the other families.
 *
 * @param url The URL of the upstream; the endpoints are below a path with the family's letter.
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

/** Returns a configuration with a connection of each family to one upstream. */
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
