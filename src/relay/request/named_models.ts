import type { ValueSink } from "../../json_scan/scan.ts";
import {
  type Place,
  type SoughtString,
  SoughtStrings,
} from "../../json_scan/sought_strings.ts";

/** A model that a body names beside the one that it asks for. */
export interface NamedModel {
  /** The outermost field that it stands in. */
  readonly param: string;
  /** `undefined` where it is no name of a usual length. */
  readonly name: string | undefined;
}

/** Finds the models that a body names in fields by which an upstream could choose another one. */
export interface NamedModels {
  /** Who must see the value of a field; `undefined` where nobody must. */
  sinkOf(field: string): ValueSink | undefined;
  /** What was found, when the body is whole; the last has no name where there are too many. */
  end(): readonly NamedModel[];
}

/** No router takes so many. */
const MAX_NAMES = 100;

const NAME: Place = { seeks: true, member: nameOfModel };

/** `{"model": …}`, as in most lists, or LiteLLM's `{"model that fails": ["model that stands in"]}`. */
const FALLBACKS: Place = {
  seeks: true,
  member: (name) => nameOfModel(name) ?? { seeks: "in_list" },
};

/** The type of a tool, which tells what its model is for. */
const TOOL_TYPE: Place = { seeks: true };

/** An advisor's or another helper's model stands in the tool itself (Anthropic) or in its parameters (OpenRouter). */
const TOOL: Place = {
  member: (name) =>
    name === "type" ? TOOL_TYPE : nameOfModel(name) ??
      (name === "parameters" ? { member: optionOf } : undefined),
};

/** Settings of a router: any of the fields of {@linkcode FIELDS}, or a model. */
const OPTIONS: Place = { member: optionOf };

/**
 * Fields by which an upstream could take another model: `model` where the path names the model, and those of routers,
 * which are OpenRouter (`models`, `preset`, `plugins`, `fallbacks` of Messages), Anthropic (`fallbacks`, the advisor
 * among the `tools`), LiteLLM (`fallbacks` and the two of their kind, `router_settings_override`, `extra_body`),
 * Bifrost and AssemblyAI (`fallbacks`), Keywords AI (`fallback_models`), Vercel AI Gateway (`models`,
 * `providerOptions.gateway.models`).
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
  ["provideroptions", { member: () => OPTIONS }],
  ["provider_options", { member: () => OPTIONS }],
  ["tools", TOOL],
]);

/** As they are spelled in a body, where that is not in lower case. */
const SPELLINGS: Readonly<Record<string, string>> = {
  provideroptions: "providerOptions",
};

const MODEL_REGEXP = /models?(_?ids?|_?names?)?$/;

/** Lists that narrow what another field may choose. */
const NARROWING_REGEXP = /^(allowed|excluded|ignored)_/;

function nameOfModel(name: string): Place | undefined {
  return MODEL_REGEXP.test(name) && !NARROWING_REGEXP.test(name)
    ? NAME
    : undefined;
}

function optionOf(name: string): Place | undefined {
  return FIELDS.get(name) ?? nameOfModel(name);
}

/** The names of all fields in which models may stand, as bodies spell them. */
export const NAMING_FIELDS: readonly string[] = [...FIELDS.keys()].map(
  (name) => SPELLINGS[name] ?? name,
);

/**
 * One for each body.
 *
 * @param modelField Of the model that is asked for, which is not found here; `undefined` where the path names it.
 */
export function createNamedModels(modelField: string | undefined): NamedModels {
  const found: NamedModel[] = [];
  const tools = createToolModels((name) => take({ param: "tools", name }));

  /** One more than there may be tells that there are too many. */
  function take(one: NamedModel): void {
    if (found.length < MAX_NAMES) found.push(one);
    else if (found.length === MAX_NAMES) {
      found.push({ ...one, name: undefined });
    }
  }

  return {
    sinkOf(param) {
      if (param === modelField) return undefined;
      const place = FIELDS.get(param.toLowerCase());
      return place && new SoughtStrings(place, (one) => {
        if (param === "tools") tools.take(one);
        else if (one.place !== TOOL_TYPE) take({ param, name: one.text });
      });
    },
    end() {
      tools.end();
      return found;
    },
  };
}

/** Tools that draw pictures: their model answers nothing. */
const DRAWING_TYPES: ReadonlySet<string | undefined> = new Set([
  "image_generation",
  "openrouter:image_generation",
]);

/** Gives the models of all tools that do more than draw, however often they name their type. */
function createToolModels(onModel: (name: string | undefined) => void) {
  let element = 0;
  let isDrawing = false;
  let isAnswering = false;
  let names: (string | undefined)[] = [];

  function end(): void {
    if (!isDrawing || isAnswering) names.forEach(onModel);
    isDrawing = false;
    isAnswering = false;
    names = [];
  }

  return {
    take(one: SoughtString): void {
      if (one.element !== element) end();
      element = one.element;
      if (one.place !== TOOL_TYPE) {
        if (names.length <= MAX_NAMES) names.push(one.text);
      } else if (DRAWING_TYPES.has(one.text)) isDrawing = true;
      else isAnswering = true;
    },
    end,
  };
}
