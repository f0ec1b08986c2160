import { assignedModels, type Deployments } from "../config/assignment.ts";
import type { Caller, Config } from "../config/config.ts";
import { assign } from "../relay/routing/assign.ts";
import { servedProtocols } from "../relay/routing/candidate.ts";

/**
 * The answer of `GET /models`: the models of the caller's active assignments, in one object that the
 * OpenAI and the Anthropic SDKs both read (docs/design.md#paths). `protocols` is our own: in which protocols a
 * model can be asked, so that a client which speaks one knows what it may choose.
 */
export function modelsResponse(caller: Caller, config: Config): Response {
  const data = [...assignedModels(caller, config)].map(([id, deployments]) =>
    modelEntry(id, deployments)
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
  return Response.json(modelEntry(id, assign(id, caller, config)));
}

/** The release date is not known here; both protocols then expect the epoch. */
const UNKNOWN_DATE_MS = 0;

function modelEntry(
  id: string,
  deployments: Deployments,
) {
  const [{ connection }] = deployments;
  return {
    id,
    object: "model",
    type: "model",
    created: UNKNOWN_DATE_MS / 1000,
    created_at: new Date(UNKNOWN_DATE_MS).toISOString(),
    display_name: id,
    owned_by: connection.service,
    protocols: servedProtocols(deployments),
  };
}
