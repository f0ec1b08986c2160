import { EFFORT_WORDS } from "../canonical/request/effort.ts";
import {
  EFFORT_FIELDS,
  KEYWORDS,
  type Lesson,
  lessonText,
  LIMIT_FIELDS,
  PREFILL,
  readLesson,
  subjectOf,
} from "./lessons.ts";

/** Joins earlier and later lessons. If two lessons have the same subject, the later lesson is kept. */
export function merged(
  earlier: readonly Lesson[],
  later: readonly Lesson[],
): readonly Lesson[] {
  const subjects = new Set(later.map(subjectOf));
  return [...earlier.filter((one) => !subjects.has(subjectOf(one))), ...later];
}

/** Joins earlier and later lessons. If two lessons have the same subject, the stricter lesson is kept. */
export function strictest(
  earlier: readonly Lesson[],
  later: readonly Lesson[],
): readonly Lesson[] {
  return merged(
    earlier,
    later.map((one) => {
      const known = earlier.find((two) => subjectOf(two) === subjectOf(one));
      return known === undefined ? one : stricter(known, one);
    }),
  );
}

/**
 * Returns the stricter of two lessons about one subject. If both list efforts, only the efforts in both lists remain,
 * because an error may name only one of the refused efforts.
 */
function stricter(earlier: Lesson, later: Lesson): Lesson {
  if (later.move === "clamp") {
    return Number(earlier.words[0]) < Number(later.words[0]) ? earlier : later;
  }
  if (later.move !== "nearest") return later;
  const words = later.words.filter((word) => earlier.words.includes(word));
  return words.length === 0 ? later : { ...later, words };
}

/**
 * Returns the lesson about one subject that at least two callers have learned, or `undefined` if there is no such
 * lesson.
 *
 * @param lessons One lesson for each caller who has learned about the subject.
 */
export function agreed(lessons: readonly Lesson[]): Lesson | undefined {
  // Two refusals that named nothing may have had different causes.
  const named = lessons.filter(({ cause }) => cause === undefined);
  const [first, second] = named;
  if (first === undefined || second === undefined) return undefined;
  if (first.move === "clamp") {
    const [, limit = ""] = named.map(({ words }) => Number(words[0]))
      .sort((one, other) => one - other).map(String);
    return { ...first, words: [limit] };
  }
  if (first.move !== "nearest") return first;
  const words = EFFORT_WORDS.filter((word) =>
    named.filter((one) => !one.words.includes(word)).length < 2
  );
  return words.length === EFFORT_WORDS.length || words.length === 0
    ? undefined
    : { ...first, words };
}

/**
 * Returns the options of a model that make lessons permanent.
 *
 * @param omit The fields that the configuration of the model already omits.
 */
export function configLine(
  lessons: readonly Lesson[],
  omit: readonly string[] = [],
): string {
  const isOmitted = ({ move, field, words, isStrict }: Lesson) =>
    move === "omit" && words.length === 0 && !isStrict && field !== PREFILL;
  const omitted = lessons.filter(isOmitted).map(({ field }) => field);
  const limits = lessons.filter(({ move }) => move === "clamp")
    .map(({ words }) => Number(words[0]));
  const others = lessons.filter((one) =>
    !isOmitted(one) && one.move !== "clamp"
  );
  return [
    ...listOption("omit", omitted.length === 0 ? [] : [...omit, ...omitted]),
    ...(limits.length === 0
      ? []
      : [`max_output_tokens: ${Math.min(...limits)}`]),
    ...listOption("lessons", others.map(lessonText)),
  ].join(", ");
}

function listOption(name: string, values: readonly string[]): string[] {
  const texts = [...new Set(values)].map((value) =>
    /^\w[\w.]*$/.test(value) ? value : JSON.stringify(value)
  );
  return texts.length === 0 ? [] : [`${name}: [${texts.join(", ")}]`];
}

/** The limits to try when a provider refuses a limit and names no lower limit. */
const LOWER_LIMITS = [32_768, 16_384, 8192, 4096];

/**
 * The lessons to try, as text, for each feature that a provider may refuse without naming it. Each feature has several
 * lists of lessons, which are tried one after another.
 */
const REMEDIES = {
  temperature: [["omit temperature"]],
  stop: [["omit stop", "omit stop_sequences"]],
  limit: LOWER_LIMITS.map((most) =>
    LIMIT_FIELDS.map((field) => `clamp ${field}: ${most}`)
  ),
  pictures: [["mention image"]],
  prefill: [["omit prefill"]],
  strict: [
    ["tools[].function.strict", "tools[].strict"].map((field) =>
      `omit ${field} of strict tools`
    ),
  ],
  keywords: [KEYWORDS.map((keyword) => `describe ${keyword}`)],
  names: [64, 32].map((length) => [`rename tools: ${length}`]),
} as const satisfies Readonly<Record<string, readonly (readonly string[])[]>>;

/**
 * Returns lists of lessons that may avoid the refusal of a feature. The caller tries one list after another.
 *
 * @param feature A feature of a request, or the effort that was refused.
 */
export function remediesFor(
  feature: keyof typeof REMEDIES | { readonly effort: string },
): readonly (readonly Lesson[])[] {
  const lists = typeof feature === "string"
    ? REMEDIES[feature]
    : [EFFORT_FIELDS.map((field) => {
      const others = EFFORT_WORDS.filter((word) => word !== feature.effort);
      return `nearest ${field}: ${others.join(", ")}`;
    })];
  return lists.map((texts) => texts.flatMap((text) => readLesson(text) ?? []));
}
