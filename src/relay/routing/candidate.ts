import type { Candidate, Connection } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import {
  type Operation,
  OPERATIONS,
  type Protocol,
} from "../../core/protocol.ts";

/** How one connection serves an operation (docs/design.md#paths). */
export type Plan =
  /** Bytes pass: the upstream speaks the operation. */
  | { readonly mode: "native"; readonly candidate: Candidate }
  /** The upstream speaks `protocol` instead. */
  | {
    readonly mode: "translated";
    readonly candidate: Candidate;
    readonly protocol: Protocol;
  };

/**
 * The first candidates that can serve an operation, in their order.
 *
 * @throws {GatewayError} The refusal of the first candidate, when none can.
 */
export function plan(
  operation: Operation,
  candidates: readonly [Candidate, ...Candidate[]],
): readonly [Plan, ...Plan[]] {
  const plans: Plan[] = [];
  let refusal: GatewayError | undefined;
  for (const candidate of candidates) {
    const found = planFor(operation, candidate);
    if (found instanceof GatewayError) refusal ??= found;
    else plans.push(found);
  }
  const [first, ...rest] = plans;
  if (first !== undefined) return [first, ...rest];
  throw refusal;
}

function planFor(
  operation: Operation,
  candidate: Candidate,
): Plan | GatewayError {
  const { connection } = candidate;
  const { endpoint } = OPERATIONS[operation];
  if (
    isOfferedTo(operation, connection) &&
    connection.endpoints[endpoint] !== undefined
  ) return { mode: "native", candidate };
  const protocol = translationTarget(operation, connection);
  if (protocol !== undefined) {
    return { mode: "translated", candidate, protocol };
  }
  return isOfferedTo(operation, connection)
    ? unsupported(operation)
    : wrongFamily(operation, connection);
}

/**
 * The protocols in which a model can be asked, whichever of its candidates serves it then.
 *
 * @param candidates The ways to serve the model.
 */
export function servedProtocols(
  candidates: readonly Candidate[],
): readonly Protocol[] {
  return MAIN_OPERATIONS
    .filter((operation) =>
      candidates.some((candidate) =>
        !(planFor(operation, candidate) instanceof GatewayError)
      )
    )
    .map((operation) => OPERATIONS[operation].protocol);
}

/** The one of each protocol that asks a model. */
const MAIN_OPERATIONS = ["chat_completions", "messages", "responses"] as const;

/** Whether the paths of an operation serve the connection's family without translation. */
function isOfferedTo(operation: Operation, { family }: Connection): boolean {
  switch (operation) {
    case "chat_completions":
    case "completions":
      return family === "A";
    case "messages":
    case "count_tokens":
      return family !== "C";
    case "responses":
    case "compact":
      return family !== "B";
  }
}

/** The protocol that an operation is translated to, where the table says so. */
function translationTarget(
  operation: Operation,
  { family, endpoints }: Connection,
): Protocol | undefined {
  if (operation === "chat_completions") {
    if (family === "B" && endpoints.messages !== undefined) return "messages";
    if (family === "C" && endpoints.responses !== undefined) return "responses";
    return undefined;
  }
  const isTranslatable = operation === "messages" ||
    operation === "responses" || operation === "completions";
  return isTranslatable && family === "A" && endpoints.chat !== undefined
    ? "chat"
    : undefined;
}

/** Counting and compaction are never guessed (docs/design.md#paths). */
function unsupported(operation: Operation): GatewayError {
  return new GatewayError(
    "not_found",
    `Cannot serve ${
      OPERATIONS[operation].path
    } for this model: its provider has no such operation`,
    { code: "operation_not_supported" },
  );
}

/** Said to families B and C alone: family A is offered on every path. */
function wrongFamily(
  operation: Operation,
  { family }: Connection,
): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot serve ${OPERATIONS[operation].path} for this model: use ${
      family === "C" ? "/responses" : "/messages"
    } or /chat/completions instead`,
    { param: "model", code: "unsupported_path" },
  );
}
