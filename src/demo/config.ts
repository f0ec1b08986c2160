import { type Endpoint, OPERATIONS } from "../core/protocol.ts";
import { stringifyYaml } from "../core/std.ts";
import { BASE_PATH, modelsOf, type Provider, PROVIDERS } from "./providers.ts";

/** Which reader understands the quota of a family's account. */
const QUOTA_KINDS = { A: "zai", B: "anthropic", C: "codex" } as const;

/** How each family is shown the gateway's key; between them they use both schemes. */
const AUTH_SCHEMES = { A: "bearer", B: "x-api-key", C: "bearer" } as const;

/**
 * The configuration of the demo, as YAML of the format of `gateway.yaml` (docs/configuration.md): the three
 * simulated providers and one token that may use them all. Beside the providers' own models, every
 * provider serves `demo-any`; `demo-fallback` fails at first and is then served as `demo-any`.
 *
 * @param tokenSha256 SHA-256 of the token, 64 hexadecimal digits.
 */
export function demoConfigText(tokenSha256: string): string {
  return stringifyYaml({
    // Short, so that `demo-silent` and `demo-stall` are seen to fail soon; `demo-slow` takes 5 s.
    timeouts: { first_byte: 10_000, idle: 10_000 },
    connections: PROVIDERS.map(connectionOf),
    tokens: [{
      name: "demo",
      sha256: tokenSha256,
      connections: ["*"],
      // Enough to play with, and shown by `/usage`.
      limits: [{ window: "day", tokens: 5_000_000 }],
    }],
  });
}

function connectionOf(provider: Provider): object {
  const { family, name, host, key, quotaPath } = provider;
  return {
    name,
    service: "custom",
    family,
    endpoints: endpointsOf(provider),
    auth: { scheme: AUTH_SCHEMES[family], key },
    quota: {
      kind: QUOTA_KINDS[family],
      url: `https://${host}${quotaPath}`,
      // Providers report quotas to bearers; a connection that says its key otherwise has to name it for them.
      ...(AUTH_SCHEMES[family] === "bearer" ? {} : { key }),
    },
    models: [
      ...modelsOf(family).map((id) => ({ id, price: PRICE })),
      { id: "demo-any", upstream: `demo-${family.toLowerCase()}` },
      ...(family === "A" ? [FALLING_BACK] : []),
    ],
  };
}

/** In US dollars per million tokens. */
const PRICE = { input: 1, cached_input: 0.1, cache_write: 1.25, output: 5 };

const FALLING_BACK = {
  id: "demo-fallback",
  upstream: "demo-error-500",
  fallbacks: ["demo-any"],
};

function endpointsOf(provider: Provider): Partial<Record<Endpoint, string>> {
  const endpoints = provider.operations.map((operation) =>
    OPERATIONS[operation].endpoint
  );
  return Object.fromEntries(
    endpoints.map((
      endpoint,
    ) => [endpoint, `https://${provider.host}${BASE_PATH}`]),
  );
}
