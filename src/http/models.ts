import { type Deployments, listedModels } from "../config/assignment.ts";
import type { Caller, Config } from "../config/config.ts";
import {
  configuredFacts,
  holdsForBoth,
  type ModelFacts,
} from "../catalog/model_facts.ts";
import { assign } from "../relay/routing/assign.ts";
import { modelEntry } from "./model_entry.ts";

/**
 * The answer of `GET /models`: the models of the caller's active assignments, in one object that the
 * OpenAI and the Anthropic SDKs both read (docs/design.md#paths).
 */
export function modelsResponse(caller: Caller, config: Config): Response {
  const data = [...listedModels(caller, config)].map(([name, deployments]) =>
    modelEntry(name, { deployments, facts: factsOf(deployments) })
  );
  return Response.json({
    object: "list",
    data,
    has_more: false,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  });
}

/**
 * The answer of `GET /models/{id}`.
 *
 * @throws {GatewayError} `not_found` when the caller has no such model.
 */
export function modelResponse(
  id: string,
  caller: Caller,
  config: Config,
): Response {
  const deployments = assign(id, caller, config);
  const facts = factsOf(deployments);
  return Response.json(modelEntry(id, { deployments, facts }));
}

function factsOf(deployments: Deployments): ModelFacts {
  return deployments.map(({ model }) => configuredFacts(model))
    .reduce(holdsForBoth);
}
