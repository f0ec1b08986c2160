import { lookup } from "../../core/collections.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import type { Protocol } from "../../core/protocol.ts";
import type { Failure } from "../canonical/failure/failure.ts";
import { withoutQuotes } from "../canonical/failure/quoted_texts.ts";
import {
  CONTENT_KINDS,
  EFFORT_FIELD,
  EFFORT_FIELDS,
  EFFORT_WORDS,
  KEYWORDS,
  type Lesson,
  lessonText,
  LIMIT_FIELDS,
  OMITTABLE,
  OTHER_SPELLING,
  PARTS,
  suspect,
} from "./lessons.ts";

/*
 * What a refusal means, read by its shape. The gateway knows the fields of the body that it sent, and which of them may
 * be changed. A field is meant where the error names it in one sentence with a word of refusal.
 */

/** The part of a failure that teaches, as plain data. */
export type FieldRefusal = Pick<
  Failure,
  "kind" | "status" | "message" | "param" | "code"
>;

/** The longest message that is read. No error about a field is as long, even one that names a hundred of them. */
const MAX_LENGTH = 16_000;

/** The most lessons of one error. */
const MAX_LESSONS = 8;

/** The most names of one sentence that are read. */
const MAX_MENTIONS = 200;

/** The words with which a field is refused as such. */
const UNSUPPORTED_REGEXP =
  /\bun(?:supported|known|recogni[sz]ed|expected|available)|\b(?:not|never) (?:\w+ )?(?:supported?|permitted|allowed|available|recogni[sz]ed|implemented|enabled|valid|specified|a multimodal)\b|(?:\bnot|n['’]?t) (?:support|accept|allow|recogni[sz]e|be (?:used|specified|set|combined|enabled|support))|\bcannot\b|\bcan not\b|\bextra (?:inputs|fields|parameters)|\bextraneous\b|\bforbidden\b|\bdeprecated\b|\bincompatible\b|additional properties|\b(?:may|must|should) not\b|\btext-only\b|at most 0\b|\bremoved\b|no endpoints found|\bno longer\b|不支持|非法|不合法|未知|不允许|无法识别/i;

/** The words with which a value is refused. */
const VALUE_REGEXP =
  /\binvalid\b|\bonly\b|\bmust\b|\bshould\b|\bexpected\b|\brequires?\b|\bnot one of\b|\bverified\b|unknown (?:variant|role)|无效|取值/i;

/** The words with which an error concerns a model, or an account, whatever the value of the field. */
const FOR_ALL_REGEXP =
  /\b(?:this|the|the ['"`][^'"`]{1,100}['"`]) model\b|only the default|only [\d.]+ is allowed|(?:may|can) only be|must be verified/i;

/** The words about a value that is out of its bounds, which another caller's may keep. */
const BOUNDS_REGEXP =
  /[<>]=?|\b(?:less|greater|more|fewer) than\b|\bat (?:most|least)\b|\bbetween\b|\babove\b|\bbelow\b|\bexceeds?\b|\btoo (?!complex)\w+|\b(?:max|min)imum\b|\brange\b|范围|大于|小于/i;

/** The words before a list of accepted values, and the list. */
const ACCEPTED_REGEXP =
  /(?:\b(?:supported|valid|allowed|accepted) (?:values|levels|options|inputs|parameters)(?: are)?|\bexpected(?: one of)?|\bone of|\bmust be(?: one of)?|\bshould be(?: one of)?|取值范围)[: ]+(?<list>[^.;\n{}]{1,200})/gi;

/** The words with which a list of accepted values has ended. */
const LIST_END_REGEXP = /\b(?:received|got|but|input|at line|with)\b|\] -/i;

/** The words behind which an error speaks of another part of the request. */
const CONDITION_REGEXP =
  /\b(?:when|while|if|unless|together with|in combination|incompatible with|in thinking mode|for non-streaming|tools with reasoning_effort)\b/i;

const STREAM_REGEXP =
  /only supports? (?:the )?stream|non-?stream|stream\W{0,2}(?:=|:|must be(?: set to)?|to)\W{0,2}true|stream ?= ?false|streaming is (?:\w+ )?required|(?:仅|只)支持流式/i;

const LIMIT_REGEXP =
  /max\w*[_ ]?(?:completion[_ ]|output[_ ]|new[_ ])?tokens|maximum tokens|output tokens/i;

/** The forms of a highest limit. The group `past` is the first number that is too high. */
const HIGHEST_REGEXPS: readonly RegExp[] = [
  /> ?(?<most>\d{2,7}), which is the maximum/i,
  /\[ ?\d+ ?, ?(?<most>\d{2,7}) ?\]/,
  /\bto (?<past>\d{2,7}) \(exclusive/i,
  /(?:at most|up to|less than or equal to|no more than|not exceed|cannot exceed|limit of|<=?|>|between \d+ and|\bmaximum\b\D{0,40}?|limit(?: is|:)?|不能超过|不超过|小于等于|最大值?为?)\D{0,8}?(?<most>\d{2,7})/i,
];

const IMAGE_REGEXP =
  /\bimages?\b|image_url|input_image|\bvision\b|multi-?modal|mmproj|图片|图像|视觉/i;

const FILE_REGEXP =
  /\b(?:pdfs?|input_file|file_url|documents?)\b|[`'"]file[`'"]/i;

/** The words with which a message may hold text alone. */
const TEXT_ONLY_REGEXP =
  /expected [`'"]text[`'"]|\[ ?['"]text['"] ?\]|untagged enum \w*RequestContent|text-only|content\b.{0,40}must be a (?:valid )?string/i;

/** The words of a schema that a strict tool may not have. */
const STRICT_REGEXP =
  /every key in properties|additionalProperties\W.{0,60}must|optional parameters/i;

/** Returns true when a failure may be the refusal of a field, or of pictures, which any status may be. */
export function isFieldRefusal(
  { kind, status = 0, message }: FieldRefusal,
): boolean {
  if (message.length > MAX_LENGTH) return false;
  return isRequestError({ kind, status }) ||
    [400, 404, 415, 422, 500].includes(status) && isAboutContent(message);
}

function isRequestError(
  { kind, status = 0 }: Pick<FieldRefusal, "kind" | "status">,
): boolean {
  return kind === "invalid_request" && (status === 400 || status === 422);
}

function isAboutContent(message: string): boolean {
  return IMAGE_REGEXP.test(message) || TEXT_ONLY_REGEXP.test(message);
}

/**
 * Returns true when a refusal depends on the rest of the request, such as "not supported when thinking is enabled", or
 * is about one picture. Its lessons hold for that request alone.
 */
export function isConditional({ message }: FieldRefusal): boolean {
  return isAboutContent(message)
    ? !UNSUPPORTED_REGEXP.test(message) && !TEXT_ONLY_REGEXP.test(message)
    : CONDITION_REGEXP.test(message) || STRICT_REGEXP.test(message);
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
  const { message, param = "", code = "" } = refusal;
  // Some providers have a sentence there.
  const isPath = !/\s/.test(param);
  const path = isPath ? stepsOf(param).map(inSnakeCase) : [];
  const isKnown = sent[path[0] ?? ""] !== undefined || isSchemaPath(path) ||
    Object.keys(sent).length === 0;
  const place = isKnown ? path : [];
  const coded = /^un(?:supported|known|recognized)_/.test(code)
    ? `${message} (unsupported)`
    : message;
  const text = isPath ? coded : `${coded}: ${param}`;
  const read = (words: string) =>
    readLessons({ text: words, place, protocol, sent });
  const named = read(text);
  if (named.length === 0) {
    const isPlain = isRequestError(refusal) &&
      namesNothing(text, protocol, sent) &&
      withoutQuotes(text, sent, /./) === text;
    return isPlain ? Object.keys(PARTS).map(suspect) : [];
  }
  const own = withoutQuotes(text, sent, namesOf(named));
  const lessons = (own === text ? named : read(own)).filter((lesson) =>
    (lesson.move === "mention" || isRequestError(refusal)) &&
    (place.length === 0 || isIn(place, lesson))
  );
  const distinct = new Map(lessons.map((one) => [lessonText(one), one]));
  return [...distinct.values()].slice(0, MAX_LESSONS);
}

/** Words and marks with which an error says something of the request. */
const SUBJECT_REGEXP =
  /[`'"]\w|\w_\w|\w\.\w|\[\d|\d{3}|\b(?:messages?|content|tools?|prompt|tokens?|context|schemas?|formats?|models?|keys?|accounts?|images?|files?|roles?|json|length|empty|missing|required|credits?|balance|quota|billing|limit|permissions?|subscription|access|overloaded|regions?)\b|余额|欠费|[模型消息图片内容角色]{2}/i;

/** Returns true when a refusal names no part of the request. A grammar is what became of its schemas. */
function namesNothing(
  text: string,
  protocol: Protocol,
  sent: JsonObject,
): boolean {
  if (/\bgrammar\b/i.test(text)) return true;
  const fields = OMITTABLE[protocol] ?? [];
  return !SUBJECT_REGEXP.test(text) &&
    !mentionsIn(text).some((path) =>
      sent[path[0] ?? ""] !== undefined ||
      EFFORT_NAMES.includes(path[0] ?? "") ||
      fields.some((field) => isNamed(field, path))
    );
}

/** What is known of a refused request. */
interface Reading {
  /** The error's message. */
  readonly text: string;
  /** The path of the field that the error names apart from its message; empty when it names none. */
  readonly place: readonly string[];
  readonly protocol: Protocol;
  readonly sent: JsonObject;
}

function readLessons(reading: Reading): readonly Lesson[] {
  const { text, sent, protocol, place } = reading;
  const content = contentLessons(reading);
  if (content.length > 0) return content;
  const streams: readonly Lesson[] =
    STREAM_REGEXP.test(text) && sent.stream !== true
      ? [{ move: "stream", field: "stream", words: [] }]
      : [];
  if (streams.length > 0) return streams;
  const limits = limitLessons(reading);
  if (limits.length > 0) return limits;
  const pair =
    /[`'"](?<beside>\w+)[`'"] and [`'"](?<field>\w+)[`'"] cannot both/
      .exec(text)?.groups;
  if (pair !== undefined) {
    const { field = "", beside = "" } = pair;
    const omittable = OMITTABLE[protocol] ?? [];
    return [field, beside].every((one) => omittable.includes(one))
      ? [{ move: "omit", field, words: [beside] }]
      : [];
  }
  const plain = withPaths(text);
  const accepted = acceptedIn(plain);
  const rest = plain.replace(
    ACCEPTED_REGEXP,
    (found, list: string) =>
      found.slice(0, -list.length) +
      list.slice(list.split(LIST_END_REGEXP, 1)[0]?.length ?? 0),
  );
  const lessons = rest.split(/(?<=[.!?])\s+|[\n;。；]/).flatMap((sentence) => {
    const [head = ""] = sentence.split(CONDITION_REGEXP, 1);
    const about = (part: string) =>
      mentionsIn(part).flatMap((path) =>
        lessonsOf(path, { ...reading, text: sentence, accepted, whole: plain })
      );
    const found = about(head);
    return found.length > 0 ? found : about(sentence);
  });
  const placed = place.length === 0 || lessons.some((one) => isIn(place, one))
    ? []
    : lessonsOf(place, { ...reading, text: rest, accepted, whole: plain });
  const all = [...lessons, ...placed];
  // A keyword that strict schemas may not have is no refusal of strict tools.
  const found = all.some(({ move }) => move === "describe")
    ? all.filter(({ field }) => !field.endsWith(".strict"))
    : all;
  if (found.length > 0) return found;
  if (accepted.includes("assistant")) {
    return roleLessons({ ...reading, text: rest, accepted, whole: plain });
  }
  const isStrict = STRICT_REGEXP.test(text) ||
    /structured[_ ]outputs/i.test(text);
  const field = protocol === "chat"
    ? "tools[].function.strict"
    : "tools[].strict";
  const effort = effortValue(reading);
  // An error may name the refused effort alone.
  const isEffort =
    accepted.some((word) => EFFORT_WORDS.some((one) => one === word)) &&
    effort !== undefined && quotes(rest, effort);
  return isStrict
    ? [{ move: "omit", field, words: [] }]
    : isEffort
    ? effortLessons({ ...reading, text: rest, accepted, whole: plain })
    : [];
}

/** A sentence of a refusal. */
interface Sentence extends Reading {
  /** The accepted values that the error lists. */
  readonly accepted: readonly string[];
  /** The whole message. */
  readonly whole: string;
}

/** Returns the lessons about a field that a sentence names. */
function lessonsOf(
  path: readonly string[],
  sentence: Sentence,
): readonly Lesson[] {
  const { text, protocol, sent } = sentence;
  const last = path.at(-1) ?? "";
  const isRefused = UNSUPPORTED_REGEXP.test(text);
  if (!isRefused && !VALUE_REGEXP.test(text)) return [];
  if (last === "role") return roleLessons(sentence);
  const keyword = KEYWORDS.find((one) =>
    one === last || inSnakeCase(one) === last
  );
  if (keyword !== undefined && (path.length === 1 || isSchemaPath(path))) {
    const isMeant = isRefused || /is not a valid/.test(text);
    return isMeant ? [{ move: "describe", field: keyword, words: [] }] : [];
  }
  const other = protocol === "chat" && path.length === 1 &&
      last.startsWith("max_")
    ? lookup(OTHER_SPELLING, last)
    : undefined;
  if (other !== undefined) {
    return isRefused ? [{ move: "respell", field: last, words: [other] }] : [];
  }
  const omittable = OMITTABLE[protocol] ?? [];
  const meant = omittable.filter((one) => isNamed(one, path));
  const held = meant.filter((one) => holds(sent, one));
  const exact = held.find((one) => one === path.join(".")) ??
    held.find((one) => text.includes(one.split("[", 1)[0] ?? "")) ??
    held[0] ?? meant[0];
  const isEffort = EFFORT_NAMES.includes(last) ||
    EFFORT_NAMES.includes(path[0] ?? "");
  const isHeld = exact !== undefined && (holds(sent, exact) || !isEffort);
  const effort = isEffort ? effortLessons(sentence) : [];
  if (effort.length > 0) return effort;
  const fields = isHeld || Object.keys(sent).length === 0
    ? exact === undefined ? [] : [exact]
    : isEffort
    ? omittable.filter((one) =>
      EFFORT_HOLDERS.includes(one) && holds(sent, one)
    )
    : [];
  // One caller's bad value must not take the field from all others. Stop strings are cut by the gateway.
  const isLasting = (isRefused || FOR_ALL_REGEXP.test(text)) &&
    !BOUNDS_REGEXP.test(text);
  return fields.filter((one) => isLasting || one.startsWith("stop"))
    .map((field) => ({ move: "omit", field, words: [] }));
}

/** The names by which errors mean an effort. */
const EFFORT_NAMES = [
  ...["effort", "reasoning_effort", "reasoning", "thinking", "think"],
  ...["enable_thinking", "thinking_budget", "output_config"],
];

/** The fields that ask for reasoning, whatever their names. */
const EFFORT_HOLDERS = [
  ...["reasoning_effort", "reasoning.effort", "reasoning", "thinking"],
  "output_config.effort",
];

/** Returns the effort that the body has. */
function effortValue({ sent }: Pick<Reading, "sent">): string | undefined {
  return EFFORT_FIELDS.map((field) => valueAt(sent, field))
    .find((value) => typeof value === "string");
}

function effortLessons(
  { text, whole, accepted, protocol, sent }: Sentence,
): readonly Lesson[] {
  const own = EFFORT_FIELDS.find((one) => holds(sent, one)) ??
    EFFORT_FIELD[protocol];
  const value = effortValue({ sent });
  const refused = EFFORT_WORDS.filter((word) =>
    value === undefined
      ? quotes(text, word)
      : word === value && quotes(text, word)
  );
  const listed = EFFORT_WORDS.filter((word) => accepted.includes(word));
  if (
    own === undefined ||
    value !== undefined && listed.some((one) => one === value)
  ) return [];
  const isValue =
    /value|level|effort|variant|must|should|expected|one of|valid/i.test(whole);
  const words = listed.length > 0
    ? listed.filter((word) => !refused.includes(word))
    : refused.length > 0 && isValue
    ? EFFORT_WORDS.filter((word) => !refused.includes(word))
    : [];
  return words.length === 0 ? [] : [{ move: "nearest", field: own, words }];
}

function roleLessons({ text, accepted, sent }: Sentence): readonly Lesson[] {
  const refused = ["developer", "system"].find((role) =>
    new RegExp(`\\b${role}\\b`).test(text)
  );
  const other = refused && lookup(OTHER_SPELLING, refused);
  const isAccepted = accepted.length === 0 || accepted.includes(other ?? "");
  return refused === undefined || other === undefined || !isAccepted
    ? []
    : [{ move: "respell", field: refused, words: [other] }];
}

/** Returns lessons when the provider takes text alone in the place of other content. */
function contentLessons({ text, sent }: Reading): readonly Lesson[] {
  const isTextOnly = TEXT_ONLY_REGEXP.test(text);
  const kinds = contentKinds([sent.messages ?? null, sent.input ?? null]);
  return [...kinds].filter((kind) =>
    isTextOnly || (kind === "image" ? IMAGE_REGEXP : FILE_REGEXP).test(text)
  ).map((kind) => ({ move: "mention", field: kind, words: [] }));
}

/** Returns the kinds of content in messages that are no text. */
function contentKinds(value: JsonValue): ReadonlySet<string> {
  if (typeof value !== "object" || value === null) return new Set();
  const type = isJsonObject(value) ? String(value.type) : "";
  const own = lookup(CONTENT_KINDS, type);
  const inner = Object.values(value).flatMap((
    one,
  ) => [...contentKinds(one ?? null)]);
  return new Set(own === undefined ? inner : [own, ...inner]);
}

/** Returns a lesson when the error states a number below the limit that was sent. */
function limitLessons({ text, place, sent }: Reading): readonly Lesson[] {
  const field = LIMIT_FIELDS.find((one) => sent[one] !== undefined);
  const limit = field === undefined ? undefined : sent[field];
  const isMeant = LIMIT_REGEXP.test(text) || place[0] === field;
  if (field === undefined || typeof limit !== "number" || !isMeant) return [];
  const about = text.slice(Math.max(0, text.search(LIMIT_REGEXP) - 60));
  const highest = HIGHEST_REGEXPS.map((pattern) => pattern.exec(about)?.groups)
    .map((groups) => groups && Number(groups.most ?? Number(groups.past) - 1))
    .find((most) => most !== undefined && most < limit && most >= 16);
  return highest === undefined
    ? []
    : [{ move: "clamp", field, words: [String(highest)] }];
}

/** A name, or a path as providers write it: `tools[0].strict`, `tools.0.strict`, `#/tools/0/strict`. */
const PATH_REGEXP = /(?<!\w)[#/]{0,2}[A-Za-z_$][\w$]*(?:[.[\]'/-]+[\w$]+)*/g;

/** Names that are ordinary words, too. They count in quotation marks, or beside a word such as `parameter`. */
const ORDINARY_NAMES = [
  ...["user", "name", "stop", "include", "seed", "text", "pattern", "format"],
  ...["default", "title", "examples", "contains", "const", "deprecated"],
  ...["minimum", "maximum"],
];

/** The characters beside a name that may show what it is. */
const BESIDE = 40;

/** Returns the paths that a sentence names, but not those that it recommends. */
function mentionsIn(sentence: string): readonly (readonly string[])[] {
  return [...sentence.matchAll(PATH_REGEXP)].slice(0, MAX_MENTIONS).flatMap(
    ({ 0: path, index }) => {
      const end = index + path.length;
      const before = sentence.slice(Math.max(0, index - BESIDE), index);
      const after = sentence.slice(end, end + BESIDE);
      if (/\b(?:use|try|specify|provide|remove|mean)\s+[`'"]?$/i.test(before)) {
        return [];
      }
      const steps = stepsOf(path).map(inSnakeCase);
      const isQuoted = /[`'"[(]$/.test(before) && /^[`'"\])]/.test(after) ||
        /(?:parameter|argument|field|property|key|name|option|setting|supplied|model|valid|参数)s?\W{0,4}$/i
          .test(before) ||
        /^\W{0,3}(?:parameter|argument|field|property|key|option|setting|参数|: )/i
          .test(after);
      const isOrdinary = steps.length === 1 &&
        ORDINARY_NAMES.includes(steps[0] ?? "");
      return steps.length === 0 || isOrdinary && !isQuoted ? [] : [steps];
    },
  );
}

/** Returns a message in which paths of other forms are paths, and names of several words one word. */
function withPaths(message: string): string {
  return message.replace(/^<\d+>/, "")
    .replace(
      /'loc': \(([^)]{1,200})\)/g,
      (_all, steps: string) =>
        steps.replace(/^\W+|\W+$/g, "").replace(/\W+/g, "."),
    )
    .replace(
      /Unknown name "([^"]{1,100})" at '([^']{1,300})'/g,
      "Unknown name $2.$1 ",
    )
    .replace(
      /stop (?=sequences)|reasoning (?=effort)|parallel tool (?=calls)|cache (?=control)|service (?=tier)/gi,
      (words) => words.replaceAll(" ", "_"),
    );
}

function acceptedIn(message: string): readonly string[] {
  return [...message.matchAll(ACCEPTED_REGEXP)].flatMap(({ groups }) => {
    const [words = ""] = (groups?.list ?? "").split(LIST_END_REGEXP, 1);
    return words.toLowerCase().match(/[\w-]{1,32}/g) ?? [];
  });
}

/** Returns true when a text has a value in quotation marks, or behind a colon or a word for it. */
function quotes(text: string, value: string): boolean {
  return new RegExp(`(?:["'\`]|: |\\blevel |\\beffort )${value}\\b`, "i").test(
    text,
  );
}

/** Names of the whole body at the start of a path. */
const ROOTS = ["body", "request", "parameter"];

/** Returns the steps of a path without indexes and without the name of the body. */
function stepsOf(path: string): readonly string[] {
  const steps = path.split(/[^\w$]+/).filter((step) =>
    step !== "" && !/^\d+$/.test(step)
  );
  return ROOTS.includes(steps[0] ?? "") ? steps.slice(1) : steps;
}

function inSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replace(/^_(?=[a-z])/, "");
}

/**
 * Returns true when an error's path names the field: its last name alone, its whole name in any spelling, or a path
 * through it, such as `messages.assistant.reasoning_content` or `thinking.enabled.budget_tokens`.
 */
function isNamed(field: string, path: readonly string[]): boolean {
  const steps = field.split(".").map((step) => step.replace("[]", ""));
  if (path.join("_") === steps.join("_")) return true;
  if (path.length === 1) {
    const [name = ""] = path;
    // The protocols have two names for stop strings.
    return name === steps.at(-1) ||
      /^stop(?:_sequences)?$/.test(name) && field.startsWith("stop") ||
      name === "output_config" && steps[0] === name;
  }
  // Bedrock's own names for a tool.
  const isTool = steps[0] === "tools" && path.includes("tools") &&
    path.at(-1) === steps.at(-1);
  let at = -1;
  return isTool || steps.every((step, index) => {
    at = path.indexOf(step, at + 1);
    return at !== -1 && (index > 0 || at === 0);
  });
}

/** Returns true for the path of a tool, a format or a schema. */
function isSchemaPath(path: readonly string[]): boolean {
  return path[0] === "tools" ||
    path.some((step) =>
      ["parameters", "format", "response_format"].includes(step) ||
      step.endsWith("schema")
    );
}

/** Returns true when a body has a field. The path has `[]` after each list. */
function holds(body: JsonObject, field: string): boolean {
  return valueAt(body, field) !== undefined;
}

function valueAt(
  body: JsonValue | undefined,
  field: string,
): JsonValue | undefined {
  let values: (JsonValue | undefined)[] = [body];
  for (const step of field.split(".")) {
    values = values.flatMap((one) => {
      const inner = isJsonObject(one) ? one[step.replace("[]", "")] : undefined;
      return Array.isArray(inner) ? inner : [inner];
    }).filter((one) => one !== undefined);
  }
  return values[0];
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
  if (move === "stream") return true;
  if (move === "describe") return isSchemaPath(place);
  const isMessage = ["messages", "input", "contents"].includes(first);
  if (move === "mention") return isMessage;
  if (move === "respell" && !field.startsWith("max_")) return isMessage;
  const steps = field.split(".").map((step) => step.replace("[]", ""));
  const [name, other] = [steps.join("_"), place.join("_")];
  return name === other || name.startsWith(`${other}_`) ||
    other.startsWith(`${name}_`) ||
    steps[0] === first &&
      (steps.at(-1) === place.at(-1) || field.endsWith(".strict"));
}
