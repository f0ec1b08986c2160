import type { Deployment } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import { isNonEmpty } from "../../core/collections/non_empty.ts";
import {
  FAMILIES,
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
 * @param bodyProtocol The protocol of the body, where that is not the operation's.
 * @throws {GatewayError} The refusal of the first deployment, when none can.
 */
export function candidatesFor(
  operation: Operation,
  deployments: readonly [Deployment, ...Deployment[]],
  bodyProtocol?: Protocol | undefined,
): readonly [Candidate, ...Candidate[]] {
  const candidates: Candidate[] = [];
  let refusal: GatewayError | undefined;
  for (const deployment of deployments) {
    const found = candidateFor(operation, deployment);
    if (found instanceof GatewayError) refusal ??= found;
    else if (bodyProtocol === undefined) candidates.push(found);
    else candidates.push(translating(found, operation, bodyProtocol));
  }
  if (isNonEmpty(candidates)) return candidates;
  throw refusal;
}

function candidateFor(
  operation: Operation,
  deployment: Deployment,
): Candidate | GatewayError {
  const { family, endpoints } = deployment.connection;
  const { protocol, serves } = FAMILIES[family];
  const serving = serves[operation];
  const isOffered = serving === "native" || serving === "either";
  if (isOffered && endpoints[OPERATIONS[operation].endpoint] !== undefined) {
    return { mode: "native", deployment };
  }
  const isTranslated = serving === "translated" || serving === "either";
  if (isTranslated && endpoints[protocol] !== undefined) {
    return { mode: "translated", deployment, protocol };
  }
  return isOffered ? unsupported(operation) : wrongFamily(operation, family);
}

/**
 * No bytes pass of a body that speaks another protocol than its path. The connection's endpoint for that protocol
 * takes the most of it, if there is one.
 */
function translating(
  candidate: Candidate,
  operation: Operation,
  bodyProtocol: Protocol,
): Candidate {
  const { deployment } = candidate;
  if (deployment.connection.endpoints[bodyProtocol] !== undefined) {
    return { mode: "translated", deployment, protocol: bodyProtocol };
  }
  return candidate.mode === "translated" ? candidate : {
    mode: "translated",
    deployment,
    protocol: OPERATIONS[operation].protocol,
  };
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

/** Names what can be asked instead, the family's own protocol first. */
function wrongFamily(operation: Operation, family: Family): GatewayError {
  const { protocol, serves } = FAMILIES[family];
  const own = MAIN_OPERATIONS[protocol];
  const others = PROTOCOLS.map((one) => MAIN_OPERATIONS[one])
    .filter((one) => one !== own && serves[one] !== "none");
  const paths = [own, ...others].map((one) => OPERATIONS[one].path);
  return new GatewayError(
    "invalid_request",
    `Cannot serve ${OPERATIONS[operation].path} for this model: use ${
      paths.join(" or ")
    } instead`,
    { param: "model", code: "unsupported_path" },
  );
}
