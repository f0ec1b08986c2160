import type { Operation } from "@gateway/base/protocol";
import type { RequestRecord } from "./record.ts";

/** A request to a model, to be traced. */
export interface TracedRequest {
  readonly operation: Operation;
  readonly record: RequestRecord;
}

/** Traces requests to models. */
export interface Tracing {
  /**
   * Serves a request inside a span of its own, which contains the calls of providers. The span ends with the request's
   * record.
   *
   * @returns The result of `serve`.
   */
  follow<Answer>(
    request: TracedRequest,
    serve: () => Promise<Answer>,
  ): Promise<Answer>;
}
