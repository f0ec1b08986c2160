import type { Operation } from "../core/protocol.ts";
import type { RequestRecord } from "./record.ts";

/** A request to a model that is to be followed. */
export interface TracedRequest {
  readonly operation: Operation;
  readonly record: RequestRecord;
}

/** Follows requests to models on their way, for whoever collects traces. */
export interface Tracing {
  /**
   * Serves a request inside a span of its own, to which the calls of providers belong. It ends with the
   * request's record.
   *
   * @returns What `serve` returns.
   */
  follow<Answer>(
    request: TracedRequest,
    serve: () => Promise<Answer>,
  ): Promise<Answer>;
}
