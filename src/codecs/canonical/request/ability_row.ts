import { lookup } from "@gateway/base/collections";
import { isMapping } from "@gateway/base/problems";
import {
  type Ability,
  type AbilityRow,
  OPTIONAL_SETTINGS,
  type OptionalSetting,
} from "./ability.ts";
import { EFFORT_WORDS } from "./effort.ts";

/** The parts of an {@linkcode Ability} that have fields. */
type Group =
  | "reasoning"
  | "tools"
  | "schemas"
  | "sampling"
  | "limits"
  | "settings";

/** A field of a row in the configuration. */
type AbilityField =
  & {
    /** What the field says, in a sentence. */
    readonly about: string;
  }
  & (
    | { readonly kind: "flag" }
    /** A number from `min` to `max`. If `whole` is true, it has no decimals. */
    | {
      readonly kind: "number";
      readonly min: number;
      readonly max: number;
      readonly whole: boolean;
    }
    /** One of the `words`. */
    | { readonly kind: "word"; readonly words: readonly string[] }
    /** A list of some of the `words`. */
    | { readonly kind: "words"; readonly words: readonly string[] }
  );

/** A group of fields. */
interface AbilityGroup {
  readonly about: string;
  readonly fields: Readonly<Record<string, AbilityField>>;
}

const flag = (about: string) => ({ kind: "flag", about }) as const;

const word = <const Words extends readonly string[]>(
  words: Words,
  about: string,
) => ({ kind: "word", words, about }) as const;

const words = <const Words extends readonly string[]>(
  words: Words,
  about: string,
) => ({ kind: "words", words, about }) as const;

const number = (
  [min, max]: readonly [min: number, max: number],
  about: string,
) => ({ kind: "number", min, max, whole: false, about }) as const;

const count = (about: string, min = 0) =>
  ({ kind: "number", min, max: 100_000_000, whole: true, about }) as const;

/** The field of the configuration for a value of an ability. */
type FieldFor<Value> = [Value] extends [boolean | undefined]
  ? Extract<AbilityField, { kind: "flag" }>
  : [Value] extends [number | undefined]
    ? Extract<AbilityField, { kind: "number" }>
  : [Value] extends [readonly (infer Item)[] | undefined] ?
      & Extract<AbilityField, { kind: "words" }>
      & { readonly words: readonly Item[] }
  :
    & Extract<AbilityField, { kind: "word" }>
    & { readonly words: readonly Value[] };

/** The fields for parts of an ability. */
type FieldsFor<Part> = {
  readonly [Name in keyof Part]?: FieldFor<Part[Name]>;
};

/** What the descriptions in the configuration call each of the {@linkcode OPTIONAL_SETTINGS}. */
const SETTINGS: Readonly<Record<OptionalSetting, string>> = {
  temperature: "`temperature`",
  topP: "`top_p`",
  topK: "`top_k`",
  seed: "`seed`",
  frequencyPenalty: "`frequency_penalty`",
  presencePenalty: "`presence_penalty`",
  maxOutputTokens: "an output limit, such as `max_tokens`",
  verbosity: "`verbosity`",
  user: "the id of the end user",
  cacheKey: "`prompt_cache_key`",
  metadata: "`metadata`",
  logprobs: "log probabilities",
  webSearch: "the settings of its own web search",
  cacheOptions: "`prompt_cache_options`",
  cacheRetention: "`prompt_cache_retention`",
  safetyIdentifier: "`safety_identifier`",
};

const FIELDS = {
  reasoning: {
    about: "The reasoning settings that the model takes.",
    fields: {
      byDefault: flag(
        "true: the model reasons unless a request prevents that.",
      ),
      modes: words(
        ["off", "adaptive", "budget", "between_tools"],
        "The modes that a request may set beside an effort, in the provider's `thinking`. The first one replaces any that is missing. An empty list means none.",
      ),
      efforts: words(
        EFFORT_WORDS,
        "The efforts that the model accepts, from low to high, with none if this stops reasoning. The closest one replaces any other.",
      ),
      least: word(
        EFFORT_WORDS,
        "The effort to send in place of none when nothing stops reasoning.",
      ),
      usual: word(
        EFFORT_WORDS,
        "The model's effort when a request sets none.",
      ),
    } satisfies FieldsFor<Required<Ability["reasoning"]>>,
  },
  tools: {
    about: "The choices among tools that the provider takes.",
    fields: {
      force: word(
        ["named", "any", "never"],
        "The calls that a request may force: a call of a named tool, a call of any tool, or none. An instruction replaces what never leaves out.",
      ),
      forbid: flag(
        "true: a request may forbid all calls. false: it omits the tools instead.",
      ),
      parallel: flag(
        "true: a request may allow or forbid several calls at once.",
      ),
      mixedStrict: flag(
        "true: `strict` may differ between the tools of a request.",
      ),
    } satisfies FieldsFor<Ability["tools"]>,
  },
  schemas: {
    about: "The output formats that the provider takes.",
    fields: {
      json: word(
        ["object", "schema", "none"],
        "The format for JSON without a schema: a format of its own, a schema of any object, or none.",
      ),
      formatSchemas: flag(
        "true: a format may have a schema. false: an instruction replaces it.",
      ),
      formatsWithTools: flag(
        "true: a format may stand beside tools. false: an instruction replaces it.",
      ),
    } satisfies FieldsFor<Ability["schemas"]>,
  },
  sampling: {
    about: "The model's conditions for sampling settings.",
    fields: {
      free: word(
        ["always", "without_reasoning", "never"],
        "The requests that may set sampling: all, those without reasoning, or none.",
      ),
      both: flag(
        "true: a request may set `temperature` and `top_p` together.",
      ),
      mostTemperature: number([0, 2], "The highest temperature."),
    } satisfies FieldsFor<Ability["sampling"]>,
  },
  limits: {
    about: "The numbers that bound a request.",
    fields: {
      leastOutputTokens: count("The lowest output limit, in tokens."),
      mostOutputTokens: count(
        "The highest output limit, in tokens. A lower `max_output_tokens` of the model also applies.",
        1,
      ),
      usualOutputTokens: count(
        "The output limit of a request that sets none, in tokens. The model's highest limit, if it is known, replaces it.",
        1,
      ),
      mostStops: count(
        "The most stop strings. The gateway cuts the answer at any further stop strings.",
      ),
      blankStops: flag("true: a stop string may be blank."),
      mostCacheMarks: count("The most cache marks."),
    } satisfies FieldsFor<Ability["limits"]>,
  },
  settings: {
    about: "The settings that the provider has.",
    fields: Object.fromEntries(OPTIONAL_SETTINGS.map((setting) => [
      setting,
      flag(`true: the provider takes ${SETTINGS[setting]}.`),
    ])),
  },
  tiers: words(
    ["auto", "standard", "flex", "priority"],
    "The service tiers that the provider knows.",
  ),
  cacheMarks: word(
    ["none", "content", "content_and_tools"],
    "The parts of a request that take cache marks.",
  ),
  continues: flag(
    "true: the model continues an assistant message at the end of a request.",
  ),
  names: flag("true: messages may name their participants."),
} satisfies
  & { readonly [Name in Group]: AbilityGroup }
  & FieldsFor<Omit<Ability, Group>>;

/** Makes the options of a configuration file, such as zod's schemas. */
interface OptionMakers<Option> {
  flag(): Option;
  number(field: Extract<AbilityField, { kind: "number" }>): Option;
  word(words: readonly string[]): Option;
  words(words: readonly string[]): Option;
  group(options: Record<string, Option>): Option;
  /** Returns an option that may be absent, with its description. */
  optional(option: Option, about: string): Option;
}

/** The rows of the configuration. */
export const ABILITY_ROWS: {
  /** The fields that an administrator can know, by their names in an {@linkcode Ability}. */
  readonly fields: Readonly<Record<string, AbilityField | AbilityGroup>>;
  /** Returns an option for each field, by its name in the file: `topP` is `top_p`. */
  options<Option>(makers: OptionMakers<Option>): Record<string, Option>;
  /**
   * Reads a row whose fields have their names from the file.
   *
   * @throws {TypeError} When the row has an unknown field, or a value of another kind than the field.
   */
  read(written: object): AbilityRow;
} = {
  fields: FIELDS,
  options: (makers) => optionsOf(FIELDS, makers),
  read(written) {
    const row = inCodeNames(written);
    if (isAbilityRow(row)) return row;
    throw new TypeError("A field is unknown, or has no such value");
  },
};

function optionsOf<Option>(
  entries: Readonly<Record<string, AbilityField | AbilityGroup>>,
  makers: OptionMakers<Option>,
): Record<string, Option> {
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => {
      const option = "fields" in entry
        ? makers.group(optionsOf(entry.fields, makers))
        : optionOf(entry, makers);
      const written = name.replaceAll(/[A-Z]/g, "_$&").toLowerCase();
      return [written, makers.optional(option, entry.about)];
    }),
  );
}

function optionOf<Option>(
  field: AbilityField,
  makers: OptionMakers<Option>,
): Option {
  switch (field.kind) {
    case "flag":
      return makers.flag();
    case "number":
      return makers.number(field);
    default:
      return makers[field.kind](field.words);
  }
}

function inCodeNames(written: object): object {
  return Object.fromEntries(
    Object.entries(written).map(([name, value]) => [
      name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      isMapping(value) ? inCodeNames(value) : value,
    ]),
  );
}

function isAbilityRow(value: unknown): value is AbilityRow {
  return areFields(value, FIELDS);
}

function areFields(
  value: unknown,
  known: Readonly<Record<string, AbilityField | AbilityGroup>>,
): boolean {
  return isMapping(value) &&
    Object.entries(value).every(([name, one]) => {
      const field = lookup(known, name);
      if (field === undefined) return false;
      return "fields" in field
        ? areFields(one, field.fields)
        : isValueOf(field, one);
    });
}

function isValueOf(field: AbilityField, value: unknown): boolean {
  switch (field.kind) {
    case "flag":
      return typeof value === "boolean";
    case "number":
      return typeof value === "number" && value >= field.min &&
        value <= field.max;
    case "word":
      return isIn(field.words, value);
    case "words":
      return Array.isArray(value) &&
        value.every((one) => isIn(field.words, one));
  }
}

function isIn(words: readonly string[], value: unknown): boolean {
  return typeof value === "string" && words.includes(value);
}
