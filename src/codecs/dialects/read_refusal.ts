import type { JsonObject } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import type { Failure } from "../canonical/failure/failure.ts";
import { refusesReasoning } from "../canonical/failure/refusal.ts";
import { withoutQuotes } from "../canonical/failure/quoted_texts.ts";
import { concerns, narrowest } from "./apply_lessons.ts";
import { KEYWORDS, type Lesson, lessonText, OMITTABLE } from "./lessons.ts";
import {
  isIn,
  isNamed,
  isSchemaPath,
  mentionsIn,
  stepsOf,
} from "./refused_path.ts";
import { EFFORT_NAMES, readLessons } from "./read_lessons.ts";
import * as WORDS from "./refused_words.ts";

/*
 * Reads what a refusal means. The gateway knows the fields of the body that it sent, and which of them it may change. A
 * refusal is about a field when one sentence has both the field's name and a word of refusal.
 */

/** The fields of a failure from which lessons are read. */
type RefusalWords = Pick<
  Failure,
  "kind" | "status" | "message" | "param" | "code"
>;

/** The refusal of a field, as plain data. The gateway may change this field in later requests. */
export interface FieldRefusal extends RefusalWords {
  /**
   * True when the refusal depends on the rest of the request ("not supported when thinking is enabled") or concerns
   * only one picture. The lessons of such a refusal apply only to this request.
   */
  readonly isConditional: boolean;
}

/** What a refusal means for the next attempt. */
interface JudgedRefusal {
  /** True when the provider rejected earlier reasoning. Without that reasoning the request may succeed. */
  readonly isOfReasoning: boolean;
  /**
   * The refusal of a field or of pictures; absent if the failure is of any other kind. Some providers refuse pictures
   * with the status 404 or 500.
   */
  readonly field: FieldRefusal | undefined;
  /** Returns the lessons for requests of a protocol when the refused body is unknown. */
  lessonsFor(protocol: Protocol): readonly Lesson[];
}

/** Returns what a failure means for the next attempt. */
export function judgeRefusal(failure: RefusalWords): JudgedRefusal {
  const { kind, status, message, param, code } = failure;
  const words = { kind, status, message, param, code };
  return {
    isOfReasoning: refusesReasoning(failure),
    field: isFieldRefusal(words)
      ? { ...words, isConditional: isConditional(words) }
      : undefined,
    lessonsFor: (protocol) => lessonsIn(words, protocol),
  };
}

/** The longest message that is read, in characters. Even an error that names a hundred fields is shorter. */
const MAX_LENGTH = 16_000;

/** The most lessons that are taken from one error. */
const MAX_LESSONS = 8;

function isFieldRefusal(refusal: RefusalWords): boolean {
  const { status = 0, message } = refusal;
  if (message.length > MAX_LENGTH) return false;
  return isRequestError(refusal) ||
    isAboutContent(message) &&
      (status === 415 ||
        [404, 500].includes(status) && !isConditional(refusal));
}

function isRequestError(
  { kind, status = 0 }: Pick<RefusalWords, "kind" | "status">,
): boolean {
  return kind === "invalid_request" && (status === 400 || status === 422);
}

function isAboutContent(message: string): boolean {
  return WORDS.IMAGE_REGEXP.test(message) ||
    WORDS.TEXT_ONLY_REGEXP.test(message);
}

/** See {@linkcode FieldRefusal.isConditional}. */
function isConditional({ message }: RefusalWords): boolean {
  return isAboutContent(message)
    ? !WORDS.UNSUPPORTED_REGEXP.test(message) &&
      !WORDS.TEXT_ONLY_REGEXP.test(message)
    : WORDS.CONDITION_REGEXP.test(message) || WORDS.STRICT_REGEXP.test(message);
}

/**
 * Returns the lessons that a provider's refusal of a translated request teaches. Words that the error quotes from the
 * request do not count. If the error has a `param`, only the field that it names counts. If the error names nothing,
 * every field that may be left out is suspected.
 *
 * @param protocol The provider's protocol.
 * @param sent The body that the provider refused. Without it, no word of the error counts as a quotation.
 */
export function lessonsIn(
  refusal: RefusalWords,
  protocol: Protocol,
  sent: JsonObject = {},
): readonly Lesson[] {
  if (!isFieldRefusal(refusal)) return [];
  const { message, param = relayedParam(message, sent), code = "" } = refusal;
  // Some providers send a sentence in `param`.
  const isPath = !/\s/.test(param);
  const path = isPath ? stepsOf(param) : [];
  // If the message lists several faults, `param` names only the first fault.
  const isOneOf = message.startsWith(`${param}: `) &&
    /; [\w.]+: /.test(message);
  const isKnown = sent[path[0] ?? ""] !== undefined || isSchemaPath(path) ||
    Object.keys(sent).length === 0;
  const place = isKnown && !isOneOf ? path : [];
  const coded = /^un(?:supported|known|recognized)_/.test(code)
    ? `${message} (unsupported)`
    : message;
  const text = isPath ? coded : `${coded}: ${param}`;
  const read = (words: string) =>
    readLessons({ text: words, place, protocol, sent });
  const named = read(text);
  if (named.length === 0) {
    const isCompiled = WORDS.COMPILED_REGEXP.test(text);
    const isPlain = isRequestError(refusal) &&
      (isCompiled || namesNothing(text, protocol, sent)) &&
      withoutQuotes(text, sent, isCompiled ? /(?!)/ : /./) === text;
    return isPlain ? suspects(protocol, sent) : [];
  }
  const own = withoutQuotes(text, sent, namesOf(named));
  const lessons = (own === text ? named : read(own)).filter((lesson) =>
    (lesson.move === "mention" || isRequestError(refusal)) &&
    (place.length === 0 || isIn(place, lesson))
  );
  const distinct = new Map(lessons.map((one) => [lessonText(one), one]));
  return [...distinct.values()].slice(0, MAX_LESSONS);
}

/** Returns the `param` of an error that a relay quotes in its own message, or "" if the message quotes no `param`. */
function relayedParam(message: string, sent: JsonObject): string {
  const params = /^(?:litellm\.\w+: |\w+Exception - )/.test(message)
    ? [
      ...withoutQuotes(message, sent, /param/).matchAll(
        /["']param["']: ?["']([\w.[\]]+)["']/g,
      ),
    ]
    : [];
  return params.at(-1)?.[1] ?? "";
}

/**
 * Returns a lesson for each part of a body that may be left out. Each of these parts may be the cause of the refusal.
 */
function suspects(protocol: Protocol, sent: JsonObject): readonly Lesson[] {
  // Without `stream_options`, a stream may lack the usage.
  const fields = (OMITTABLE[protocol] ?? [])
    .filter((field) => field !== "stream_options")
    .map((field) =>
      ({ move: "omit", field, words: [], cause: "suspected" }) as const
    );
  const keywords = KEYWORDS.map((field) =>
    ({ move: "describe", field, words: [], cause: "suspected" }) as const
  );
  return [...fields, ...keywords].flatMap((one) => {
    const narrow = narrowest(one, sent);
    return narrow === one ? [one] : [narrow, one];
  }).filter((one) => concerns(one, sent));
}

/** Returns true when a refusal names no part of the request. */
function namesNothing(
  text: string,
  protocol: Protocol,
  sent: JsonObject,
): boolean {
  const fields = OMITTABLE[protocol] ?? [];
  return !WORDS.SUBJECT_REGEXP.test(
    text.replace(WORDS.REFERENCE_REGEXP, ""),
  ) &&
    !mentionsIn(text).some((path) =>
      sent[path[0] ?? ""] !== undefined ||
      EFFORT_NAMES.includes(path[0] ?? "") ||
      fields.some((field) => isNamed(field, path))
    );
}

/**
 * Returns a pattern that matches the names of the lessons' fields in an error. Keywords are left out, because every
 * schema has some keywords.
 */
function namesOf(lessons: readonly Lesson[]): RegExp {
  const steps = lessons.filter(({ move }) => move !== "describe")
    .flatMap(({ field }) => field.split(/[.[\]]+/));
  const words = steps.filter((step) => /^\w/.test(step))
    .map((step) => step.replaceAll("_", "_?"));
  return new RegExp(["reasoning", "thinking", ...words].join("|"), "i");
}
