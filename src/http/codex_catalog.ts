import type { ModelFacts } from "../catalog/model_facts.ts";
import type { JsonObject } from "../core/json.ts";
import { servedProtocols } from "../relay/routing/candidate.ts";
import { CODEX_INSTRUCTIONS } from "./codex_instructions.ts";
import type { KnownModel } from "./model_entry.ts";

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
