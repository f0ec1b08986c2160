import { OPERATIONS } from "@gateway/base/protocol";
import { stringifyYaml } from "@gateway/base/yaml";
import {
  BASE_PATH,
  faultOf,
  modelsOf,
  type Provider,
  PROVIDERS,
} from "./providers.ts";

/**
 * Returns the demo's configuration as the YAML of a `gateway.yaml` (docs/configuration.md): the three simulated
 * providers, and one token that may use all three. In addition to its own models, each provider serves `demo-any`. The
 * model `demo-fallback` always fails, and its fallback `demo-any` serves its requests.
 *
 * @param tokenSha256 The SHA-256 of the token, 64 hexadecimal digits.
 */
export function demoConfigText(tokenSha256: string): string {
  return stringifyYaml({
    // These timeouts end `demo-silent` and `demo-stall` soon, but are longer than the 5 s of `demo-slow`.
    timeouts: { first_byte: 10_000, idle: 10_000 },
    connections: PROVIDERS.map(connectionOf),
    tokens: [{
      name: "demo",
      sha256: tokenSha256,
      connections: ["*"],
      // The limit is high enough for a demo. `/usage` shows the limit.
      limits: [{ window: "day", tokens: 5_000_000 }],
    }],
  });
}

function connectionOf(
  { family, name, host, key, authScheme, operations, quota }: Provider,
): object {
  const base = `https://${host}${BASE_PATH}`;
  return {
    name,
    service: "custom",
    family,
    endpoints: Object.fromEntries(
      operations.map((one) => [OPERATIONS[one].endpoint, base]),
    ),
    auth: { scheme: authScheme, key },
    quota: {
      kind: quota.kind,
      url: `https://${host}${quota.path}`,
      // A quota request sends a bearer key. A connection with another scheme configures this key separately.
      ...authScheme !== "bearer" && { key },
    },
    models: [
      ...modelsOf(family).map((id) => ({
        id,
        price: PRICE,
        // Agents offer every listed model, so faulty models are not listed.
        ...faultOf(id, family) !== undefined && { listed: false },
      })),
      { id: "demo-any", upstream: `demo-${family.toLowerCase()}` },
      ...(family === "A" ? [FALLING_BACK] : []),
    ],
  };
}

/** The price of each model, in US dollars per million tokens. */
const PRICE = { input: 1, cached_input: 0.1, cache_write: 1.25, output: 5 };

const FALLING_BACK = {
  id: "demo-fallback",
  upstream: "demo-error-500",
  fallbacks: ["demo-any"],
};
