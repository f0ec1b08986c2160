import { promptOf } from "./question.ts";

/** Bodies of one shape, built from a small part that repeats without copies in memory. */
export interface Shape {
  readonly name: string;
  /** The text before the parts. */
  readonly head: string;
  /** The repeated part; commas separate the parts. */
  readonly part: (index: number) => string;
  /** The text after the parts. */
  readonly tail: string;
}

const PROMPT = promptOf({ tag: "long", behaviour: "whole", words: 2 });

const HELLO = `{"role":"user","content":"${PROMPT}"}`;

/** The question is at the beginning, where the upstream reads it. */
const HEAD = `"max_tokens":100,"messages":[${HELLO}`;

const WORDS = "the quick brown fox ".repeat(50);

/** A tool result of some tens of lines. */
const PAGE = WORDS.repeat(4);

/** The Messages requests that take the longest to scan or translate, each for its own reason. */
export const SHAPES: readonly Shape[] = [
  shape("one text", `${HEAD},{"role":"user","content":"`, () => WORDS, '"}]}'),
  shape(
    "a long history",
    `${HEAD},`,
    (index) =>
      `{"role":"assistant","content":[{"type":"tool_use","id":"call_${index}","name":"f","input":{"path":"src/tools/main.ts"}}]},` +
      `{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_${index}","content":"${PAGE}"}]}`,
    "]}",
  ),
  shape("tiny turns", `${HEAD},`, () => '{"role":"user","content":"a"}', "]}"),
  shape("keys", `${HEAD}],`, (index) => `"k${index}":1`, "}"),
  shape("empty arrays", `${HEAD}],"metadata":[`, () => "[]", "]}"),
  shape(
    "numbers in a tool",
    `${HEAD}],"tools":[{"name":"f","input_schema":{"enum":[`,
    () => "1",
    "]}}]}",
  ),
  shape("depth", `${HEAD}],"metadata":`, () => "[[[[[[[[", ""),
];

function shape(
  name: string,
  head: string,
  part: Shape["part"],
  tail: string,
): Shape {
  return { name, head, part, tail };
}

/** The parameters of a long body. */
export interface LongBody {
  readonly model: string;
  /** The approximate length. */
  readonly bytes: number;
  readonly isStream?: boolean;
  /** The upstream's behaviour; default: `whole`. */
  readonly behaviour?: "whole" | "late";
}

/** Returns a long body. */
export function longBody(
  { name, head, part, tail }: Shape,
  { model, bytes, isStream = false, behaviour = "whole" }: LongBody,
): Blob {
  const separator = name === "one text" || name === "depth" ? "" : ",";
  const start = head.replace(PROMPT, PROMPT.replace("whole", behaviour));
  const pieces = [`{"model":"${model}","stream":${isStream},${start}`];
  let length = 0;
  for (let index = 0; length < bytes; index++) {
    const piece = (index === 0 ? "" : separator) + part(index);
    length += piece.length;
    pieces.push(piece);
  }
  return new Blob([pieces.join("") + tail]);
}
