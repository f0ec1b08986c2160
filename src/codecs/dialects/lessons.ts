import { lookup, wordList } from "@gateway/base/collections";
import type { Protocol } from "@gateway/base/protocol";
import { EFFORT_WORDS } from "../canonical/request/effort.ts";

/*
 * What a refusal teaches. A lesson is a row of a dialect that the gateway has found out by itself
 * (docs/translation.md#a-refusal-teaches). The tables are closed: a lesson holds nothing that a provider wrote, only
 * names of these tables. No lesson changes the conversation's text, a tool's name or result, or an amount that the
 * caller set as a limit.
 */

/** A change that a connection's model needs in translated requests. */
export interface Lesson {
  /**
   * - `omit`: leave the field out, always or only beside the field in `words`.
   * - `respell`: write the name of the field, or the role, as the only entry of `words`.
   * - `nearest`: replace an effort by the nearest of `words`.
   * - `clamp`: lower the limit of the answer to the number in `words`.
   * - `describe`: move the keyword of schemas into the description beside it.
   * - `mention`: replace content of the kind, in earlier messages and results, by a text that mentions it.
   * - `disable`: switch thinking off. It may be on by default, so leaving the field out is not enough.
   * - `stream`: always request a stream.
   * - `plain`: do not leave out all suspected fields, because a body without them was refused, too.
   * - `rename`: send names of tools of only letters, digits and `_`, and at most as long as `words` says. The gateway
   *   learns this by a trial, never from a refusal.
   */
  readonly move:
    | "omit"
    | "respell"
    | "nearest"
    | "clamp"
    | "describe"
    | "mention"
    | "disable"
    | "stream"
    | "plain"
    | "rename";
  readonly field: string;
  readonly words: readonly string[];
  /** True when the lesson applies only to strict tools and formats; absent for other lessons. */
  readonly isStrict?: true | undefined;
  /**
   * Set if the refusal named no field. `suspected` until a later request shows that this field was the cause, then
   * `found`.
   */
  readonly cause?: "suspected" | "found" | undefined;
}

/**
 * The fields that may be left out, by the provider's protocol. If such a field is left out, the caller loses at most a
 * preference. `store`, `n`, `logprobs`, formats, tools and limits are not listed, because callers need them.
 */
export const OMITTABLE: Partial<Readonly<Record<Protocol, readonly string[]>>> =
  {
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

/** The field with the effort, by protocol. In their errors, some providers call this field `reasoning`. */
export const EFFORT_FIELD: Partial<Readonly<Record<Protocol, string>>> = {
  chat: "reasoning_effort",
  responses: "reasoning.effort",
  messages: "output_config.effort",
};

export const EFFORT_FIELDS: readonly string[] = Object.values(EFFORT_FIELD);

/** The other spelling of fields and roles that have two spellings. */
export const OTHER_SPELLING: Readonly<Record<string, string>> = {
  max_tokens: "max_completion_tokens",
  max_completion_tokens: "max_tokens",
  developer: "system",
  system: "developer",
};

/** The keywords of JSON Schema that only narrow a value. Words in a description can replace such a keyword. */
export const KEYWORDS = wordList(`
  pattern format minLength maxLength minimum maximum exclusiveMinimum
  exclusiveMaximum multipleOf minItems maxItems uniqueItems minContains
  maxContains contains minProperties maxProperties propertyNames
  patternProperties additionalProperties unevaluatedProperties
  unevaluatedItems additionalItems dependentRequired dependentSchemas default
  examples const contentEncoding contentMediaType title deprecated readOnly
  writeOnly $schema $id $comment
`);

/** The kinds of content that a model may not take, by the types of their parts in requests. */
export const CONTENT_KINDS: Readonly<Record<string, string>> = {
  image_url: "image",
  input_image: "image",
  image: "image",
  file: "file",
  input_file: "file",
  document: "file",
};

/** The fields with the limit of an answer. */
export const LIMIT_FIELDS: readonly string[] = [
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
];

/**
 * The `field` of the lesson about prefills. A prefill is the beginning of an answer that the model should continue. The
 * gateway learns this lesson by a trial, never from a refusal.
 */
export const PREFILL = "prefill";

/**
 * Returns the lessons about suspected fields in the first part of the request that has such fields. The fields of this
 * part are sent again together.
 */
export function probeOf(lessons: readonly Lesson[]): readonly Lesson[] {
  const part = ({ move, field }: Lesson) =>
    move === "omit" ? field.split(/[_.[]/, 1)[0] : move;
  const suspects = lessons.filter(({ cause }) => cause === "suspected");
  return suspects.filter((one, _at, [first = one]) =>
    part(one) === part(first)
  );
}

/** Returns a lesson in words, for the log: `omit temperature`, `nearest reasoning_effort: low, high`. */
export function lessonText(lesson: Lesson): string {
  const { move, words, cause } = lesson;
  const beside = move === "omit" ? "" : `: ${words.join(", ")}`;
  return subjectOf(lesson) + (words.length === 0 ? "" : beside) +
    (cause === undefined ? "" : ` (${cause})`);
}

const LESSON_REGEXP =
  /^(?<move>\w+) (?<field>\S+?)(?: beside (?<beside>\S+?))?(?<strict> of strict tools)?(?:: (?<words>.+))?$/;

/** Parses the text of {@linkcode lessonText}. Returns `undefined` if the tables do not allow this lesson. */
export function readLesson(text: string): Lesson | undefined {
  const { move, field, beside, strict, words = beside } =
    LESSON_REGEXP.exec(text)?.groups ?? {};
  const lesson = {
    ...{ move, field, words: words?.split(", ") ?? [] },
    ...(strict === undefined ? {} : { isStrict: true }),
  };
  return isLesson(lesson) ? lesson : undefined;
}

/** Returns the subject of a lesson as text. If two lessons have the same subject, only one of the two is kept. */
export function subjectOf({ move, field, words, isStrict }: Lesson): string {
  const beside = move === "omit" && words.length > 0
    ? ` beside ${words.join()}`
    : "";
  return `${move} ${field}${beside}${isStrict ? " of strict tools" : ""}`;
}

const CAUSES: readonly unknown[] = ["suspected", "found"];

/** Returns true when a value from another gateway is a lesson that these tables allow. */
export function isLesson(value: unknown): value is Lesson {
  if (typeof value !== "object" || value === null) return false;
  if (!("move" in value && "field" in value && "words" in value)) return false;
  const { move, field, words } = value;
  if (typeof field !== "string" || !Array.isArray(words)) return false;
  if ("isStrict" in value && value.isStrict !== true) return false;
  if ("cause" in value && !CAUSES.includes(value.cause)) return false;
  switch (move) {
    case "omit":
      return field === PREFILL && words.length === 0 || words.length <= 1 &&
          Object.values(OMITTABLE).some((fields) =>
            [field, ...words].every((one) => fields.includes(one))
          );
    case "respell":
      return words.length === 1 && lookup(OTHER_SPELLING, field) === words[0];
    case "nearest":
      return EFFORT_FIELDS.includes(field) && words.length > 0 &&
        words.length <= EFFORT_WORDS.length &&
        words.every((word) => EFFORT_WORDS.includes(word));
    case "rename":
      return field === "tools" && words.length === 1 &&
        /^[1-9]\d{1,2}$/.test(String(words[0]));
    case "plain":
      return field === "body" && words.length === 0 && "cause" in value;
    case "disable":
      return field === "thinking" && words.length === 0;
    case "stream":
      return field === "stream" && words.length === 0;
    case "clamp":
      return LIMIT_FIELDS.includes(field) && words.length === 1 &&
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
