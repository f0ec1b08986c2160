/** The upstream's behaviour for a question. */
export type Manner =
  /** Sends the complete answer. */
  | "whole"
  /** Breaks off in the middle of the answer. */
  | "cut"
  /** Refuses with 400. */
  | "refuse"
  /** Refuses the prompt, as a provider with moderation does. */
  | "flag"
  /** Fails with 500. */
  | "fail"
  /** Closes the connection without an answer. */
  | "hang-up"
  /** Sends nothing, not even headers. */
  | "wait"
  /** Begins an answer and stays silent. */
  | "begin"
  /** Streams a word every few milliseconds, without end. */
  | "trickle"
  /** Streams at a model's pace, without end. */
  | "speak"
  /** Streams as fast as the reader reads, without end. */
  | "flood"
  /** Streams one event that never ends. */
  | "one-event"
  /** Sends JSON of `words` MiB. */
  | "huge";

/** An instruction to the upstream, inside the prompt, which every protocol carries. */
export interface Question {
  /** Letters and digits that no other question has. */
  readonly tag: string;
  readonly manner: Manner;
  /** The number of words in the answer. */
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

/** The words of an answer: unique to the question, and some need escapes in JSON. */
export function wordsOf({ tag, words }: Question): string[] {
  return Array.from(
    { length: words },
    (_, index) => `${tag}-${index}${ODDITIES[index % ODDITIES.length]} `,
  );
}

const ODDITIES = ["", "ä", "\n", '"', "😀", "\\", "data: ", "日本"];
