import { type Deployments, deploymentsFor } from "../../config/assignment.ts";
import type {
  Caller,
  Config,
  Connection,
  ConnectionModel,
  Deployment,
} from "../../config/config.ts";
import { isNonEmpty } from "../../core/collections.ts";
import { GatewayError, shorten } from "../../core/error.ts";
import {
  FAMILIES,
  type Family,
  MAIN_OPERATIONS,
  type Operation,
  OPERATIONS,
  type Protocol,
  PROTOCOLS,
} from "../../core/protocol.ts";
import type { CallDeployments } from "../../usage/limiter.ts";
import type { Exchange } from "../exchange.ts";
import type { NamedModel } from "../request/named_models.ts";

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

/** Everything that could serve a request, in the order of preference. */
export interface Candidates {
  /** Through the connections that have the model. */
  readonly own: readonly [Candidate, ...Candidate[]];
  /** Through the model's fallbacks. */
  readonly fallbacks: readonly Candidate[];
}

/** What is asked for. */
interface Asked {
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

/**
 * The deployments of a model that a caller may use, in the file's order.
 *
 * @throws {GatewayError} `not_found` with code `model_not_found`: the same for a model that does not exist and
 * one that is not assigned, so that nobody can probe for models (docs/design.md#paths).
 */
export function assign(
  model: string,
  caller: Caller,
  config: Config,
): Deployments {
  const deployments = deploymentsFor(model, caller, config);
  if (deployments === undefined) throw modelNotFound(model);
  return deployments;
}

/** The error for a model that the caller may not use, for whatever reason. */
export function modelNotFound(model: string): GatewayError {
  return new GatewayError(
    "not_found",
    `Cannot find the model ${
      quoteModel(model)
    }: it does not exist or is not assigned to this token, see GET /models`,
    { param: "model", code: "model_not_found" },
  );
}

const MAX_QUOTED_LENGTH = 100;

/** The name is the caller's own text: escaped, and cut where it is no name. */
function quoteModel(model: string): string {
  return JSON.stringify(shorten(model, MAX_QUOTED_LENGTH));
}

/** The models that a body names beside the one it asks for. */
export interface NamedInBody {
  readonly names: readonly NamedModel[];
  /** The protocol of the body: what is translated into another one loses the fields with these names. */
  readonly protocol: Protocol;
}

/**
 * Keeps a token to its models: each model that a body names must be the upstream's name of one that the caller may use
 * on the connection. A connection on which one of them is not is left out, unless the names do not reach it.
 *
 * @throws {GatewayError} `invalid_request` naming the field, when no connection of the model itself is left.
 */
export function allowNamedModels(
  candidates: Candidates,
  named: NamedInBody,
  caller: Caller,
): Candidates {
  if (named.names.length === 0) return candidates;
  const isAllowed = (candidate: Candidate) =>
    refusedModel(candidate, named, caller) === undefined;
  const own = candidates.own.filter(isAllowed);
  if (!isNonEmpty(own)) {
    throw refusal(refusedModel(candidates.own[0], named, caller));
  }
  return {
    own,
    fallbacks: candidates.fallbacks.filter(isAllowed),
  };
}

/** The first of the names that may not go to a connection. */
function refusedModel(
  candidate: Candidate,
  named: NamedInBody,
  caller: Caller,
): NamedModel | undefined {
  const { connection } = candidate.deployment;
  const allowed = modelsByUpstream(connection, caller);
  const isKnown = (name: string) =>
    connection.models.some(({ upstream }) => upstream === name);
  return reaching(named, candidate).find(({ name, isDrawing = false }) =>
    name === undefined ||
    !allowed.has(name) && !(isDrawing && !isKnown(name))
  );
}

/** The names that a candidate's provider sees. */
function reaching(
  { names, protocol }: NamedInBody,
  candidate: Candidate,
): readonly NamedModel[] {
  const isLost = candidate.mode === "translated" &&
    candidate.protocol !== protocol;
  return isLost ? [] : names;
}

/**
 * Returns the deployments that may serve a call: that of the candidate, then those of the other models that the body
 * names, on the same connection. Of models with one upstream name the first that the caller may use stands for all.
 */
export function servingDeployments(
  candidate: Candidate,
  named: NamedInBody,
  caller: Caller,
): CallDeployments {
  const { deployment } = candidate;
  const names = new Set(reaching(named, candidate).map(({ name }) => name));
  if (names.size === 0) return [deployment];
  const { connection, model: called } = deployment;
  const byUpstream = modelsByUpstream(connection, caller);
  byUpstream.delete(called.upstream);
  const others = [...names].flatMap((name) => byUpstream.get(name ?? "") ?? []);
  return [deployment, ...others.map((model) => ({ connection, model }))];
}

/** The models that a caller may use on a connection, by their upstream names. */
function modelsByUpstream(
  { models }: Connection,
  caller: Caller,
): Map<string, ConnectionModel> {
  const found = new Map<string, ConnectionModel>();
  for (const model of models) {
    const isAllowed = caller.models?.has(model.id) ?? true;
    if (isAllowed && !found.has(model.upstream)) {
      found.set(model.upstream, model);
    }
  }
  return found;
}

function refusal(refused: NamedModel | undefined): GatewayError {
  const { param = "models", name } = refused ?? {};
  const what = name === undefined
    ? "no model that could be looked up, or too many"
    : `the model ${quoteModel(name)}`;
  return new GatewayError(
    "invalid_request",
    `Cannot let the provider choose another model: the field \`${param}\` names ${what}; name only models that this token may use, as their provider calls them`,
    { param, code: "model_not_allowed" },
  );
}
