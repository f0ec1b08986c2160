import { lookup, wordList } from "../../core/collections.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Protocol } from "../../core/protocol.ts";
import type { Failure } from "../canonical/failure/failure.ts";
import { withoutQuotes } from "../canonical/failure/quoted_texts.ts";
import {
  type RefusedField,
  type RefusedFields,
  refusedFields,
  stepsOf,
} from "../canonical/failure/refused_fields.ts";
import { ALL_EFFORTS, type EffortWord } from "./effort.ts";

/*
 * What a refusal teaches. A lesson is a row of a dialect that the gateway has found out by itself
 * (docs/translation.md#a-refusal-teaches). The tables are closed: a lesson holds nothing that a provider wrote, only
 * names of these tables. No lesson changes the conversation's text, a tool's name or result, or an amount that the
 * caller set as a limit.
 */

/** A change that a connection's model needs in translated requests. */
export interface Lesson {
  /**
   * - `omit`: leave the field out, or only beside the field in `words`.
   * - `respell`: write the field, or the role, as the only one of `words`.
   * - `nearest`: replace an effort by the nearest of `words`.
   * - `clamp`: lower a limit that the gateway itself chose to the number in `words`.
   * - `describe`: move the keyword of schemas into the description beside it.
   * - `mention`: replace content of the kind, in earlier messages and results, by a text that mentions it.
   */
  readonly move:
    | "omit"
    | "respell"
    | "nearest"
    | "clamp"
    | "describe"
    | "mention";
  readonly field: string;
  readonly words: readonly string[];
  /** True when it concerns strict tools and formats alone; absent for others. */
  readonly isStrict?: true | undefined;
}

/**
 * The fields that may be left out, by the provider's protocol. Callers lose at most a preference by it, as with the rows
 * of known providers. `store`, `n`, `logprobs`, formats, tools and limits are not among them, because callers would
 * miss those.
 */
const OMITTABLE: Partial<Readonly<Record<Protocol, readonly string[]>>> = {
  chat: wordList(`
    temperature top_p top_k seed random_seed frequency_penalty
    presence_penalty stop reasoning_effort reasoning.effort reasoning thinking
    verbosity service_tier user safety_identifier metadata prompt_cache_key
    prompt_cache_retention prompt_cache_options parallel_tool_calls
    stream_options messages[].reasoning_content messages[].reasoning
    messages[].reasoning_details messages[].name
    messages[].content[].cache_control tools[].cache_control
    messages[].cache_control cache_control
    messages[].content[].prompt_cache_breakpoint tools[].function.strict
  `),
  responses: wordList(`
    temperature top_p reasoning.effort reasoning.summary reasoning
    text.verbosity service_tier user safety_identifier metadata
    prompt_cache_key prompt_cache_retention prompt_cache_options truncation
    parallel_tool_calls stream_options include
    input[].content[].prompt_cache_breakpoint tools[].strict
  `),
  messages: wordList(`
    temperature top_p top_k stop_sequences metadata thinking
    output_config.effort service_tier system[].cache_control
    messages[].content[].cache_control tools[].cache_control cache_control
    tools[].strict tools[].eager_input_streaming
  `),
};

/** The fields with an effort. Some providers call it `reasoning` in their errors. */
const EFFORT_FIELD: Partial<Readonly<Record<Protocol, string>>> = {
  chat: "reasoning_effort",
  responses: "reasoning.effort",
  messages: "output_config.effort",
};

const EFFORT_FIELDS: readonly string[] = Object.values(EFFORT_FIELD);

/** Fields and roles with two spellings of one meaning. */
const OTHER_SPELLING: Readonly<Record<string, string>> = {
  max_tokens: "max_completion_tokens",
  max_completion_tokens: "max_tokens",
  developer: "system",
  system: "developer",
};

/** The keywords of JSON Schema that only narrow a value. The model also understands them in words. */
const KEYWORDS = wordList(`
  pattern format minLength maxLength minimum maximum exclusiveMinimum
  exclusiveMaximum multipleOf minItems maxItems uniqueItems minContains
  maxContains contains minProperties maxProperties propertyNames
  patternProperties additionalProperties unevaluatedProperties
  unevaluatedItems additionalItems dependentRequired dependentSchemas default
  examples const contentEncoding contentMediaType title deprecated readOnly
  writeOnly $schema $id $comment
`);

/** The kinds of content that a model may not take, by the providers' names of their parts. */
const CONTENT_KINDS: Readonly<Record<string, string>> = {
  image_url: "image",
  input_image: "image",
  image: "image",
  file: "file",
  input_file: "file",
  document: "file",
};

/** The efforts of all protocols. */
export const EFFORT_WORDS: readonly EffortWord[] = ["none", ...ALL_EFFORTS];

/** The most lessons of one error. */
const MAX_LESSONS = 8;

/** The part of a failure that teaches, as plain data. */
export type FieldRefusal = Pick<
  Failure,
  "kind" | "status" | "message" | "param"
>;

/** Returns true when a failure may be the refusal of a field. */
export function isFieldRefusal({ kind, status }: FieldRefusal): boolean {
  return kind === "invalid_request" && (status === 400 || status === 422);
}

/**
 * Returns the lessons of a provider's refusal of a translated request; none when it names no field that the gateway
 * may change. What the error quotes of the request teaches nothing. Where the error has a `param`, only that field does.
 *
 * @param protocol The provider's protocol.
 * @param sent The body that the provider refused; without it, nothing in the error counts as a quotation.
 */
export function lessonsIn(
  refusal: FieldRefusal,
  protocol: Protocol,
  sent: JsonObject = {},
): readonly Lesson[] {
  if (!isFieldRefusal(refusal)) return [];
  const { message, param } = refusal;
  const named = lessonsNamed(message, param, protocol);
  if (named.length === 0) return [];
  const own = withoutQuotes(message, sent, namesOf(named));
  const place = stepsOf(param).map(inSnakeCase);
  const isPlace = sent[place[0] ?? ""] !== undefined;
  const lessons = lessonsNamed(own, param, protocol)
    .filter((lesson) => !isPlace || isIn(place, lesson));
  const distinct = new Map(lessons.map((one) => [lessonText(one), one]));
  return [...distinct.values()].slice(0, MAX_LESSONS);
}

function lessonsNamed(
  message: string,
  param: string | undefined,
  protocol: Protocol,
): readonly Lesson[] {
  const refusal = refusedFields({ message, param });
  const lessons = refusal.fields.flatMap((field) =>
    lessonOf(field, refusal, protocol) ?? []
  );
  const { maxTokens } = refusal;
  if (protocol === "messages" && maxTokens !== undefined) {
    const words = [String(maxTokens)];
    lessons.push({ move: "clamp", field: "max_tokens", words });
  }
  return lessons;
}

/** Returns a pattern for the names by which an error may mean the fields of lessons. Keywords are in each schema. */
function namesOf(lessons: readonly Lesson[]): RegExp {
  const steps = lessons.filter(({ move }) => move !== "describe")
    .flatMap(({ field }) => field.split(/[.[\]]+/));
  const words = steps.filter((step) => /^\w/.test(step))
    .map((step) => step.replaceAll("_", "_?"));
  return new RegExp(["reasoning", "thinking", ...words].join("|"), "i");
}

/** Returns true when an error about a place of the body may mean the field of a lesson. */
function isIn(place: readonly string[], { move, field }: Lesson): boolean {
  const [first = ""] = place;
  if (move === "describe") return isSchemaPath(place);
  const isMessage = ["messages", "input", "contents"].includes(first);
  if (move === "mention") return isMessage;
  if (move === "respell" && !field.startsWith("max_")) return isMessage;
  const steps = field.split(".").map((step) => step.replace("[]", ""));
  const [name, other] = [steps.join("_"), place.join("_")];
  return name === other || name.startsWith(`${other}_`) ||
    other.startsWith(`${name}_`) ||
    steps[0] === first && steps.at(-1) === place.at(-1);
}

/**
 * Returns true when a refusal depends on the rest of the request, such as "not supported when thinking is enabled". Its
 * lessons hold for that request alone.
 */
export function isConditional({ message }: FieldRefusal): boolean {
  return CONDITION_REGEXP.test(message);
}

const CONDITION_REGEXP =
  /\b(?:when|while|if|unless|together with|in combination|tools with reasoning_effort)\b/i;

function lessonOf(
  { path, isUnknown, beside }: RefusedField,
  { accepted, refused, isForAll }: RefusedFields,
  protocol: Protocol,
): Lesson | undefined {
  const [first = ""] = path;
  const last = path.at(-1) ?? "";
  const isSpelling = path.length === 1 && isUnknown && protocol === "chat" &&
    first.startsWith("max_");
  const other = isSpelling ? lookup(OTHER_SPELLING, first) : undefined;
  if (other !== undefined) {
    return { move: "respell", field: first, words: [other] };
  }
  if (last === "role") return roleLesson(refused, accepted);
  if (isKeywordOf(path)) {
    return isUnknown ? { move: "describe", field: last, words: [] } : undefined;
  }
  const omittable = OMITTABLE[protocol] ?? [];
  const field = omittable.find((one) => isNamed(one, path));
  if (field === undefined) return contentLesson(first, refused, accepted);
  const listsEfforts = EFFORT_WORDS.some((word) => accepted.includes(word));
  const effort = field === "reasoning" && listsEfforts
    ? EFFORT_FIELD[protocol] ?? field
    : field;
  if (EFFORT_FIELDS.includes(effort) && !isUnknown) {
    const lesson = effortLesson(effort, refused, accepted);
    if (lesson !== undefined) return lesson;
  }
  // One caller's bad value must not take the field from all others. Stop strings are cut by the gateway.
  const isLasting = isUnknown || isForAll || field.startsWith("stop");
  if (!isLasting) return undefined;
  if (beside === undefined) return { move: "omit", field, words: [] };
  return omittable.includes(beside)
    ? { move: "omit", field, words: [beside] }
    : undefined;
}

function roleLesson(
  [refused = ""]: readonly string[],
  accepted: readonly string[],
): Lesson | undefined {
  const other = lookup(OTHER_SPELLING, refused);
  const isAccepted = accepted.length === 0 || accepted.includes(other ?? "");
  return other === undefined || !isAccepted
    ? undefined
    : { move: "respell", field: refused, words: [other] };
}

function effortLesson(
  field: string,
  refused: readonly string[],
  accepted: readonly string[],
): Lesson | undefined {
  const listed = EFFORT_WORDS.filter((word) =>
    accepted.includes(word) && !refused.includes(word)
  );
  const words = listed.length > 0
    ? listed
    : EFFORT_WORDS.filter((word) => !refused.includes(word));
  return words.length === EFFORT_WORDS.length
    ? undefined
    : { move: "nearest", field, words };
}

/** Returns a lesson when the provider accepts text alone in the place of another kind of content. */
function contentLesson(
  first: string,
  [refused = ""]: readonly string[],
  accepted: readonly string[],
): Lesson | undefined {
  const kind = lookup(CONTENT_KINDS, refused);
  const isContent = first === "messages" || first === "input";
  return isContent && kind !== undefined && accepted.includes("text")
    ? { move: "mention", field: kind, words: [] }
    : undefined;
}

/** Returns true for a keyword alone, or at the end of a path into a tool or a schema. */
function isKeywordOf(path: readonly string[]): boolean {
  if (!KEYWORDS.includes(path.at(-1) ?? "")) return false;
  return path.length === 1 || isSchemaPath(path.slice(0, -1));
}

/** Returns true for the path of a tool, a format or a schema. */
function isSchemaPath(path: readonly string[]): boolean {
  return path[0] === "tools" ||
    path.some((step) =>
      ["parameters", "format"].includes(step) || step.endsWith("schema")
    );
}

/**
 * Returns true when an error's path names the field: its last name alone, its whole name in any spelling, or a path
 * through it, such as `messages.assistant.reasoning_content` or `thinking.enabled.budget_tokens`.
 */
function isNamed(field: string, path: readonly string[]): boolean {
  const steps = field.split(".").map((step) => step.replace("[]", ""));
  const named = path.map(inSnakeCase);
  if (named.join("_") === steps.join("_")) return true;
  if (named.length === 1) return named[0] === steps.at(-1);
  let at = -1;
  return steps.every((step, index) => {
    at = named.indexOf(step, at + 1);
    return at !== -1 && (index > 0 || at === 0);
  });
}

function inSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns a lesson in words, for the log: `omit temperature`, `nearest reasoning_effort: low, high`. */
export function lessonText({ move, field, words, isStrict }: Lesson): string {
  if (move === "omit" && words.length > 0) {
    return `omit ${field} beside ${words.join()}`;
  }
  const where = isStrict ? " of strict tools" : "";
  return words.length === 0
    ? `${move} ${field}${where}`
    : `${move} ${field}: ${words.join(", ")}`;
}

/** Returns the text that is the same for two lessons of which the later one counts. */
export function subjectOf(lesson: Lesson): string {
  return lessonText(
    lesson.move === "omit" ? lesson : { ...lesson, words: [] },
  );
}

/** Returns earlier and later lessons. Of two about the same subject, the later one counts. */
export function merged(
  earlier: readonly Lesson[],
  later: readonly Lesson[],
): readonly Lesson[] {
  const subjects = new Set(later.map(subjectOf));
  return [...earlier.filter((one) => !subjects.has(subjectOf(one))), ...later];
}

/** Returns true when a value from another gateway is a lesson of these tables. */
export function isLesson(value: unknown): value is Lesson {
  if (typeof value !== "object" || value === null) return false;
  if (!("move" in value && "field" in value && "words" in value)) return false;
  const { move, field, words } = value;
  if (typeof field !== "string" || !Array.isArray(words)) return false;
  if ("isStrict" in value && value.isStrict !== true) return false;
  switch (move) {
    case "omit":
      return words.length <= 1 &&
        Object.values(OMITTABLE).some((fields) =>
          [field, ...words].every((one) => fields.includes(one))
        );
    case "respell":
      return words.length === 1 && lookup(OTHER_SPELLING, field) === words[0];
    case "nearest":
      return EFFORT_FIELDS.includes(field) && words.length > 0 &&
        words.length <= EFFORT_WORDS.length &&
        words.every((word) => EFFORT_WORDS.includes(word));
    case "clamp":
      return field === "max_tokens" && words.length === 1 &&
        /^\d{2,7}$/.test(String(words[0]));
    case "describe":
      return words.length === 0 && KEYWORDS.includes(field);
    case "mention":
      return words.length === 0 &&
        Object.values(CONTENT_KINDS).includes(field);
    default:
      return false;
  }
}
