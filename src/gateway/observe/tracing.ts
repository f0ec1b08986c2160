import type { Operation } from "@gateway/base/protocol";
import type { EndedRequest } from "./metrics.ts";

/** A traced request to a model. */
export interface TracedRequest {
  readonly operation: Operation;
  readonly requestId: string;
}

/** The span of a request. */
export interface RequestSpan {
  end(ended: EndedRequest): void;
}

/** Traces requests to models. */
export interface Tracing {
  /**
   * Serves a request inside a span of its own. The span contains the calls to providers, and ends with the request.
   *
   * @returns The result of `serve`.
   */
  follow<Answer>(
    request: TracedRequest,
    serve: (span: RequestSpan) => Promise<Answer>,
  ): Promise<Answer>;
}
