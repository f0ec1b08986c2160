import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { VERSION } from "../../core/version.ts";
import type { RequestTracing } from "../../http/server/served_socket.ts";

/**
 * Gives each request of a caller a span, which continues the caller's trace and ends with the response. It holds the
 * method and the status, but no path: a path could name what was asked.
 */
export function traceRequests(): RequestTracing {
  const tracer = trace.getTracer("model-gateway", VERSION);
  return {
    start({ method, headers }) {
      const carrier: Record<string, string> = {};
      headers.forEach((value, name) => carrier[name] = value);
      const caller = propagation.extract(context.active(), carrier);
      const span = tracer.startSpan(method, {
        kind: SpanKind.SERVER,
        attributes: { "http.request.method": method },
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
