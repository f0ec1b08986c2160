import type {
  Caller,
  Connection,
  ConnectionModel,
} from "../../config/config.ts";
import { isNonEmpty } from "@gateway/base/collections";
import { GatewayError } from "@gateway/base/error";
import type { Protocol } from "@gateway/base/protocol";
import type { CallDeployments } from "../../usage/limiter.ts";
import type { NamedModel } from "../request/named_models.ts";
import { type Candidate, type Candidates, quoteModel } from "./candidate.ts";

/** The models that a body names beside the requested one. */
export interface NamedInBody {
  readonly names: readonly NamedModel[];
  /** The protocol of the body. Translation to another protocol drops the fields with these names. */
  readonly protocol: Protocol;
}

/**
 * Restricts the candidates to the models of the caller. Each name in the body must be the upstream's name of a model
 * that the caller may use on the candidate's connection. A candidate whose provider does not receive the names is kept.
 *
 * @throws {GatewayError} `invalid_request` with the field, when no connection of the requested model is left.
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

/** Returns the first named model that a candidate's connection must not receive. */
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

/** Returns the names that a candidate's provider receives. */
function reaching(
  { names, protocol }: NamedInBody,
  candidate: Candidate,
): readonly NamedModel[] {
  const isDropped = candidate.mode === "translated" &&
    candidate.protocol !== protocol;
  return isDropped ? [] : names;
}

/**
 * Returns the deployments that may serve a call: the candidate's deployment, then the deployments of the other models
 * in the body on the same connection. If several models share an upstream name, the first one that the caller may use
 * counts.
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

/** Returns the models that a caller may use on a connection, by their upstream names. */
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
    ? "no model that can be checked, or too many models"
    : `the model ${quoteModel(name)}`;
  return new GatewayError(
    "invalid_request",
    `Cannot let the provider choose another model: the field \`${param}\` names ${what}. Name only models that this token may use, by their provider's names.`,
    { param, code: "model_not_allowed" },
  );
}
