/** What the upstream of the soak does with a question. */
export type Manner =
  /** Answers whole. */
  | "whole"
  /** Breaks off in the middle of the answer. */
  | "cut"
  /** Refuses with 400. */
  | "refuse"
  /** Refuses the prompt, as a provider with moderation does. */
  | "flag"
  /** Fails with 500. */
  | "fail"
  /** Closes the connection instead of answering. */
  | "hang-up"
  /** Answers nothing, not even headers. */
  | "wait"
  /** Begins an answer and falls silent. */
  | "begin"
  /** Streams a word every few milliseconds, for ever. */
  | "trickle"
  /** Streams as fast as a model speaks, for ever. */
  | "speak"
  /** Streams as fast as it is taken, for ever. */
  | "flood"
  /** Streams one event that never ends. */
  | "one-event"
  /** Answers with JSON of as many MiB as there should be words. */
  | "huge";

/** What is asked; it stands in the prompt, which every protocol carries. */
export interface Question {
  /** Letters and digits that no other question has. */
  readonly tag: string;
  readonly manner: Manner;
  /** How many words the answer has. */
  readonly words: number;
}

const QUESTION_REGEXP = /soak:(\w+):([\w-]+):(\d+)/;

/** The prompt that holds a question. */
export function promptOf({ tag, manner, words }: Question): string {
  return `soak:${tag}:${manner}:${words}`;
}

/** Finds the question in the body of a request of any protocol. */
export function findQuestion(body: string): Question | undefined {
  const [, tag, manner, words] = body.match(QUESTION_REGEXP) ?? [];
  if (tag === undefined || !isManner(manner)) return undefined;
  return { tag, manner, words: Number(words) };
}

const MANNERS: ReadonlySet<string | undefined> = new Set<Manner>([
  "whole",
  "cut",
  "refuse",
  "flag",
  "fail",
  "hang-up",
  "wait",
  "begin",
  "trickle",
  "speak",
  "flood",
  "one-event",
  "huge",
]);

function isManner(name: string | undefined): name is Manner {
  return MANNERS.has(name);
}

/** The words that answer a question: no other question has the same, and JSON must escape some of them. */
export function wordsOf({ tag, words }: Question): string[] {
  return Array.from(
    { length: words },
    (_, index) => `${tag}-${index}${ODDITIES[index % ODDITIES.length]} `,
  );
}

const ODDITIES = ["", "ä", "\n", '"', "😀", "\\", "data: ", "日本"];
