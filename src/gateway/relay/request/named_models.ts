import type { OperationShape, Protocol } from "@gateway/base/protocol";
import {
  type FoundString,
  type Place,
  StringFinder,
  type ValueSink,
} from "@gateway/json_scan";

/** A model that a body names beside the requested one. */
export interface NamedModel {
  /** The top-level field that contains the model. */
  readonly param: string;
  /** The name; `undefined` for a value that is too long for a name, or if the upstream chooses the model. */
  readonly name: string | undefined;
  /** True when the model can only draw. The gateway need not know such a model. */
  readonly isDrawing?: boolean;
}

/** Finds the models in fields by which an upstream could choose another model. */
export interface NamedModels {
  /** Returns the reader of a field's value; `undefined` for a field without models. */
  sinkOf(field: string): ValueSink | undefined;
  /** Returns the models of a complete body. If there are too many models, the last model has no name. */
  end(): readonly NamedModel[];
}

/** The maximum number of names. No router accepts more. */
const MAX_NAMES = 100;

const NAME: Place = { wantsString: true, member: nameOfModel };

/** Fallbacks are `{"model": …}`, as in most lists, or LiteLLM's `{"failed model": ["fallback"]}`. */
const FALLBACKS: Place = {
  wantsString: true,
  member: (name) => nameOfModel(name) ?? { wantsString: "in_list" },
};

/** The type of a tool. The type decides the purpose of the tool's model. */
const TOOL_TYPE: Place = { wantsString: true };

/** The model with which a drawing tool writes: `svg.model` of OpenAI's `image_generation`. */
const AUTHOR: Place = { wantsString: true };

/** The models of a tool that form a panel: `analysis_models` of OpenRouter's fusion. */
const PANEL: Place = { wantsString: true };

const SVG: Place = {
  member: (name) => nameOfModel(name) === undefined ? undefined : AUTHOR,
};

/** The settings of a router or a tool. They may contain any field of {@linkcode FIELDS}, or a model. */
const OPTIONS: Place = { member: optionOf };

/**
 * A tool. The model of an advisor or another helper is in the tool itself (Anthropic) or in its parameters
 * (OpenRouter).
 */
const TOOL: Place = {
  isUnit: true,
  member(name) {
    switch (name) {
      case "type":
        return TOOL_TYPE;
      case "svg":
        return SVG;
      case "parameters":
        return OPTIONS;
      default:
        return nameOfModel(name);
    }
  },
};

/** Returns the place of objects in which only the member `name` is searched. */
function memberOf(name: string, place: Place): Place {
  return { only: { name, place } };
}

/**
 * The fields by which an upstream could choose another model. These are `model`, if the path names the model, and
 * fields of routers and providers with tools. Their documentation and SDKs list:
 *
 * - OpenRouter: `models`, `preset`, `plugins`, `fallbacks` of Messages, the tools advisor, subagent and fusion
 *   (openrouter.ai/docs/guides/routing/model-fallbacks, npm `@openrouter/sdk` 1.3.19).
 * - Anthropic: `fallbacks`, the advisor among the `tools`, and tools that are defined in the middle of `messages` (npm
 *   `@anthropic-ai/sdk` 1.12.0: `BetaFallbackParam`, `BetaAdvisorTool20260301`, `BetaToolChangeToolDefinitionParam`).
 * - OpenAI: `svg.model` of `image_generation`, and tools in items of `input` (npm `openai` 7.57.0: `AdditionalTools`).
 * - Groq: `compound_custom.models` (npm `groq-sdk` 1.6.0).
 * - LiteLLM: `fallbacks` and the two similar fields, `router_settings_override`, `extra_body`.
 * - Bifrost, AssemblyAI: `fallbacks`. Keywords AI: `fallback_models`. Vercel AI Gateway: `models`,
 *   `providerOptions.gateway.models`.
 */
const FIELDS: ReadonlyMap<string, Place> = new Map([
  ["model", NAME],
  ["models", NAME],
  ["fallback_model", NAME],
  ["fallback_models", NAME],
  ["preset", NAME],
  ["fallbacks", FALLBACKS],
  ["default_fallbacks", FALLBACKS],
  ["context_window_fallbacks", FALLBACKS],
  ["content_policy_fallbacks", FALLBACKS],
  ["router_settings", OPTIONS],
  ["router_settings_override", OPTIONS],
  ["extra_body", OPTIONS],
  ["plugins", OPTIONS],
  ["compound_custom", OPTIONS],
  ["provideroptions", { member: () => OPTIONS }],
  ["provider_options", { member: () => OPTIONS }],
  ["tools", TOOL],
  ["input", memberOf("tools", TOOL)],
]);

/**
 * The fields for Messages: the fields of {@linkcode FIELDS}, and the tools that a conversation may define.
 * Conversations of other protocols are not scanned.
 */
const MESSAGES_FIELDS: ReadonlyMap<string, Place> = new Map([
  ...FIELDS,
  [
    "messages",
    memberOf("content", memberOf("tool", memberOf("definition", TOOL))),
  ],
]);

function fieldsOf(protocol: Protocol): ReadonlyMap<string, Place> {
  return protocol === "messages" ? MESSAGES_FIELDS : FIELDS;
}

/** The spelling of field names that are not in lower case. */
const SPELLINGS: Readonly<Record<string, string>> = {
  provideroptions: "providerOptions",
};

const MODEL_REGEXP = /models?(_?ids?|_?names?)?$/;

/** Matches the names of lists that narrow the choice of models in another field. */
const NARROWING_REGEXP = /^(allowed|excluded|ignored)_/;

function nameOfModel(name: string): Place | undefined {
  if (name === "analysis_models") return PANEL;
  return MODEL_REGEXP.test(name) && !NARROWING_REGEXP.test(name)
    ? NAME
    : undefined;
}

function optionOf(name: string): Place | undefined {
  return FIELDS.get(name) ?? nameOfModel(name);
}

/** Returns the names of all fields in which models may be, as bodies of a protocol spell them. */
export function namingFields(protocol: Protocol): readonly string[] {
  return [...fieldsOf(protocol).keys()].map((name) => SPELLINGS[name] ?? name);
}

/**
 * Creates a finder for one body. It does not find the requested model.
 *
 * @param operation The operation of the path.
 */
export function createNamedModels(
  { modelField, protocol }: Pick<OperationShape, "modelField" | "protocol">,
): NamedModels {
  const fields = fieldsOf(protocol);
  const found: NamedModel[] = [];

  /** Adds a model. If there are too many models, adds a model without a name as the last. */
  function take(one: NamedModel): void {
    if (found.length < MAX_NAMES) found.push(one);
    else if (found.length === MAX_NAMES) {
      found.push({ param: one.param, name: undefined });
    }
  }

  return {
    sinkOf(param) {
      if (param === modelField) return undefined;
      const place = fields.get(param.toLowerCase());
      if (place === undefined) return undefined;
      const tools = new Map<number, ToolStrings>();
      return new StringFinder(place, (one) => {
        if (one.unit === 0) take({ param, name: one.text });
        else noteIn(toolAt(one.unit, tools), one);
      }, (unit) => {
        for (const model of modelsOf(toolAt(unit, tools))) {
          take({ param, ...model });
        }
        tools.delete(unit);
      });
    },
    end: () => found,
  };
}

/** The strings of one tool that concern its models. */
interface ToolStrings {
  /** True when one of the tool's types is a drawing tool. */
  isDrawing: boolean;
  /** True when one of the tool's types is not a drawing tool. */
  isAnswering: boolean;
  /** The types of the tool that choose models themselves. */
  readonly choosing: Set<string>;
  readonly names: FoundString[];
}

/** Tools that draw pictures. Their model writes no answer. */
const DRAWING_TYPES: ReadonlySet<string> = new Set([
  "image_generation",
  "openrouter:image_generation",
]);

/**
 * Tools of OpenRouter that choose models if the body names none. The advisor's model is chosen by the main model, and
 * fusion has a default panel.
 */
const CHOOSING_TYPES: ReadonlyMap<string, Place> = new Map([
  ["openrouter:advisor", NAME],
  ["openrouter:fusion", PANEL],
]);

function toolAt(unit: number, tools: Map<number, ToolStrings>): ToolStrings {
  const known = tools.get(unit);
  if (known !== undefined) return known;
  const fresh: ToolStrings = {
    isDrawing: false,
    isAnswering: false,
    choosing: new Set(),
    names: [],
  };
  tools.set(unit, fresh);
  return fresh;
}

function noteIn(tool: ToolStrings, one: FoundString): void {
  const { place, text = "" } = one;
  if (place !== TOOL_TYPE) {
    if (tool.names.length <= MAX_NAMES) tool.names.push(one);
  } else {
    if (DRAWING_TYPES.has(text)) tool.isDrawing = true;
    else tool.isAnswering = true;
    if (CHOOSING_TYPES.has(text)) tool.choosing.add(text);
  }
}

/** Returns the models of a tool. A tool of several types counts as a tool of each type. */
function modelsOf(
  { isDrawing, isAnswering, choosing, names }: ToolStrings,
): readonly Omit<NamedModel, "param">[] {
  const named = names.map(({ place, text }) => ({
    name: text,
    isDrawing: isDrawing && !isAnswering && place !== AUTHOR,
  }));
  const open = [...choosing].filter((type) =>
    !names.some(({ place }) => place === CHOOSING_TYPES.get(type))
  );
  return [...named, ...open.map(() => ({ name: undefined }))];
}
