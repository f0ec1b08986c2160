import type { ModelCatalog } from "../catalog/model_catalog.ts";
import { holdsForBoth, type ModelFacts } from "../catalog/model_facts.ts";
import { type Deployments, listedModels } from "../config/assignment.ts";
import type { Caller, Config } from "../config/config.ts";
import type { JsonObject } from "../core/json.ts";
import { assign, servedProtocols } from "../relay/routing/candidate.ts";
import { CallerLeft } from "../upstream/call.ts";
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

/** The parameter by which Codex, and nobody else, says for which of its versions it wants models. */
const VERSION_PARAMETER = "client_version";

/** Codex reads no more of an answer, in bytes (https://github.com/openai/codex, codex-rs/models-manager). */
const MAX_BYTES = 1024 * 1024;

/**
 * The version of Codex that asks for its catalog; `undefined` when it is another client that asks for a list.
 *
 * @param query Of the request's target, with its question mark.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * assert.equal(codexVersion("?client_version=0.169.0"), "0.169.0");
 * assert.equal(codexVersion("?limit=1000"), undefined);
 * ```
 */
export function codexVersion(query: string): string | undefined {
  return new URLSearchParams(query).get(VERSION_PARAMETER) ?? undefined;
}

/**
 * Codex's catalog: what it knows of models comes from here alone, so everything in it must be as it reads it. It has
 * the models that can be asked in Responses, in the order of the list, as far as they fit. A picker shows each
 * once, under the first of its names.
 *
 * @param version Of the client.
 */
export function codexCatalogResponse(
  models: readonly KnownModel[],
  version: string,
): Response {
  const entries: string[] = [];
  const shown = new Set<string>();
  let bytes = '{"models":[]}'.length;
  for (const model of models) {
    const { deployments: [{ model: { id } }], deployments } = model;
    if (!servedProtocols(deployments).includes("responses")) continue;
    const entry = JSON.stringify({
      ...entryOf(model, version),
      priority: entries.length,
      ...shown.has(id) && { visibility: "hide" },
    });
    const entryBytes = new TextEncoder().encode(entry).length + ",".length;
    if (bytes + entryBytes > MAX_BYTES) continue;
    entries.push(entry);
    shown.add(id);
    bytes += entryBytes;
  }
  return new Response(`{"models":[${entries.join(",")}]}`, {
    headers: { "content-type": "application/json" },
  });
}

function entryOf(
  { name, facts }: KnownModel,
  version: string,
): JsonObject {
  return {
    ...facts.codexEntry ?? plainEntry(facts, version),
    slug: name,
    display_name: facts.displayName ?? name,
    ...facts.contextWindow && { context_window: facts.contextWindow },
    // It may be asked with a key of the gateway, whatever the provider wants, and its successor may not be here.
    supported_in_api: true,
    upgrade: null,
  };
}

/**
 * Of a model that is in no catalog of a provider's: for what is not known it has what Codex takes for granted of a
 * model that it does not know. Absent fields have defaults, the others must be there.
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

/** The efforts that every version of Codex reads. An older one takes an entry with another for no catalog at all. */
const OLD_EFFORTS: ReadonlySet<string> = new Set([
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
]);

/** From this version on, the second number, any word is an effort. */
const ANY_EFFORT_SINCE = 169;

function effortsFor(
  version: string,
  { efforts = [] }: ModelFacts,
): readonly string[] {
  const [, major = "0", minor = "0"] = /^(\d+)\.(\d+)\./.exec(version) ?? [];
  const takesAny = Number(major) > 0 || Number(minor) >= ANY_EFFORT_SINCE;
  return takesAny ? efforts : efforts.filter((one) => OLD_EFFORTS.has(one));
}

/**
 * What a model is told in Codex of which Codex knows nothing itself. An entry of its catalog must have such a text,
 * and without one the model would get no instructions at all.
 */
export const CODEX_INSTRUCTIONS =
  `You are a coding agent. You work in Codex CLI, a terminal program, in the user's own files.

# How to work
- Carry a task through: look around, decide, change, verify. Stop to ask only for what you cannot find out and cannot reasonably assume.
- Read before you write. Search with \`rg\` and \`rg --files\` where they are there. Understand how the code around a change is written, and write alike.
- Do what was asked, at the root of the problem, with as little change as that takes. Leave unrelated faults alone, and mention them at the end.
- Files named AGENTS.md hold the wishes of the project for the folder that they lie in and those below; a deeper one wins over one above, and what the user says wins over all.
- The user may have changes of their own in the files. Never undo what you have not done. Do not commit, push, or create branches unless asked to.
- Run what proves your change: the tests next to it first, then more. Say plainly when something fails or could not be run. Never claim what you have not seen.

# Tools
- Run commands with the shell tool you are given; prefer several small ones, and do not print files of unknown length as a whole.
- Edit files with the tool \`apply_patch\` where you have it, else with the shell. Do not show the user a file's content to copy.
- Commands may be refused by a sandbox, or need the user's approval. When one that matters is refused, ask for approval in the way that the tool describes, or find a way without it.
- When there is a tool for plans, use it for work of several steps: short steps, one of them in progress, brought up to date as you go.

# Answers
- Before a group of commands say in a sentence what comes next. At the end say what you have done and what to do now, in a few lines of plain language; headings and lists only where they help.
- Name files by path, with the line where it helps, such as \`src/app.ts:42\`. Put commands, paths and names of code in backticks.
`;
