import { wordList } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pickFields,
} from "@gateway/base/json";
import type { Block, ResultContent } from "../canonical/content/block.ts";
import type { CanonicalRequest, Turn } from "../canonical/request/request.ts";
import { mapSchemas, withDescription } from "../canonical/schema/keywords.ts";
import {
  ALL_EFFORTS,
  closestEffort,
  type EffortWord,
} from "../canonical/request/effort.ts";
import { type Lesson, PREFILL } from "./lessons.ts";

/** A request after a list of lessons was applied to it. */
interface Taught<Value> {
  readonly value: Value;
  /** The lessons that changed the request. */
  readonly lessons: readonly Lesson[];
}

/** Applies the lessons about fields to a body. Returns the same body if no lesson changes it. */
export function teachBody(
  body: JsonObject,
  lessons: readonly Lesson[],
): Taught<JsonObject> {
  return teach(body, lessons, changeBody);
}

/**
 * Applies the lessons about kinds of content to a request that is not encoded yet. The caller's last message does not
 * change, because its pictures matter to the caller. So the provider may refuse the request again.
 *
 * @returns The same request if no lesson changes it.
 */
export function teachContent(
  request: CanonicalRequest,
  lessons: readonly Lesson[],
): Taught<CanonicalRequest> {
  return teach(request, lessons, changeContent);
}

/** Returns true when a lesson would change a body. */
export function concerns(lesson: Lesson, body: JsonObject): boolean {
  return changeBody(body, lesson) !== body;
}

/**
 * Limits a lesson to strict tools, if the refused body has strict tools that the lesson changes. A lesson from the
 * strict tool of one caller then does not change the ordinary tool of another caller.
 */
export function narrowest(lesson: Lesson, refused: JsonObject): Lesson {
  const isWide = lesson.move !== "describe" &&
    !lesson.field.endsWith(".strict");
  const narrow: Lesson = { ...lesson, isStrict: true };
  return isWide || !concerns(narrow, refused) ? lesson : narrow;
}

function teach<Value>(
  value: Value,
  lessons: readonly Lesson[],
  change: (value: Value, lesson: Lesson) => Value,
): Taught<Value> {
  let taught = value;
  const effective = lessons.filter((lesson) => {
    const before = taught;
    taught = change(before, lesson);
    return taught !== before;
  });
  return { value: taught, lessons: effective };
}

function changeBody(body: JsonObject, lesson: Lesson): JsonObject {
  const { move, field, words, isStrict } = lesson;
  const [word = ""] = words;
  switch (move) {
    case "omit":
      if (field.endsWith(".strict")) {
        return editField(body, field.split("."), omitStrict(body, isStrict));
      }
      return words.every((beside) => body[beside] !== undefined)
        ? omitField(body, field)
        : body;
    case "nearest":
      return editField(body, field.split("."), nearestEdit(words));
    case "describe":
      return SCHEMA_PATHS.reduce(
        (edited, path) =>
          editField(edited, path, (holder, name) => {
            const schema = holder[name];
            const isMeant = !isStrict || holder.strict === true;
            return isMeant && isJsonObject(schema)
              ? changed(holder, name, mapSchemas(schema, describe(field)))
              : holder;
          }),
        body,
      );
    case "respell":
      return field.startsWith("max_")
        ? renameField(body, field, word)
        : ROLE_PATHS.reduce(
          (edited, path) =>
            editField(edited, path, (message, name) =>
              message[name] === field
                ? { ...message, [name]: word }
                : message),
          body,
        );
    case "disable":
      return {
        ...pickFields(body, (name) => !/^reasoning(?:_effort)?$/.test(name)),
        thinking: { type: "disabled" },
      };
    case "clamp":
      return clampLimit(body, field, Number(word));
    default:
      return body;
  }
}

/** Returns the body without a field. The path has `[]` after each list: `messages[].reasoning_content`. */
export function omitField(body: JsonObject, path: string): JsonObject {
  return editField(
    body,
    path.split("."),
    (holder, name) => pickFields(holder, (one) => one !== name),
  );
}

/** The paths to the schemas of tools and answers, in all protocols. */
const SCHEMA_PATHS: readonly (readonly string[])[] = [
  ["tools[]", "function", "parameters"],
  ["tools[]", "parameters"],
  ["tools[]", "input_schema"],
  ["response_format", "json_schema", "schema"],
  ["text", "format", "schema"],
  ["output_config", "format", "schema"],
];

const ROLE_PATHS: readonly (readonly string[])[] = [
  ["messages[]", "role"],
  ["input[]", "role"],
];

/**
 * Applies `edit` to each object that has the field at the end of the path. Removes an inner object that becomes empty.
 */
function editField(
  holder: JsonObject,
  [step = "", ...rest]: readonly string[],
  edit: (holder: JsonObject, name: string) => JsonObject,
): JsonObject {
  const name = step.replace("[]", "");
  const value = holder[name];
  if (value === undefined) return holder;
  if (rest.length === 0) return edit(holder, name);
  const inner = (one: JsonValue) =>
    isJsonObject(one) ? editField(one, rest, edit) : one;
  if (!Array.isArray(value)) {
    const edited = inner(value);
    return isJsonObject(edited) && Object.keys(edited).length === 0
      ? pickFields(holder, (one) => one !== name)
      : changed(holder, name, edited);
  }
  const edited = value.map(inner);
  return edited.some((one, index) => one !== value[index])
    ? { ...holder, [name]: edited }
    : holder;
}

function changed(
  holder: JsonObject,
  name: string,
  value: JsonValue,
): JsonObject {
  return holder[name] === value ? holder : { ...holder, [name]: value };
}

function renameField(body: JsonObject, from: string, to: string): JsonObject {
  const { [from]: value, ...rest } = body;
  return value === undefined ? body : { ...rest, [to]: value };
}

/** Lowers a limit to `most`, unless this would leave no room for a thinking budget. */
function clampLimit(body: JsonObject, name: string, most: number): JsonObject {
  const { [name]: limit, thinking } = body;
  const budget = isJsonObject(thinking) ? Number(thinking.budget_tokens) : 0;
  return typeof limit !== "number" || limit <= most || budget >= most
    ? body
    : { ...body, [name]: most };
}

/**
 * Returns an edit that replaces an effort that is not among `words` by the nearest of these words. The edit replaces
 * `none` by the lowest of the words.
 */
function nearestEdit(words: readonly string[]) {
  const known = [...ALL_EFFORTS, "none" as const].filter((word) =>
    words.includes(word)
  );
  return (holder: JsonObject, name: string): JsonObject => {
    const asked = [...ALL_EFFORTS, "none" as const].find((word) =>
      word === holder[name]
    );
    if (asked === undefined || known.includes(asked)) return holder;
    const nearest = closestWord(asked, known);
    return nearest === undefined
      ? pickFields(holder, (one) => one !== name)
      : { ...holder, [name]: nearest };
  };
}

function closestWord(
  asked: EffortWord,
  known: readonly EffortWord[],
): EffortWord | undefined {
  return asked === "none"
    ? ALL_EFFORTS.find((word) => known.includes(word))
    : closestEffort(asked, known);
}

/**
 * Returns an edit that removes `strict`. If `isStrict` is true, the edit changes only strict tools. Otherwise it
 * changes only tools that are not strict.
 */
function omitStrict({ input }: JsonObject, isStrict = false) {
  return (tool: JsonObject, name: string): JsonObject => {
    if ((tool[name] === true) !== isStrict) return tool;
    const { [name]: _strict, ...rest } = tool;
    // Tools of Responses are strict by default.
    return isStrict && input !== undefined ? { ...rest, [name]: false } : rest;
  };
}

/** Keywords that say nothing to the model. When such a keyword is removed, no words replace it. */
const SILENT_KEYWORDS = wordList(`
  $schema $id $comment title deprecated readOnly writeOnly
  additionalProperties unevaluatedProperties
`);

function describe(keyword: string) {
  return (schema: JsonObject): JsonObject => {
    const { [keyword]: value, ...rest } = schema;
    if (value === undefined) return schema;
    return SILENT_KEYWORDS.includes(keyword)
      ? rest
      : withDescription(rest, `${keyword}: ${JSON.stringify(value)}`);
  };
}

function changeContent(
  request: CanonicalRequest,
  { move, field }: Lesson,
): CanonicalRequest {
  if (field === PREFILL && request.turns.at(-1)?.role === "assistant") {
    const blocks = [{ kind: "text", text: "Continue." }] as const;
    const turns = [...request.turns, { role: "user", blocks } as const];
    return { ...request, continues: false, turns };
  }
  if (move !== "mention") return request;
  const last = request.turns.findLastIndex(({ role }) => role === "user");
  const turns = request.turns.map((turn, index) =>
    index === last ? turn : mentionIn(turn, field)
  );
  return turns.some((turn, index) => turn !== request.turns[index])
    ? { ...request, turns }
    : request;
}

function mentionIn(turn: Turn, kind: string): Turn {
  const blocks = turn.blocks.map((block): Block => {
    if (block.kind !== "tool_result") return mention(block, kind);
    const content = block.content.map((one) => mention(one, kind));
    return content.some((one, index) => one !== block.content[index])
      ? { ...block, content }
      : block;
  });
  return blocks.some((block, index) => block !== turn.blocks[index])
    ? { ...turn, blocks }
    : turn;
}

function mention<One extends Block | ResultContent>(
  block: One,
  kind: string,
): One | ResultContent {
  if (block.kind !== kind) return block;
  const name = block.kind === "file" && block.name !== undefined
    ? ` ${block.name}`
    : "";
  return {
    kind: "text",
    text: `[${kind}${name}: not shown, because this model reads text alone]`,
  };
}
