import { lookup } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
} from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import { omitField } from "./apply_lessons.ts";
import { EFFORT_WORDS } from "../canonical/request/effort.ts";
import {
  CONTENT_KINDS,
  EFFORT_FIELD,
  EFFORT_FIELDS,
  KEYWORDS,
  type Lesson,
  LIMIT_FIELDS,
  OMITTABLE,
  OTHER_SPELLING,
} from "./lessons.ts";
import {
  isIn,
  isNamed,
  isSchemaPath,
  mentionsIn,
  stepsOf,
  withPaths,
} from "./refused_path.ts";
import * as WORDS from "./refused_words.ts";

/** A refused request, and what the error says about it. */
interface Reading {
  /** The error's message. */
  readonly text: string;
  /** The path of the field that the error names outside of its message; empty if the error names no field there. */
  readonly place: readonly string[];
  readonly protocol: Protocol;
  readonly sent: JsonObject;
}

/**
 * Returns the lessons that a message teaches. The message may quote words of the request. Lessons from such words are
 * included.
 */
export function readLessons(reading: Reading): readonly Lesson[] {
  const { text, sent, protocol, place } = reading;
  const content = contentLessons(reading);
  if (content.length > 0) return content;
  const isOfOptions = /\bstream[ _]options\b/i.test(text);
  if (WORDS.STREAM_REGEXP.test(text) && !isOfOptions && sent.stream !== true) {
    return [{ move: "stream", field: "stream", words: [] }];
  }
  const limits = limitLessons(reading);
  if (limits.length > 0) return limits;
  const isOfMode = WORDS.MODE_REGEXP.test(text) && /tool_choice/.test(text);
  if (isOfMode && protocol === "chat" && WORDS.UNSUPPORTED_REGEXP.test(text)) {
    return [{ move: "disable", field: "thinking", words: [] }];
  }
  const omittable = OMITTABLE[protocol] ?? [];
  const whole = withPaths(text);
  if (WORDS.PAIR_REGEXP.test(whole)) {
    const pair = mentionsIn(whole).map((path) => path.join("."))
      .filter((name) =>
        omittable.includes(name) || LIMIT_FIELDS.includes(name)
      );
    const [beside, field, ...more] = new Set(pair);
    if (beside !== undefined && more.length === 0) {
      const isOurs = field !== undefined && omittable.includes(beside) &&
        omittable.includes(field);
      return isOurs ? [{ move: "omit", field, words: [beside] }] : [];
    }
  }
  const accepted: string[] = [];
  const rest = whole.replace(WORDS.ACCEPTED_REGEXP, (found, list: string) => {
    if (WORDS.BOUNDS_REGEXP.test(list)) return found;
    const [values = ""] = list.split(WORDS.LIST_END_REGEXP, 1);
    accepted.push(...values.toLowerCase().match(/[\w-]{1,32}/g) ?? []);
    return found.slice(0, -list.length) + list.slice(values.length);
  });
  const sentence = { ...reading, text: rest, whole, accepted };
  const named = rest.split(/(?<=[.!?])\s+|\n(?!\s)|[;。；]/).flatMap((text) => {
    const [head = ""] = text.split(WORDS.CONDITION_REGEXP, 1);
    const about = (part: string) =>
      mentionsIn(part)
        .flatMap((path) => lessonsOf(path, { ...sentence, text }));
    const found = about(head);
    return found.length > 0 ? found : about(text);
  });
  const isPlaced = place.length > 0 && !named.some((one) => isIn(place, one));
  const all = isPlaced ? [...named, ...lessonsOf(place, sentence)] : named;
  // An error about a keyword of strict schemas does not refuse `strict` itself.
  const hasKeyword = all.some(({ move }) => move === "describe");
  const found = all.filter(({ field }) =>
    !(hasKeyword && field.endsWith(".strict"))
  );
  if (found.length > 0) return found;
  if (accepted.includes("assistant")) return roleLessons(sentence);
  if (WORDS.STRICT_REGEXP.test(text) || WORDS.OUTPUTS_REGEXP.test(text)) {
    return omittable.filter((field) => field.endsWith(".strict"))
      .map((field) => ({ move: "omit", field, words: [] }));
  }
  // An error may name only the refused effort, but not its field.
  const isEffort = EFFORT_WORDS.some((word) => accepted.includes(word)) &&
    quotes(rest, String(effortValue(reading)));
  return isEffort ? effortLessons(sentence) : [];
}

/** A sentence of a refusal. */
interface Sentence extends Reading {
  /** The accepted values that the error lists. */
  readonly accepted: readonly string[];
  /** The whole message that the sentence belongs to. */
  readonly whole: string;
}

/** Returns the lessons about a field that a sentence names. */
function lessonsOf(
  path: readonly string[],
  sentence: Sentence,
): readonly Lesson[] {
  const { text, protocol, sent } = sentence;
  const last = path.at(-1) ?? "";
  const isRefused = WORDS.UNSUPPORTED_REGEXP.test(text);
  if (!isRefused && !WORDS.VALUE_REGEXP.test(text)) return [];
  if (last === "role") return roleLessons(sentence);
  const keyword = KEYWORDS.find((one) => stepsOf(one)[0] === last);
  if (keyword !== undefined && (path.length === 1 || isSchemaPath(path))) {
    const isMeant = isRefused || /is not a valid/.test(text);
    return isMeant ? [{ move: "describe", field: keyword, words: [] }] : [];
  }
  const other = protocol === "chat" && path.length === 1 &&
      last.startsWith("max_")
    ? lookup(OTHER_SPELLING, last)
    : undefined;
  if (other !== undefined) {
    const isOfField = isRefused && !WORDS.ILLEGAL_REGEXP.test(text);
    return isOfField ? [{ move: "respell", field: last, words: [other] }] : [];
  }
  const isEffort = EFFORT_NAMES.includes(last) ||
    EFFORT_NAMES.includes(path[0] ?? "");
  const effort = isEffort ? effortLessons(sentence) : [];
  if (effort.length > 0) return effort;
  const omittable = OMITTABLE[protocol] ?? [];
  const meant = omittable.filter((one) => isNamed(one, path));
  const held = meant.filter((one) => holds(sent, one));
  const field = held.find((one) => one === path.join(".")) ??
    held.find((one) => text.includes(one.split("[", 1)[0] ?? "")) ?? held[0];
  const others = isEffort && Object.keys(sent).length > 0
    ? omittable.filter((one) =>
      EFFORT_HOLDERS.includes(one) && holds(sent, one)
    )
    : meant.slice(0, 1);
  // The bad value of one caller must not remove the field for all callers. Stop strings may always be left out, because
  // the gateway cuts the answer at them.
  const isLasting = (isRefused || WORDS.FOR_ALL_REGEXP.test(text)) &&
    !WORDS.BOUNDS_REGEXP.test(text);
  return (field === undefined ? others : [field])
    .filter((one) =>
      isLasting || /^(?:stop|thinking\.type$)/.test(path.join(".")) ||
      one.startsWith("stop")
    )
    .map((one) => ({ move: "omit", field: one, words: [] }));
}

/** The names that errors use for the field of the effort. */
export const EFFORT_NAMES = [
  ...["effort", "reasoning_effort", "reasoning", "thinking", "think"],
  ...["enable_thinking", "thinking_budget", "output_config"],
];

/** The fields that request reasoning. */
const EFFORT_HOLDERS = [
  ...["reasoning_effort", "reasoning.effort", "reasoning", "thinking"],
  "output_config.effort",
];

/** Returns the effort in the body that was sent. */
function effortValue({ sent }: Pick<Reading, "sent">): JsonValue | undefined {
  return sent.reasoning_effort ?? objectOf(sent.reasoning).effort ??
    objectOf(sent.output_config).effort;
}

function holds(body: JsonObject, field: string): boolean {
  return omitField(body, field) !== body;
}

function effortLessons(
  { text, whole, accepted, protocol, sent }: Sentence,
): readonly Lesson[] {
  const field = EFFORT_FIELDS.find((one) => holds(sent, one)) ??
    EFFORT_FIELD[protocol];
  const value = effortValue({ sent });
  const listed = EFFORT_WORDS.filter((word) => accepted.includes(word));
  const isListed = listed.some((one) => one === value);
  const isWhole = listed.length === 0 && WORDS.NO_EFFORT_REGEXP.test(text);
  if (field === undefined || isListed || isWhole) return [];
  // If the list names no effort but `default`, leaving the field out is the nearest choice.
  if (accepted.includes("default") && listed.every((one) => one === "none")) {
    return [{ move: "omit", field, words: [] }];
  }
  const refused = EFFORT_WORDS.filter((word) =>
    (value === undefined || word === value) && quotes(text, word)
  );
  const isValue = listed.length > 0 ||
    refused.length > 0 && WORDS.EFFORT_REGEXP.test(whole);
  const words = (listed.length > 0 ? listed : EFFORT_WORDS)
    .filter((word) => !refused.includes(word));
  return isValue && words.length > 0 ? [{ move: "nearest", field, words }] : [];
}

function roleLessons({ text, accepted, sent }: Sentence): readonly Lesson[] {
  const messages = listOf(sent.messages ?? sent.input).map(objectOf);
  // An error that names no role means the newest role: `developer`.
  const isNewest =
    /^(?!.*\b(?:user|assistant|tool)\b).*\b(?:value|unexpected)\b/is
      .test(text) && messages.some(({ role }) => role === "developer");
  const field = /\b(?:developer|system)\b/.exec(text)?.[0] ??
    (isNewest ? "developer" : "");
  const other = lookup(OTHER_SPELLING, field);
  const isAccepted = accepted.length === 0 || accepted.includes(other ?? "");
  const isSent = messages.length === 0 ||
    messages.some(({ role }) => role === field);
  return other === undefined || !isAccepted || !isSent
    ? []
    : [{ move: "respell", field, words: [other] }];
}

/**
 * Returns lessons for the kinds of content in messages that the provider does not accept, because it accepts only text.
 */
function contentLessons({ text, sent }: Reading): readonly Lesson[] {
  const isTextOnly = WORDS.TEXT_ONLY_REGEXP.test(text);
  const kinds = contentKinds([sent.messages ?? null, sent.input ?? null]);
  return kinds.filter((kind) =>
    isTextOnly ||
    (kind === "image" ? WORDS.IMAGE_REGEXP : WORDS.FILE_REGEXP).test(text)
  ).map((kind) => ({ move: "mention", field: kind, words: [] }));
}

/** Returns the kinds of content in messages, such as `image`. Text is not among them. */
function contentKinds(value: JsonValue): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = isJsonObject(value) && lookup(CONTENT_KINDS, String(value.type));
  const inner = Object.values(value).flatMap((one) =>
    contentKinds(one ?? null)
  );
  return own ? [own, ...inner] : inner;
}

/** Returns a lesson that lowers the limit of an answer, if the error states a number below the limit that was sent. */
function limitLessons({ text, place, sent }: Reading): readonly Lesson[] {
  const field = LIMIT_FIELDS.find((one) => sent[one] !== undefined);
  const limit = field === undefined ? undefined : sent[field];
  const isMeant = WORDS.LIMIT_REGEXP.test(text) || place[0] === field;
  if (field === undefined || typeof limit !== "number" || !isMeant) return [];
  const about = text.slice(Math.max(0, text.search(WORDS.LIMIT_REGEXP) - 60));
  const highest = WORDS.HIGHEST_REGEXPS.flatMap((
    pattern,
  ) => [...about.matchAll(new RegExp(pattern, "gi"))]).filter(
    ({ 0: found, index }) => {
      const [before = ""] = about.slice(0, index).split(/[.;:,]\s/).slice(-1);
      const [after = ""] = about.slice(index + found.length).split(/[.;,]/, 1);
      return !WORDS.OTHER_LIMIT_REGEXP.test(before + found + after);
    },
  ).map(({ groups }) => Number(groups?.most ?? Number(groups?.past) - 1))
    .find((most) => most < limit && most >= 16);
  return highest === undefined
    ? []
    : [{ move: "clamp", field, words: [String(highest)] }];
}

/** Returns true when a text names a value in quotation marks, after a colon, or after a word such as `level`. */
function quotes(text: string, value: string): boolean {
  const pattern = `(?:["'\`]|: |\\b(?:level|effort|value) )${value}\\b`;
  return new RegExp(pattern, "i").test(text);
}
