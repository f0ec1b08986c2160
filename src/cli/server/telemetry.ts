import type { ServiceName } from "../../config/services.ts";
import type { ConfigStore } from "../../config/store.ts";
import type { Tracing } from "../../observe/tracing.ts";
import type { Fetch } from "../../upstream/call.ts";

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

/** Where whoever implements OpenTelemetry registers for its library. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * Prepares for OpenTelemetry where the platform was asked for it (`OTEL_DENO`), of which it brings the
 * exporter and everything else. The library is loaded here, so that who wants no telemetry does not pay for
 * it.
 */
export async function startTelemetry(
  store: ConfigStore,
): Promise<Telemetry | undefined> {
  if (!(REGISTRY in globalThis)) return undefined;
  const { propagation } = await import("@opentelemetry/api");
  const { createTracing } = await import("../../observe/open_telemetry.ts");
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
