import type { Connection, Deployment } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import {
  type Family,
  MAIN_OPERATIONS,
  type Operation,
  OPERATIONS,
  type Protocol,
  PROTOCOLS,
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
  return PROTOCOLS.filter((protocol) =>
    deployments.some((deployment) =>
      !(candidateFor(MAIN_OPERATIONS[protocol], deployment) instanceof
        GatewayError)
    )
  );
}

/** The families that the paths of an operation serve without translation. */
const OFFERED_FAMILIES: Readonly<Record<Operation, readonly Family[]>> = {
  chat_completions: ["A"],
  completions: ["A"],
  messages: ["A", "B"],
  count_tokens: ["A", "B"],
  responses: ["A", "C"],
  compact: ["A", "C"],
};

function isOfferedTo(operation: Operation, { family }: Connection): boolean {
  return OFFERED_FAMILIES[operation].includes(family);
}

/** The protocol that an operation is translated to for a family whose providers may lack it. */
const TRANSLATION_TARGETS: Readonly<
  Record<Operation, Readonly<Partial<Record<Family, Protocol>>>>
> = {
  chat_completions: { B: "messages", C: "responses" },
  completions: { A: "chat" },
  messages: { A: "chat" },
  count_tokens: {},
  responses: { A: "chat" },
  compact: {},
};

function translationTarget(
  operation: Operation,
  { family, endpoints }: Connection,
): Protocol | undefined {
  const target = TRANSLATION_TARGETS[operation][family];
  return target === undefined || endpoints[target] === undefined
    ? undefined
    : target;
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
