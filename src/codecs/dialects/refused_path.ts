import type { Lesson } from "./lessons.ts";

/* The names of fields in errors, as paths. */

/** Matches a name, or a path as providers write it: `tools[0].strict`, `tools.0.strict`, `#/tools/0/strict`. */
const PATH_REGEXP = /(?<!\w)[#/]{0,2}[A-Za-z_$][\w$]*(?:[.[\]'/-]+[\w$]+)*/g;

/**
 * Field names that are also ordinary words. Such a name counts only in quotation marks, or beside a word such as
 * `parameter`.
 */
const ORDINARY_NAMES = [
  ...["user", "name", "stop", "include", "seed", "text", "pattern", "format"],
  ...["default", "title", "examples", "contains", "const", "deprecated"],
  ...["minimum", "maximum"],
];

/** How many characters before and after a name are searched for a word such as `parameter`. */
const BESIDE = 40;

/** The most names that are read in one sentence. */
const MAX_MENTIONS = 200;

/** Returns the paths that a sentence names. Paths that the sentence recommends are left out. */
export function mentionsIn(sentence: string): readonly (readonly string[])[] {
  return [...sentence.matchAll(PATH_REGEXP)].slice(0, MAX_MENTIONS).flatMap(
    ({ 0: path, index }) => {
      const end = index + path.length;
      const before = sentence.slice(Math.max(0, index - BESIDE), index);
      const after = sentence.slice(end, end + BESIDE);
      if (/\b(?:use|try|specify|provide|remove|mean)\s+[`'"]?$/i.test(before)) {
        return [];
      }
      const steps = stepsOf(path);
      const isQuoted = /[`'"[(]$/.test(before) && /^[`'"\])]/.test(after) ||
        /(?:parameter|argument|field|propert(?:y|ie)|key|name|option|setting|supplied|model|valid|参数)s?\W{0,4}(?:\w+, ){0,9}$/i
          .test(before) ||
        /^\W{0,3}(?:parameter|argument|field|property|key|option|setting|参数|: )/i
          .test(after);
      const isOrdinary = steps.length === 1 &&
        ORDINARY_NAMES.includes(steps[0] ?? "");
      const isOfTool = steps[0] === "name" &&
        /\b(?:function|tool) $/i.test(before);
      return steps.length === 0 || isOfTool || isOrdinary && !isQuoted
        ? []
        : [steps];
    },
  );
}

/** Returns a message in which all paths have the same form, and names of several words are one word. */
export function withPaths(message: string): string {
  return message.replace(/^<\d+>/, "").replaceAll(" -> ", ".")
    .replace(
      /'loc': \(([^)]{1,200})\)/g,
      (_all, steps: string) =>
        steps.replace(/^\W+|\W+$/g, "").replace(/\W+/g, "."),
    )
    .replace(
      /Unknown name "([^"]{1,100})" at '([^']{1,300})'/g,
      "Unknown name $2.$1 ",
    )
    .replace(/(?<!\w)penalty\b/gi, "frequency_penalty, presence_penalty")
    .replace(/thinking (?=type)/gi, "thinking.")
    .replace(
      /stop (?=sequences)|stream (?=options)|reasoning (?=effort)|parallel tool (?=calls)|cache (?=control)|service (?=tier)/gi,
      (words) => words.replaceAll(" ", "_"),
    );
}

/** Names for the whole body with which a path may start. */
const ROOTS = ["body", "request", "parameter", "$"];

/** Returns the steps of a path in snake case, without indexes and without the name of the body. */
export function stepsOf(path: string): readonly string[] {
  const steps = path.split(/[^\w$]+/).filter((step) => /^[^\d]/.test(step))
    .map((step) => step.replace(/(?<!^)[A-Z]/g, "_$&").toLowerCase());
  return ROOTS.includes(steps[0] ?? "") ? steps.slice(1) : steps;
}

/**
 * Returns true when an error's path names the field. The path may be only the last name of the field, its whole name in
 * any spelling, or a longer path through the field, such as `messages.assistant.reasoning_content` or
 * `thinking.enabled.budget_tokens`.
 */
export function isNamed(field: string, path: readonly string[]): boolean {
  const steps = field.split(".").map((step) => step.replace("[]", ""));
  if (path.join("_") === steps.join("_")) return true;
  if (path.length === 1) {
    const [name = ""] = path;
    // Stop strings have different names in the protocols.
    return name === steps.at(-1) ||
      /^stop(?:_sequences)?$/.test(name) && field.startsWith("stop") ||
      name === "output_config" && steps[0] === name;
  }
  // Bedrock puts its own names between `tools` and the field.
  const isTool = steps[0] === "tools" && path.includes("tools") &&
    path.at(-1) === steps.at(-1);
  let at = -1;
  return isTool || steps.every((step, index) => {
    at = path.indexOf(step, at + 1);
    return at !== -1 && (index > 0 || at === 0);
  });
}

/** Returns true for the path of a tool, a format or a schema. */
export function isSchemaPath(path: readonly string[]): boolean {
  return path[0] === "tools" ||
    path.some((step) =>
      ["parameters", "format", "response_format"].includes(step) ||
      step.endsWith("schema")
    );
}

/** Returns true when an error that names a place in the body may concern the field of a lesson. */
export function isIn(
  place: readonly string[],
  { move, field }: Lesson,
): boolean {
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
