import type { ServiceName } from "../config/services.ts";
import type { ConfigStore } from "../config/store.ts";
import type { Tracing } from "../observe/tracing.ts";
import type { Fetch } from "../upstream/call.ts";

/** What serving needs where OpenTelemetry was asked for. */
export interface Telemetry {
  readonly tracing: Tracing;
  /** Leaves to the platform the headers that it adds to every request. */
  propagate(fetch: Fetch): Fetch;
}

/** The providers that the conventions call otherwise than the configuration does. */
const PROVIDERS: Partial<Readonly<Record<ServiceName, string>>> = {
  codex: "openai",
  kimi: "moonshot_ai",
  moonshot: "moonshot_ai",
};

/**
 * Prepares for OpenTelemetry where `OTEL_DENO` asks the platform for it; the exporter and everything else is
 * the platform's. The library is loaded here, so that who wants no telemetry does not pay for it.
 */
export async function startTelemetry(
  store: ConfigStore,
): Promise<Telemetry | undefined> {
  if (Deno.env.get("OTEL_DENO") !== "true") return undefined;
  const { propagation } = await import("@opentelemetry/api");
  const { createTracing } = await import("../observe/open_telemetry.ts");
  // A span of the platform has no `tracestate`: it never sends one, and the caller's belongs to the same trace.
  const added = propagation.fields().filter((name) => name !== "tracestate");
  return {
    tracing: createTracing({
      isModel: (name) => store.current().pools.has(name),
      providerOf(connection) {
        const { connections } = store.current();
        const found = connections.find(({ name }) => name === connection);
        return found && (PROVIDERS[found.service] ?? found.service);
      },
    }),
    propagate: (fetch) => (url, init) => {
      const headers = new Headers(init.headers);
      for (const name of added) headers.delete(name);
      return fetch(url, { ...init, headers });
    },
  };
}
