import type {
  RequestContext,
  Target,
} from "../../../src/codecs/canonical/codec.ts";
import type { LossReport } from "../../../src/codecs/canonical/request/loss.ts";

/** A context that records dropped fields instead of rejecting the request. */
export interface NotedContext {
  readonly context: RequestContext;
  /** Every dropped field as `field weight`, in order. */
  readonly lost: string[];
}

/** Returns the first connection to a service as the target of a request for `model`. */
export function targetOf(service: string, model: string): Target {
  return {
    service,
    model,
    connectionId: "connection-1",
    maxOutputTokens: undefined,
  };
}

/** Returns a context for an upstream whose service is `service`. */
export function contextFor(
  service: string,
  target: Partial<Target> = {},
): NotedContext {
  const lost: string[] = [];
  const reportDropped: LossReport["reportDropped"] = (
    field,
    _reason,
    weight = "report",
  ) => {
    lost.push(`${typeof field === "string" ? field : field.extra} ${weight}`);
  };
  return {
    lost,
    context: {
      reportDropped,
      target: { ...targetOf(service, "upstream-model"), ...target },
    },
  };
}
