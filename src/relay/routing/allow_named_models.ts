import type { Caller, Connection } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import { isNonEmpty } from "../../core/collections/non_empty.ts";
import { quoteModel } from "./assign.ts";
import type { NamedModel } from "../request/named_models.ts";
import type { Candidate } from "./candidate.ts";
import type { Candidates } from "./candidates.ts";

/**
 * Keeps a token to its models where a body goes upstream as it is: each model that it names must be the upstream's
 * name of one that the caller may use on that connection. A connection on which one of them is not is left out; a
 * translated body does not carry those fields.
 *
 * @throws {GatewayError} `invalid_request` naming the field, when no connection of the model itself is left.
 */
export function allowNamedModels(
  candidates: Candidates,
  named: readonly NamedModel[],
  caller: Caller,
): Candidates {
  if (named.length === 0) return candidates;
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
  { mode, deployment: { connection } }: Candidate,
  named: readonly NamedModel[],
  caller: Caller,
): NamedModel | undefined {
  if (mode === "translated") return undefined;
  const allowed = upstreamNames(connection, caller);
  return named.find(({ name }) => name === undefined || !allowed.has(name));
}

/** What a connection's upstream calls the models that a caller may use there. */
function upstreamNames(
  { models }: Connection,
  caller: Caller,
): ReadonlySet<string> {
  return new Set(
    models
      .filter(({ id }) => caller.models === undefined || caller.models.has(id))
      .map(({ upstream }) => upstream),
  );
}

function refusal(refused: NamedModel | undefined): GatewayError {
  const { param = "models", name } = refused ?? {};
  const what = name === undefined
    ? "what is no model's name, or too many names"
    : `the model ${quoteModel(name)}`;
  return new GatewayError(
    "invalid_request",
    `Cannot let the provider choose another model: the field \`${param}\` names ${what}; name only models that this token may use, as their provider calls them`,
    { param, code: "model_not_allowed" },
  );
}
