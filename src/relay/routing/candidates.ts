import { GatewayError } from "../../core/error.ts";
import type { Operation, Protocol } from "../../core/protocol.ts";
import { assign } from "./assign.ts";
import type { Exchange } from "../exchange.ts";
import { type Candidate, candidatesFor } from "./candidate.ts";

/** Everything that could serve a request, in the order of preference. */
export interface Candidates {
  /** Through the connections that have the model. */
  readonly own: readonly [Candidate, ...Candidate[]];
  /** Through the model's fallbacks. */
  readonly fallbacks: readonly Candidate[];
}

/** What is asked for. */
export interface Asked {
  readonly operation: Operation;
  /** The protocol of the body, where that is not the operation's. */
  readonly bodyProtocol?: Protocol | undefined;
  readonly model: string;
}

/**
 * Finds what may serve a model to a caller: its pool in the file's order, then its fallbacks. A fallback that
 * is not assigned to the caller, or that the path cannot serve, is left out.
 *
 * @throws {GatewayError} When the model itself is not assigned, or the path cannot serve it.
 */
export function findCandidates(
  { operation, bodyProtocol, model }: Asked,
  { caller, config }: Pick<Exchange, "caller" | "config">,
): Candidates {
  const candidatesOf = (id: string) =>
    candidatesFor(operation, assign(id, caller, config), bodyProtocol);
  const own = candidatesOf(model);
  if (own.every(hasNoFallbacks)) return { own, fallbacks: [] };
  const named = new Set(
    own.flatMap(({ deployment }) => deployment.model.fallbacks),
  );
  const fallbacks = [...named].flatMap((id) => {
    try {
      return candidatesOf(id);
    } catch (error) {
      if (error instanceof GatewayError) return [];
      throw error;
    }
  });
  return { own, fallbacks };
}

function hasNoFallbacks({ deployment: { model } }: Candidate): boolean {
  return model.fallbacks.length === 0;
}
