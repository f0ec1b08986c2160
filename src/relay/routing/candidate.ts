import type { Connection, Deployment } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import {
  type Operation,
  OPERATIONS,
  type Protocol,
} from "../../core/protocol.ts";

/** How one connection serves an operation (docs/design.md#paths). */
export type Candidate =
  /** Bytes pass: the upstream speaks the operation. */
  | { readonly mode: "native"; readonly deployment: Deployment }
  /** The upstream speaks `protocol` instead. */
  | {
    readonly mode: "translated";
    readonly deployment: Deployment;
    readonly protocol: Protocol;
  };

/**
 * The first deployments that can serve an operation, in their order.
 *
 * @throws {GatewayError} The refusal of the first deployment, when none can.
 */
export function candidatesFor(
  operation: Operation,
  deployments: readonly [Deployment, ...Deployment[]],
): readonly [Candidate, ...Candidate[]] {
  const candidates: Candidate[] = [];
  let refusal: GatewayError | undefined;
  for (const deployment of deployments) {
    const found = candidateFor(operation, deployment);
    if (found instanceof GatewayError) refusal ??= found;
    else candidates.push(found);
  }
  const [first, ...rest] = candidates;
  if (first !== undefined) return [first, ...rest];
  throw refusal;
}

function candidateFor(
  operation: Operation,
  deployment: Deployment,
): Candidate | GatewayError {
  const { connection } = deployment;
  const { endpoint } = OPERATIONS[operation];
  if (
    isOfferedTo(operation, connection) &&
    connection.endpoints[endpoint] !== undefined
  ) return { mode: "native", deployment };
  const protocol = translationTarget(operation, connection);
  if (protocol !== undefined) {
    return { mode: "translated", deployment, protocol };
  }
  return isOfferedTo(operation, connection)
    ? unsupported(operation)
    : wrongFamily(operation, connection);
}

/**
 * The protocols in which a model can be asked, whichever of its deployments serves it then.
 *
 * @param deployments Where the model is served.
 */
export function servedProtocols(
  deployments: readonly Deployment[],
): readonly Protocol[] {
  return MAIN_OPERATIONS
    .filter((operation) =>
      deployments.some((deployment) =>
        !(candidateFor(operation, deployment) instanceof GatewayError)
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
