import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { wordSet } from "../../core/collections.ts";
import { VERSION } from "../../core/version.ts";
import type { RequestTracing } from "../../http/server/served_socket.ts";

/** The methods that a span names; others are `_OTHER`, so that callers cannot make up names (OpenTelemetry, HTTP spans). */
const METHODS = wordSet("GET HEAD POST PUT DELETE OPTIONS PATCH");

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
