import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { VERSION } from "../../core/version.ts";
import type { UpstreamClient } from "../../upstream/call.ts";
import { addressOf } from "../../upstream/http1/client.ts";

/**
 * Gives each request to a provider a span of its own, and the provider the headers that continue the trace. The span
 * holds the host, the port and the status, but no path: a path could name what was asked.
 *
 * @param added The headers that the propagators of the platform write. The caller's are left out.
 */
export function traceClient(
  client: UpstreamClient,
  added: readonly string[],
): UpstreamClient {
  const tracer = trace.getTracer("model-gateway", VERSION);
  return {
    send(request) {
      const { method = "POST" } = request;
      const options = { kind: SpanKind.CLIENT };
      return tracer.startActiveSpan(method, options, async (span) => {
        const { hostname, port } = addressOf(request.url).origin;
        span.setAttribute("http.request.method", method);
        span.setAttribute("server.address", hostname);
        span.setAttribute("server.port", port);
        const carrier: Record<string, string> = {};
        propagation.inject(context.active(), carrier);
        const kept = request.headers.filter(([name]) =>
          !added.includes(name.toLowerCase())
        );
        try {
          const response = await client.send({
            ...request,
            headers: [...kept, ...Object.entries(carrier)],
          });
          span.setAttribute("http.response.status_code", response.status);
          if (response.status >= 400) {
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          return response;
        } catch (error) {
          span.setStatus({ code: SpanStatusCode.ERROR });
          throw error;
        } finally {
          span.end();
        }
      });
    },
  };
}
