import { holdsForBoth } from "../catalog/model_facts.ts";
import type { ModelCatalog } from "../catalog/model_catalog.ts";
import { type Deployments, listedModels } from "../config/assignment.ts";
import type { Caller, Config } from "../config/config.ts";
import { assign } from "../relay/routing/assign.ts";
import { CallerLeft } from "../upstream/call.ts";
import { codexCatalogResponse, codexVersion } from "./codex_catalog.ts";
import { type KnownModel, modelEntry } from "./model_entry.ts";

/** Who asks what is known of models. */
export interface ModelsContext {
  /** Of the request's target, with its question mark. */
  readonly query: string;
  readonly caller: Caller;
  readonly config: Config;
  readonly catalog: ModelCatalog;
  /** Aborted when the caller leaves. */
  readonly signal: AbortSignal;
}

/**
 * The answer of `GET /models`: the models of the caller's active assignments, in one object that the
 * OpenAI and the Anthropic SDKs both read (docs/design.md#models). Codex, which reads neither, gets its catalog.
 *
 * @throws {CallerLeft} When the caller does not wait for it.
 */
export async function modelsResponse(
  context: ModelsContext,
): Promise<Response> {
  const models = await knownModels(context);
  const version = codexVersion(context.query);
  if (version !== undefined) return codexCatalogResponse(models, version);
  const data = models.map(modelEntry);
  return Response.json({
    object: "list",
    data,
    has_more: false,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  });
}

/**
 * The listed models of the caller's active assignments with what is known of them, in the order of the list.
 *
 * @throws {CallerLeft} When the caller does not wait for it.
 */
export async function knownModels(
  context: ModelsContext,
): Promise<readonly KnownModel[]> {
  const { caller, config } = context;
  return await lookUp(listedModels(caller, config), context);
}

/**
 * The answer of `GET /models/{id}`.
 *
 * @throws {GatewayError} `not_found` when the caller has no such model.
 * @throws {CallerLeft} When the caller does not wait for it.
 */
export async function modelResponse(
  id: string,
  context: ModelsContext,
): Promise<Response> {
  const { caller, config } = context;
  const models = new Map([[id, assign(id, caller, config)]]);
  const [model] = await lookUp(models, context);
  return Response.json(model && modelEntry(model));
}

async function lookUp(
  models: ReadonlyMap<string, Deployments>,
  { catalog, signal }: ModelsContext,
): Promise<readonly KnownModel[]> {
  const all = [...models.values()].flat();
  const connections = new Set(all.map(({ connection }) => connection));
  try {
    await catalog.refresh([...connections], signal);
  } catch (error) {
    throw signal.aborted ? new CallerLeft() : error;
  }
  return [...models].map(([name, deployments]) => ({
    name,
    deployments,
    facts: deployments.map(catalog.factsOf).reduce(holdsForBoth),
  }));
}
