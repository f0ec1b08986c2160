import { type Deployments, deploymentsFor } from "../../config/assignment.ts";
import type {
  Caller,
  Config,
  Connection,
  Deployment,
} from "../../config/config.ts";
import { isNonEmpty } from "@gateway/base/collections";
import { GatewayError, shorten } from "@gateway/base/error";
import {
  ENDPOINT_NAMES,
  FAMILIES,
  isFurther,
  MAIN_OPERATIONS,
  type Operation,
  OPERATIONS,
  type Protocol,
  PROTOCOLS,
  servingOf,
} from "@gateway/base/protocol";
import { type RequestJob, suitabilityOf } from "@gateway/codecs";
import { oncePer } from "@gateway/base/memo";
import type { Exchange } from "../exchange.ts";
import type { PromptParts } from "../request/prompt_parts.ts";

/** A deployment that can serve an operation, and its mode (docs/design.md#paths). */
export type Candidate =
  /** The upstream supports the operation, so bytes pass unchanged. */
  | { readonly mode: "native"; readonly deployment: Deployment }
  /** The upstream speaks `protocol` instead. */
  | {
    readonly mode: "translated";
    readonly deployment: Deployment;
    readonly protocol: Protocol;
  };

/** The facts about a body that decide how it can be served. */
interface BodyFacts {
  /** The protocol of the body, if the operation does not define it. */
  readonly bodyProtocol?: Protocol | undefined;
  /** The tools and the effort of the request. `undefined` means that the request has tools, as most requests have. */
  readonly prompt?: Pick<PromptParts, "toolCount" | "effort"> | undefined;
}

/**
 * Returns a candidate for each deployment that can serve an operation, in the order of the deployments.
 *
 * @throws {GatewayError} The error of the first deployment, when no deployment can serve the operation.
 */
export function candidatesFor(
  operation: Operation,
  deployments: readonly [Deployment, ...Deployment[]],
  facts: BodyFacts = {},
): readonly [Candidate, ...Candidate[]] {
  const { bodyProtocol } = facts;
  const candidates: Candidate[] = [];
  let refusal: GatewayError | undefined;
  for (const deployment of deployments) {
    const found = candidateFor(operation, deployment, facts);
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
  { bodyProtocol, prompt }: BodyFacts = {},
): Candidate | GatewayError {
  const { connection } = deployment;
  const { endpoints } = connection;
  const target = targetOf(deployment);
  const { protocol } = FAMILIES[connection.family];
  const serving = servingOf(operation, connection);
  const isOffered = serving === "native" || serving === "either";
  const { endpoint } = OPERATIONS[operation];
  const suits = suitabilityOf(operation, target, {
    toolCount: prompt?.toolCount ?? 1,
    effort: prompt?.effort,
  });
  // The translation of another protocol's body refuses too many tools itself.
  const excess = bodyProtocol === undefined ? suits.excess : undefined;
  const isRefused = suits.isRefused || excess !== undefined;
  const { isServed, better } = suits;
  const hasBetter = better !== undefined && endpoints[better] !== undefined;
  const passes = isOffered && isServed && !(isRefused && hasBetter);
  if (passes && endpoints[endpoint] !== undefined) {
    return excess ?? { mode: "native", deployment };
  }
  if (hasBetter && (isRefused || serving === "either")) {
    return { mode: "translated", deployment, protocol: better };
  }
  const isTranslated = serving === "translated" || serving === "either";
  if (isTranslated && endpoints[protocol] !== undefined) {
    return { mode: "translated", deployment, protocol };
  }
  return isOffered || connection.paths.includes(OPERATIONS[operation].protocol)
    ? unsupported(operation)
    : unservedPath(operation, connection);
}

/**
 * Returns the target of a deployment. The target is the same object for all requests, because codecs use it as a key.
 */
export const targetOf = oncePer((
  { connection, model }: Deployment,
): RequestJob["target"] => ({
  service: connection.service,
  connectionId: connection.id,
  endpoints: connection.endpoints,
  model: model.upstream,
  maxOutputTokens: model.maxOutputTokens,
  ability: [connection.ability, model.ability],
}));

/**
 * Returns the candidate for a body whose protocol is not the path's protocol. If the connection has an endpoint for the
 * body's protocol, that endpoint is preferred, because it drops the fewest fields.
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
 * Returns the protocols in which a model can be requested, with any of its deployments.
 *
 * @param deployments The deployments of the model.
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

/**
 * Returns the protocols in which requests for a model reach its providers unchanged, the first provider's own protocol
 * first. The result holds the protocols that all deployments have in common. If they have none in common, the result
 * holds the protocols of the first deployment.
 */
export function nativeProtocols(
  [first, ...others]: Deployments,
): readonly Protocol[] {
  const native = nativeOf(first);
  const common = native.filter((protocol) =>
    others.every((other) => nativeOf(other).includes(protocol))
  );
  return isNonEmpty(common) ? common : native;
}

function nativeOf(deployment: Deployment): readonly Protocol[] {
  const own = FAMILIES[deployment.connection.family].protocol;
  return [own, ...PROTOCOLS.filter((one) => one !== own)].filter((protocol) => {
    const found = candidateFor(MAIN_OPERATIONS[protocol], deployment);
    return !(found instanceof GatewayError) && found.mode === "native";
  });
}

/** Token counting and compaction are never emulated (docs/design.md#paths). */
function unsupported(operation: Operation): GatewayError {
  return new GatewayError(
    "not_found",
    `Cannot serve ${
      OPERATIONS[operation].path
    } for this model: its provider does not support this operation. Use another model.`,
    { code: "operation_not_supported" },
  );
}

/**
 * Returns an error with the paths that serve the model. The path of the family's own protocol comes first. The log also
 * names the option that adds the requested path.
 */
function unservedPath(
  operation: Operation,
  connection: Connection,
): GatewayError {
  const own = MAIN_OPERATIONS[FAMILIES[connection.family].protocol];
  const others = PROTOCOLS.map((one) => MAIN_OPERATIONS[one])
    .filter((one) => one !== own && servingOf(one, connection) !== "none");
  const paths = [own, ...others].map((one) => OPERATIONS[one].path);
  const { protocol } = OPERATIONS[operation];
  return new GatewayError(
    "invalid_request",
    `Cannot serve ${
      OPERATIONS[operation].path
    } for this model: its provider does not support this operation. Use ${
      paths.join(" or ")
    } instead.`,
    {
      param: "model",
      code: "unsupported_path",
      ...isFurther(protocol, connection.family) && {
        reason: `The connection "${connection.name}" does not serve ${
          ENDPOINT_NAMES[protocol]
        }. Set \`paths: [${protocol}]\` there to translate these requests.`,
      },
    },
  );
}

/** The candidates for a request, in the order of preference. */
export interface Candidates {
  /** The connections that have the model. */
  readonly own: readonly [Candidate, ...Candidate[]];
  /** The model's fallbacks. */
  readonly fallbacks: readonly Candidate[];
  /** The candidate that served the conversation last. */
  readonly home?: Candidate | undefined;
}

/** The operation and model of a request. */
interface ModelQuery extends BodyFacts {
  readonly operation: Operation;
  readonly model: string;
}

/**
 * Returns the deployments that may serve a model to a caller: the model's pool in the file's order, then its fallbacks.
 * A fallback that the caller may not use, or that cannot serve the path, is left out.
 *
 * @throws {GatewayError} When the caller may not use the model itself, or the model cannot serve the path.
 */
export function findCandidates(
  { operation, model, ...facts }: ModelQuery,
  { caller, config }: Pick<Exchange, "caller" | "config">,
): Candidates {
  const candidatesOf = (id: string) =>
    candidatesFor(operation, assign(id, caller, config), facts);
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

/**
 * Returns the deployments of a model that a caller may use, in the file's order.
 *
 * @throws {GatewayError} `invalid_request` with code `region_not_allowed` when only connections outside of the caller's
 * regions serve the model; else `not_found` with code `model_not_found`. `model_not_found` is the same for an unknown
 * and an unassigned model, so that no caller can probe for models (docs/design.md#paths).
 */
export function assign(
  model: string,
  caller: Caller,
  config: Config,
): Deployments {
  const deployments = deploymentsFor(model, caller, config);
  if (deployments !== undefined) return deployments;
  const { outsideIds, regions = [] } = caller;
  const isOutside = outsideIds !== undefined &&
    deploymentsFor(model, { ...caller, connectionIds: outsideIds }, config);
  throw isOutside ? outsideRegions(model, regions) : modelNotFound(model);
}

/** Returns the error for a model that only connections outside of the caller's regions serve. */
function outsideRegions(
  model: string,
  regions: readonly string[],
): GatewayError {
  const names = regions.join(", ");
  return new GatewayError(
    "invalid_request",
    `Cannot serve the model ${
      quoteModel(model)
    }: requests of this token stay in the regions ${names}, and this model has no connection there. Use a model of GET /models.`,
    {
      param: "model",
      code: "region_not_allowed",
      reason:
        `Every connection of the model has another \`region\` than ${names}, or none.`,
    },
  );
}

/** Returns the error for a model that the caller may not use. */
function modelNotFound(model: string): GatewayError {
  return new GatewayError(
    "not_found",
    `Cannot find the model ${
      quoteModel(model)
    }: it does not exist or is not assigned to this token. See GET /models.`,
    { param: "model", code: "model_not_found" },
  );
}

const MAX_QUOTED_LENGTH = 100;

/** Quotes a name that the caller sent: escapes the name, and cuts it if it is too long. */
export function quoteModel(model: string): string {
  return JSON.stringify(shorten(model, MAX_QUOTED_LENGTH));
}
