import { CallerLeft } from "../upstream/call.ts";
import type { HeaderFields } from "@gateway/base/header_fields";
import type { ModelCatalog } from "../catalog/model_catalog.ts";
import { holdsForBoth, type ModelFacts } from "../catalog/model_facts.ts";
import {
  type Deployments,
  listedAndUnlistedModels,
  listedModels,
} from "../config/assignment.ts";
import type { Caller, Config } from "../config/config.ts";
import type { JsonObject } from "@gateway/base/json";
import { assign, servedProtocols } from "../relay/routing/candidate.ts";
import { isCodexSince, ownCodexEntry } from "./codex_models.ts";
import { type KnownModel, modelEntry } from "./model_entry.ts";

/** The context of a request for models. */
export interface ModelsContext {
  /** The query of the request's target, with its question mark. */
  readonly query: string;
  readonly headers: HeaderFields;
  readonly caller: Caller;
  readonly config: Config;
  readonly catalog: ModelCatalog;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Returns the response of `GET /models`: the models of the caller's active assignments, in one object for the SDKs of
 * OpenAI and Anthropic (docs/design.md#models). Codex cannot read this object, and gets its own catalog.
 *
 * @throws {CallerLeft} When the caller disconnects.
 */
export async function modelsResponse(
  context: ModelsContext,
): Promise<Response> {
  const version = new URLSearchParams(context.query).get(VERSION_PARAMETER);
  if (version !== null) {
    return await codexCatalogResponse(await knownModels(context), version);
  }
  const data = context.headers.get(MODELS_HEADER) === "all"
    ? await allEntries(context)
    : (await knownModels(context)).map(modelEntry);
  return Response.json({
    object: "list",
    data,
    has_more: false,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  });
}

/** The header with which the page requests the unlisted models, too. */
const MODELS_HEADER = "x-gateway-models";

async function allEntries(context: ModelsContext): Promise<JsonObject[]> {
  const { caller, config } = context;
  const listed = listedModels(caller, config);
  const all = listedAndUnlistedModels(caller, config);
  return (await lookUp(all, context)).map((model) => ({
    ...modelEntry(model),
    ...!listed.has(model.name) && { listed: false },
  }));
}

/**
 * Returns the listed models of the caller's active assignments with their known facts, in the order of the list.
 *
 * @throws {CallerLeft} When the caller disconnects.
 */
export async function knownModels(
  context: ModelsContext,
): Promise<readonly KnownModel[]> {
  const { caller, config } = context;
  return await lookUp(listedModels(caller, config), context);
}

/**
 * Returns the response of `GET /models/{id}`.
 *
 * @throws {GatewayError} `not_found` when the caller has no such model.
 * @throws {CallerLeft} When the caller disconnects.
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

/** The parameter with the version of Codex. No other client sends it. */
const VERSION_PARAMETER = "client_version";

/** The most bytes of a response that Codex reads (https://github.com/openai/codex, codex-rs/models-manager). */
const MAX_BYTES = 1024 * 1024;

/**
 * Returns Codex's catalog. Codex knows models only from this catalog, so every field must have the form that Codex
 * reads. The catalog has the models served in Responses, in the list's order, up to the size limit. If a full entry
 * would exceed the limit, the entry has only known facts. A picker shows each model once, under its first name.
 *
 * @param version The version of Codex.
 */
export async function codexCatalogResponse(
  models: readonly KnownModel[],
  version: string,
): Promise<Response> {
  const entries: string[] = [];
  const shown = new Set<string>();
  let bytes = '{"models":[]}'.length;
  for (const model of models) {
    const { deployments: [{ model: { id } }], deployments } = model;
    if (!servedProtocols(deployments).includes("responses")) continue;
    for (const details of await detailsOf(model, version)) {
      const entry = JSON.stringify({
        ...entryOf(model, details),
        priority: entries.length,
        ...shown.has(id) && { visibility: "hide" },
      });
      const entryBytes = new TextEncoder().encode(entry).length + ",".length;
      if (bytes + entryBytes > MAX_BYTES) continue;
      entries.push(entry);
      shown.add(id);
      bytes += entryBytes;
      break;
    }
  }
  return new Response(`{"models":[${entries.join(",")}]}`, {
    headers: { "content-type": "application/json" },
  });
}

/**
 * Returns the possible details of an entry, the best first: the provider's entry or Codex's own entry, then the known
 * facts. Codex's own entry depends only on the model's name, not on the provider. An alias has the entry of its model.
 */
async function detailsOf(
  { name, deployments: [{ model: { upstream } }], facts }: KnownModel,
  version: string,
): Promise<readonly JsonObject[]> {
  const whole = facts.codexEntry ?? await ownCodexEntry(name, version) ??
    await ownCodexEntry(upstream, version);
  return [...(whole === undefined ? [] : [whole]), plainEntry(facts, version)];
}

function entryOf({ name, facts }: KnownModel, details: JsonObject): JsonObject {
  return {
    ...details,
    slug: name,
    display_name: facts.displayName ?? details.display_name ?? name,
    ...facts.contextWindow && { context_window: facts.contextWindow },
    ...facts.input?.image === false && { input_modalities: ["text"] },
    // The gateway accepts its own key for each model, and may not serve the model's successor.
    supported_in_api: true,
    upgrade: null,
  };
}

/**
 * Returns the entry of a model that is in no provider's catalog. Unknown facts get the defaults that Codex has for
 * unknown models. Fields with a default in Codex are left out, because Codex requires only the other fields.
 */
function plainEntry(facts: ModelFacts, version: string): JsonObject {
  const { input, reasons } = facts;
  return {
    visibility: "list",
    base_instructions: CODEX_INSTRUCTIONS,
    shell_type: "default",
    supported_reasoning_levels: effortsFor(version, facts).map((effort) => ({
      effort,
      description: `Reasoning effort ${effort}`,
    })),
    supports_reasoning_summaries: reasons === true,
    support_verbosity: false,
    supports_parallel_tool_calls: false,
    truncation_policy: { mode: "bytes", limit: 10_000 },
    experimental_supported_tools: [],
    ...input?.image !== undefined && {
      input_modalities: input.image ? ["text", "image"] : ["text"],
    },
  };
}

/** The efforts that every version of Codex reads. An older version rejects the whole catalog for any other effort. */
const OLD_EFFORTS: ReadonlySet<string> = new Set([
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
]);

/** From this minor version on, Codex reads any word as an effort. */
const ANY_EFFORT_SINCE = 169;

function effortsFor(
  version: string,
  { efforts = [] }: ModelFacts,
): readonly string[] {
  return isCodexSince(ANY_EFFORT_SINCE, version)
    ? efforts
    : efforts.filter((one) => OLD_EFFORTS.has(one));
}

/**
 * The instructions for models that Codex itself does not know. An entry of Codex's catalog must have instructions, and
 * the model gets no other instructions.
 */
export const CODEX_INSTRUCTIONS =
  `You are a coding agent. You work in Codex CLI, a terminal program, on the user's own files.

# How to work
- Complete each task: explore, decide, change, verify. Ask only about things that you cannot find out or reasonably assume.
- Read before you write. Search with \`rg\` and \`rg --files\` if they are installed. Match the style of the surrounding code.
- Do what was asked, fix the root cause, and keep the change small. Leave unrelated problems alone, and mention them at the end.
- Files named AGENTS.md hold the project's instructions for their folder and everything below it. A deeper file overrides a higher one, and the user overrides them all.
- The files may hold the user's own changes. Never undo changes that you did not make. Do not commit, push, or create branches unless asked to.
- Verify your change: run the nearest tests first, then more. Say clearly when something fails or cannot be run. Never claim a result that you have not seen.

# Tools
- Run commands with the shell tool. Prefer several small commands, and do not print whole files of unknown length.
- Edit files with the tool \`apply_patch\` if you have it, or with the shell. Do not ask the user to copy the content of a file.
- A sandbox may reject commands, or they may need the user's approval. When an important command is rejected, ask for approval as the tool describes, or find a way without it.
- If you have a tool for plans, use it for work of several steps. Keep the steps short, one of them in progress, and update the plan as you work.

# Answers
- Before a group of commands, say in one sentence what comes next. At the end, say in a few plain lines what you did and what remains. Use headings and lists only if they help.
- Name files by path, with a line number if it helps, such as \`src/gateway/app.ts:42\`. Put commands, paths and code names in backticks.
`;
