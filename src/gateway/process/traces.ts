import type { HttpClient, RequestTracing } from "@gateway/http1";
import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { wordSet } from "@gateway/base/collections";
import { portOf } from "@gateway/base/safe_url";
import { VERSION } from "@gateway/base/version";

const tracer = trace.getTracer("model-gateway", VERSION);

/**
 * The methods that may name a span. As OpenTelemetry requires, any other method becomes `_OTHER`, so that callers
 * cannot invent names.
 */
const METHODS = wordSet("GET HEAD POST PUT DELETE OPTIONS PATCH");

/**
 * Records a span for each request of a caller. The span continues the caller's trace and ends with the response. It
 * contains the method and the status, but not the path, because the path could reveal the request.
 */
export function traceRequests(): RequestTracing {
  return {
    start({ method, headers }) {
      const carrier: Record<string, string> = {};
      headers.forEach((value, name) => carrier[name] = value);
      const caller = propagation.extract(context.active(), carrier);
      const name = METHODS.has(method) ? method : "_OTHER";
      const span = tracer.startSpan(name, {
        kind: SpanKind.SERVER,
        attributes: { "http.request.method": name },
      }, caller);
      return {
        run: (serve) => context.with(trace.setSpan(caller, span), serve),
        end(status) {
          if (status !== undefined) {
            span.setAttribute("http.response.status_code", status);
          }
          if (status === undefined || status >= 500) {
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
  };
}

/**
 * Records a span for each request to a provider, and adds the headers that continue the trace. The span contains the
 * method, the host, the port and the status, but not the path, because the path could reveal the request.
 *
 * @param added The names of the headers that the platform's propagators write. Headers of the caller with these names
 * are removed.
 */
export function traceClient(
  client: HttpClient,
  added: readonly string[],
): HttpClient {
  return {
    send(request) {
      const { method = "POST" } = request;
      const options = { kind: SpanKind.CLIENT };
      return tracer.startActiveSpan(method, options, async (span) => {
        const { hostname } = new URL(request.url);
        span.setAttribute("http.request.method", method);
        span.setAttribute("server.address", hostname.replace(/^\[|\]$/g, ""));
        span.setAttribute("server.port", portOf(request.url));
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
