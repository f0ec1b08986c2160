import type {
  Caller,
  Connection,
  ConnectionModel,
} from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import type { Protocol } from "../../core/protocol.ts";
import { isNonEmpty } from "../../core/collections.ts";
import type { CallDeployments } from "../../usage/limiter.ts";
import { type Candidate, type Candidates, quoteModel } from "./candidate.ts";
import type { NamedModel } from "../request/named_models.ts";

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
