import type { Deployments } from "../config/assignment.ts";
import type { Capabilities, ModelFacts } from "../catalog/model_facts.ts";
import { INPUT_KINDS, type InputKind } from "../config/input_kinds.ts";
import type { JsonObject } from "@gateway/base/json";
import {
  nativeProtocols,
  servedProtocols,
} from "../relay/routing/candidate.ts";

/** The release date of a model whose date is unknown. Both protocols expect the epoch for such a model. */
const UNKNOWN_DATE_MS = 0;

/** A model under one of its names, with its known facts. */
export interface KnownModel {
  /** The model's id or an alias. */
  readonly name: string;
  readonly deployments: Deployments;
  readonly facts: ModelFacts;
}

/**
 * Returns an entry of `GET /models` for all known clients. The entry has the fields of OpenAI's and Anthropic's SDKs,
 * and the sizes, inputs and parameters of OpenRouter (https://openrouter.ai/docs/models). `protocols` (every protocol
 * in which the model is served), `native_protocols` (the protocols without translation) and `regions` are the gateway's
 * own fields. Unknown facts are absent.
 */
export function modelEntry(
  { name, deployments, facts }: KnownModel,
): JsonObject {
  const [{ connection }] = deployments;
  const createdMs = facts.createdMs ?? UNKNOWN_DATE_MS;
  return {
    id: name,
    object: "model",
    type: "model",
    created: Math.floor(createdMs / 1000),
    created_at: new Date(createdMs).toISOString(),
    display_name: facts.displayName ?? name,
    owned_by: connection.service,
    protocols: [...servedProtocols(deployments)],
    native_protocols: [...nativeProtocols(deployments)],
    ...regionsField(deployments),
    ...anthropicFields(facts),
    ...openRouterFields(facts),
  };
}

/** Returns the regions in which the model is served; no field when its connections have no region. */
function regionsField(deployments: Deployments): JsonObject {
  const regions = new Set(
    deployments.flatMap(({ connection: { region } }) => region ?? []),
  );
  return regions.size === 0 ? {} : { regions: [...regions] };
}

/** Returns the fields of `ModelInfo` in Anthropic's SDK. A field is absent where the SDK has null. */
function anthropicFields(facts: ModelFacts): JsonObject {
  const capabilities = capabilitiesOf(facts);
  return {
    max_input_tokens: facts.contextWindow,
    max_tokens: facts.maxOutputTokens,
    capabilities: Object.keys(capabilities).length === 0
      ? undefined
      : capabilities,
  };
}

function capabilitiesOf(
  { capabilities, input, reasons, efforts }: ModelFacts,
): JsonObject {
  return {
    ...capabilities && capabilityTree(capabilities),
    ...supportedIfKnown("image_input", input?.image),
    ...supportedIfKnown("pdf_input", input?.pdf),
    ...supportedIfKnown("thinking", reasons, capabilities?.thinking),
    ...efforts && { effort: effortCapability(efforts) },
  };
}

/**
 * Returns a capability as a field; no field when `supported` is unknown. A granted capability gets the details that the
 * provider reports. A denied capability gets no details.
 */
function supportedIfKnown(
  name: string,
  supported: boolean | undefined,
  more?: Capabilities[string] | undefined,
): JsonObject {
  if (supported === undefined) return {};
  const rest = supported && isTree(more) ? capabilityTree(more) : {};
  return { [name]: { ...rest, supported } };
}

/** The efforts of Anthropic's SDK. An entry lists every one of these efforts as supported or not. */
const ANTHROPIC_EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const;

function effortCapability(efforts: readonly string[]): JsonObject {
  return {
    supported: efforts.length > 0,
    ...Object.fromEntries(
      ANTHROPIC_EFFORTS.map((effort) => [
        effort,
        { supported: efforts.includes(effort) },
      ]),
    ),
  };
}

function capabilityTree(capabilities: Capabilities): JsonObject {
  return Object.fromEntries(
    Object.entries(capabilities).map(([name, value]) => [
      name,
      isTree(value) ? capabilityTree(value) : value,
    ]),
  );
}

function isTree(
  value: Capabilities[string] | undefined,
): value is Capabilities {
  return typeof value === "object" && value !== null;
}

/** OpenRouter's names of the input kinds. OpenRouter calls a PDF `file`. */
const OPENROUTER_MODALITIES: Readonly<Record<InputKind, string>> = {
  text: "text",
  image: "image",
  pdf: "file",
  audio: "audio",
};

function openRouterFields(facts: ModelFacts): JsonObject {
  const { contextWindow, maxOutputTokens, efforts } = facts;
  const isSized = contextWindow !== undefined || maxOutputTokens !== undefined;
  return {
    context_length: contextWindow,
    max_output_tokens: maxOutputTokens,
    top_provider: isSized
      ? {
        context_length: contextWindow,
        max_completion_tokens: maxOutputTokens,
      }
      : undefined,
    architecture: architectureOf(facts),
    supported_parameters: parametersOf(facts),
    reasoning: efforts && { supported_efforts: [...efforts] },
  };
}

/** Returns the inputs of a model in OpenRouter's form; `undefined` when the inputs are not known. */
export function architectureOf(
  { input }: ModelFacts,
): { readonly input_modalities: string[] } | undefined {
  return input && {
    input_modalities: INPUT_KINDS.filter((kind) => input[kind] === true)
      .map((kind) => OPENROUTER_MODALITIES[kind]),
  };
}

/**
 * Returns the supported parameters. If it is not known whether the model calls tools, returns `undefined`, because a
 * list without tools would deny tools.
 */
function parametersOf(
  { callsTools, reasons }: ModelFacts,
): string[] | undefined {
  if (callsTools === undefined) return undefined;
  return [
    ...(callsTools ? ["tools", "tool_choice"] : []),
    ...(reasons === true ? ["reasoning"] : []),
  ];
}
