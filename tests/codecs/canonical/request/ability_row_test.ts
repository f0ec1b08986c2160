import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { Protocol } from "../../../../src/base/protocol.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import {
  type AbilityRow,
  OPTIONAL_SETTINGS,
  type OptionalSetting,
} from "../../../../src/codecs/canonical/request/ability.ts";
import { ABILITY_ROWS } from "../../../../src/codecs/canonical/request/ability_row.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { steps } from "../../../support/steps.ts";
import { translateRequest } from "../../../support/translate_request.ts";
import { hello, PROTOCOLS } from "../../../support/wire/ask.ts";

type AbilityField = Extract<
  typeof ABILITY_ROWS.fields[string],
  { readonly kind: string }
>;

/** The names of all fields of a row, such as `limits.mostStops`, except those of `turns`, which no file sets. */
type FieldName = {
  [Part in Exclude<keyof AbilityRow, "turns">]-?:
    NonNullable<AbilityRow[Part]> extends readonly unknown[] | string | boolean
      ? Part
      : `${Part}.${keyof NonNullable<AbilityRow[Part]> & string}`;
}[Exclude<keyof AbilityRow, "turns">];

/** A request, and two rows that must give different bodies or losses. */
interface Trial {
  readonly one: AbilityRow;
  readonly other: AbilityRow;
  /** Fields of the caller's request. */
  readonly asked: JsonObject;
  readonly from?: Protocol;
  readonly to?: Protocol;
}

const TOOL = {
  type: "function",
  function: { name: "f", parameters: { type: "object" } },
};
const STRICT = {
  type: "function",
  function: {
    name: "g",
    strict: true,
    parameters: {
      type: "object",
      properties: {},
      required: [],
      additionalProperties: false,
    },
  },
};
const NAMED = { type: "function", function: { name: "f" } };
const SCHEMA = {
  type: "json_schema",
  json_schema: {
    name: "s",
    strict: true,
    schema: {
      type: "object",
      properties: { a: { type: "string", pattern: "^(?=a)" } },
      required: ["a"],
      additionalProperties: false,
    },
  },
};
const MARK = { type: "ephemeral" };
const marked = (text: string): JsonObject => ({
  role: "user",
  content: [{ type: "text", text, cache_control: MARK }],
});

/** The value of each setting, in a request of Chat Completions or of the named protocol. */
const SETTINGS: Readonly<
  Record<OptionalSetting, JsonObject & { readonly from?: Protocol }>
> = {
  temperature: { temperature: 0.5 },
  topP: { top_p: 0.5 },
  topK: { from: "messages", top_k: 5 },
  seed: { seed: 5 },
  frequencyPenalty: { frequency_penalty: 1 },
  presencePenalty: { presence_penalty: 1 },
  maxOutputTokens: { from: "messages", max_tokens: 50 },
  verbosity: { from: "responses", text: { verbosity: "low" } },
  user: { from: "messages", metadata: { user_id: "u" } },
  cacheKey: { from: "responses", prompt_cache_key: "k" },
  metadata: { from: "responses", metadata: { a: "b" } },
  logprobs: { logprobs: true, top_logprobs: 2 },
  webSearch: { web_search_options: {} },
  cacheOptions: { from: "responses", prompt_cache_options: { mode: "auto" } },
  cacheRetention: { from: "responses", prompt_cache_retention: "24h" },
  safetyIdentifier: { from: "responses", safety_identifier: "i" },
};

const TRIALS = {
  "reasoning.byDefault": {
    one: { reasoning: { byDefault: true, modes: [], efforts: ["low"] } },
    other: { reasoning: { byDefault: false, modes: [], efforts: [] } },
    asked: { reasoning_effort: "none" },
  },
  "reasoning.modes": {
    one: { reasoning: { modes: ["off", "adaptive"] } },
    other: { reasoning: { modes: [] } },
    asked: { reasoning_effort: "high" },
  },
  "reasoning.efforts": {
    one: { reasoning: { efforts: ["low"] } },
    other: { reasoning: { efforts: ["low", "high"] } },
    asked: { reasoning_effort: "high" },
    to: "chat",
  },
  "reasoning.least": {
    one: { reasoning: { efforts: ["low"], least: "low" } },
    other: { reasoning: { efforts: ["low"], least: "high" } },
    asked: { reasoning_effort: "none" },
    to: "chat",
  },
  "reasoning.usual": {
    one: { reasoning: { modes: [], usual: "low" } },
    other: { reasoning: { modes: [], usual: "high" } },
    asked: { thinking: { type: "adaptive" } },
    from: "messages",
    to: "chat",
  },
  "reasoning.effortWhenOff": {
    one: { reasoning: { modes: ["off"], effortWhenOff: true } },
    other: { reasoning: { modes: ["off"], effortWhenOff: false } },
    asked: { thinking: { type: "disabled" }, output_config: { effort: "low" } },
    from: "messages",
    to: "chat",
  },
  "reasoning.bars": {
    one: { reasoning: { bars: [] } },
    other: { reasoning: { bars: ["tools"] } },
    asked: { reasoning_effort: "low", tools: [TOOL] },
  },
  "tools.full": {
    one: { tools: { full: true } },
    other: { tools: { full: false } },
    asked: {
      tools: [TOOL, STRICT],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "auto", tools: [NAMED] },
      },
    },
    to: "chat",
  },
  "tools.force": {
    one: { tools: { force: "named" } },
    other: { tools: { force: "any" } },
    asked: { tools: [TOOL], tool_choice: NAMED },
  },
  "tools.forbid": {
    one: { tools: { forbid: true } },
    other: { tools: { forbid: false } },
    asked: { tools: [TOOL], tool_choice: "none" },
  },
  "tools.webSearch": {
    one: { tools: { webSearch: true } },
    other: { tools: { webSearch: false } },
    asked: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
    from: "messages",
    to: "responses",
  },
  "tools.mixedStrict": {
    one: { tools: { mixedStrict: true } },
    other: { tools: { mixedStrict: false } },
    asked: { tools: [TOOL, STRICT] },
    to: "chat",
  },
  "tools.parallel": {
    one: { tools: { parallel: true } },
    other: { tools: { parallel: false } },
    asked: { tools: [TOOL], parallel_tool_calls: false },
  },
  "schemas.subset": {
    one: {
      schemas: {
        subset: { plainRoot: true, patterns: "all", isMoonshot: false },
      },
    },
    other: {
      schemas: {
        subset: { plainRoot: true, patterns: "portable", isMoonshot: false },
      },
    },
    asked: { response_format: SCHEMA },
    to: "chat",
  },
  "schemas.enforces": {
    one: { schemas: { enforces: "any" } },
    other: { schemas: { enforces: "none" } },
    asked: { tools: [STRICT] },
  },
  "schemas.json": {
    one: { schemas: { json: "schema" } },
    other: { schemas: { json: "none" } },
    asked: { response_format: { type: "json_object" } },
  },
  "schemas.formatSchemas": {
    one: { schemas: { formatSchemas: true } },
    other: { schemas: { formatSchemas: false } },
    asked: { response_format: SCHEMA },
  },
  "schemas.formatsWithTools": {
    one: { schemas: { formatsWithTools: true, formatSchemas: true } },
    other: { schemas: { formatsWithTools: false, formatSchemas: true } },
    asked: { response_format: SCHEMA, tools: [TOOL] },
  },
  "sampling.free": {
    one: { sampling: { free: "always" } },
    other: { sampling: { free: "never" } },
    asked: { temperature: 0.5 },
  },
  "sampling.fixed": {
    one: { sampling: { free: "never", fixed: [] } },
    other: { sampling: { free: "never", fixed: ["temperature"] } },
    asked: { temperature: 0.5 },
  },
  "sampling.leastTopP": {
    one: { sampling: { free: "never", leastTopP: 0.4 } },
    other: { sampling: { free: "never", leastTopP: 0.6 } },
    asked: { top_p: 0.5 },
  },
  "sampling.both": {
    one: { sampling: { both: true } },
    other: { sampling: { both: false } },
    asked: { top_p: 0.5, temperature: 0.5 },
  },
  "sampling.mostTemperature": {
    one: { sampling: { mostTemperature: 1 } },
    other: { sampling: { mostTemperature: 2 } },
    asked: { temperature: 1.5 },
  },
  "limits.leastOutputTokens": {
    one: { limits: { leastOutputTokens: 1 } },
    other: { limits: { leastOutputTokens: 50 } },
    asked: { max_tokens: 20 },
  },
  "limits.mostOutputTokens": {
    one: { limits: { mostOutputTokens: 10 } },
    other: { limits: { mostOutputTokens: 50 } },
    asked: { max_tokens: 20 },
  },
  "limits.usualOutputTokens": {
    one: { limits: { usualOutputTokens: 10 } },
    other: { limits: { usualOutputTokens: 50 } },
    asked: {},
  },
  "limits.mostWholeTokens": {
    one: { limits: { mostWholeTokens: -1 } },
    other: { limits: { mostWholeTokens: 50 } },
    asked: { max_output_tokens: 20 },
    from: "responses",
    to: "chat",
  },
  "limits.mostStops": {
    one: { limits: { mostStops: 1 } },
    other: { limits: { mostStops: 2 } },
    asked: { stop: ["a", "b"] },
    to: "chat",
  },
  "limits.blankStops": {
    one: { limits: { blankStops: true } },
    other: { limits: { blankStops: false } },
    asked: { stop: [" "] },
    to: "chat",
  },
  "limits.mostCacheMarks": {
    one: { cacheMarks: "content_and_tools", limits: { mostCacheMarks: 1 } },
    other: { cacheMarks: "content_and_tools", limits: { mostCacheMarks: 2 } },
    asked: { messages: [marked("a"), marked("b")] },
    to: "messages",
  },
  "limits.mostTools": {
    one: { limits: { mostTools: 1 } },
    other: { limits: { mostTools: 2 } },
    asked: { tools: [TOOL, STRICT] },
    to: "chat",
  },
  "limits.mostNameCharacters": {
    one: { limits: { mostNameCharacters: 16 } },
    other: { limits: { mostNameCharacters: 64 } },
    asked: {
      tools: [{
        ...TOOL,
        function: { ...TOOL.function, name: "a_name_of_a_tool_that_is_long" },
      }],
    },
    to: "chat",
  },
  tiers: {
    one: { tiers: ["auto", "priority"] },
    other: { tiers: [] },
    asked: { service_tier: "priority" },
  },
  cacheMarks: {
    one: { cacheMarks: "content" },
    other: { cacheMarks: "none" },
    asked: { messages: [marked("a")] },
  },
  continues: {
    one: { continues: true },
    other: { continues: false },
    asked: {
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
      ],
    },
    from: "messages",
    to: "chat",
  },
  names: {
    one: { names: true },
    other: { names: false },
    asked: { messages: [{ role: "user", name: "n", content: "a" }] },
    from: "chat",
    to: "chat",
  },
  citations: {
    one: { citations: true },
    other: { citations: false },
    asked: {
      messages: [{
        role: "user",
        content: [{
          type: "document",
          source: { type: "text", media_type: "text/plain", data: "a" },
          citations: { enabled: true },
        }],
      }],
    },
    from: "messages",
    to: "chat",
  },
  ...settingTrials(),
} satisfies Readonly<Record<FieldName, Trial>>;

function settingTrials(): Readonly<
  Record<`settings.${OptionalSetting}`, Trial>
> {
  const trial = (setting: OptionalSetting): Trial => {
    const { from = "chat", ...asked } = SETTINGS[setting];
    return {
      ...{ one: { settings: { [setting]: true } } },
      ...{ other: { settings: { [setting]: false } } },
      ...{ asked, from, to: "chat" },
    };
  };
  return {
    "settings.temperature": trial("temperature"),
    "settings.topP": trial("topP"),
    "settings.topK": trial("topK"),
    "settings.seed": trial("seed"),
    "settings.frequencyPenalty": trial("frequencyPenalty"),
    "settings.presencePenalty": trial("presencePenalty"),
    "settings.maxOutputTokens": trial("maxOutputTokens"),
    "settings.verbosity": trial("verbosity"),
    "settings.user": trial("user"),
    "settings.cacheKey": trial("cacheKey"),
    "settings.metadata": trial("metadata"),
    "settings.logprobs": trial("logprobs"),
    "settings.webSearch": trial("webSearch"),
    "settings.cacheOptions": trial("cacheOptions"),
    "settings.cacheRetention": trial("cacheRetention"),
    "settings.safetyIdentifier": trial("safetyIdentifier"),
  };
}

/** Returns the body, the dropped fields and the stops to cut at, or the error. */
function sent(
  { asked, from = "chat", to = "messages" }: Omit<Trial, "one" | "other">,
  ...ability: readonly (AbilityRow | undefined)[]
): unknown {
  try {
    const { body, dropped, cuts } = translateRequest(
      JSON.parse(hello(from, asked)),
      {
        ...{ from: CODECS[from], to: CODECS[to] },
        target: {
          ...{ service: "custom", model: "m", connectionId: "c", ability },
          maxOutputTokens: undefined,
        },
      },
    );
    return { body, dropped, cuts };
  } catch (error) {
    if (error instanceof GatewayError) return error.message;
    throw error;
  }
}

Deno.test("each field of a row changes a request", (t) =>
  steps(t, Object.entries<Trial>(TRIALS), ([name, trial]) => {
    const field = name.split(".").at(-1);
    const text = JSON.stringify([trial.one, trial.other]);
    assert.ok(text.includes(`"${field}":`), "the rows have the field");
    assert.notDeepEqual(sent(trial, trial.one), sent(trial, trial.other));
  }));

Deno.test("a later row replaces parts of an earlier one", () => {
  const trial = TRIALS["limits.mostOutputTokens"];
  const low: AbilityRow = {
    limits: { mostOutputTokens: 10 },
    sampling: { mostTemperature: 0.5 },
  };
  const body = sent(
    { asked: { ...trial.asked, temperature: 1 } },
    low,
    undefined,
    { limits: { mostOutputTokens: 15 } },
  );
  assert.deepEqual(
    body,
    sent({ asked: { ...trial.asked, temperature: 1 } }, {
      ...low,
      limits: { mostOutputTokens: 15 },
    }),
  );
});

Deno.test("no row grants a part that the protocol has no field for", (t) =>
  steps(
    t,
    OPTIONAL_SETTINGS.flatMap((setting) =>
      PROTOCOLS.map((to) => [`${setting} in ${to}`, setting, to] as const)
    ),
    ([, setting, to]) => {
      const { from: usual = "chat", ...asked } = SETTINGS[setting];
      // A protocol always passes on its own raw settings.
      const from = usual === "responses" && to === usual && isRaw(setting)
        ? "chat"
        : usual;
      const trial = { asked, from, to };
      const all = Object.fromEntries(
        OPTIONAL_SETTINGS.map((one) => [one, true]),
      );
      const row = ABILITY_ROWS.read({ settings: all });
      const none = ABILITY_ROWS.read({
        settings: { ...all, [setting]: false },
      });
      const { ability } = CODECS[to];
      const granted = ability({
        service: "custom",
        model: "m",
        ability: [row],
      });
      if (granted.settings[setting]) {
        assert.notDeepEqual(sent(trial, row), sent(trial, none));
      } else assert.deepEqual(sent(trial, row), sent(trial, none));
    },
  ));

Deno.test("rows that grant nothing new leave each ability as it is", (t) =>
  steps(t, PROTOCOLS, (protocol) => {
    const codec = CODECS[protocol];
    for (const service of ["custom", "openai", "anthropic", "zai", "codex"]) {
      const target = { service, model: "some-model" };
      const ability = codec.ability(target);
      assert.deepEqual(codec.ability({ ...target, ability: [{}] }), ability);
    }
  }));

function isRaw(setting: OptionalSetting): boolean {
  return setting.startsWith("cache") && setting !== "cacheKey" ||
    setting === "safetyIdentifier";
}

/** Returns a value of a field, and one that it rejects. */
function valuesOf(
  field: AbilityField,
): readonly [good: unknown, bad: unknown] {
  switch (field.kind) {
    case "flag":
      return [true, "true"];
    case "number":
      return [field.min, field.max + 1];
    case "word":
      return [field.words[0], "unknown"];
    case "words":
      return [field.words, ["unknown"]];
  }
}

Deno.test("ABILITY_ROWS.read() takes each field, and rejects other names and values", () => {
  for (const [name, entry] of Object.entries(ABILITY_ROWS.fields)) {
    const fields = "fields" in entry ? entry.fields : { [name]: entry };
    const rowOf = (row: object) => "fields" in entry ? { [name]: row } : row;
    for (const [key, field] of Object.entries(fields)) {
      const [good, bad] = valuesOf(field);
      const written = key.replaceAll(/[A-Z]/g, "_$&").toLowerCase();
      assert.deepEqual(
        ABILITY_ROWS.read(rowOf({ [written]: good })),
        rowOf({ [key]: good }),
      );
      assert.throws(
        () => ABILITY_ROWS.read(rowOf({ [written]: bad })),
        TypeError,
      );
    }
    assert.throws(() => ABILITY_ROWS.read(rowOf({ other: true })), TypeError);
  }
  assert.throws(() => ABILITY_ROWS.read({ protocol: "chat" }), TypeError);
});
