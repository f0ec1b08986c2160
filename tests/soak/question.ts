/** The upstream's behaviour for a question. */
export type Behaviour =
  /** Sends the complete answer. */
  | "whole"
  /** Sends the complete answer after some seconds. */
  | "late"
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
  /** Letters and digits, unique to the question. */
  readonly tag: string;
  readonly behaviour: Behaviour;
  /** The number of words in the answer. */
  readonly words: number;
}

const QUESTION_REGEXP = /soak:(\w+):([\w-]+):(\d+)/;

/** Returns the prompt that holds a question. */
export function promptOf({ tag, behaviour, words }: Question): string {
  return `soak:${tag}:${behaviour}:${words}`;
}

/** Finds the question in the body of a request of any protocol. */
export function findQuestion(body: string): Question | undefined {
  const [, tag, behaviour, words] = body.match(QUESTION_REGEXP) ?? [];
  if (tag === undefined || !isBehaviour(behaviour)) return undefined;
  return { tag, behaviour, words: Number(words) };
}

const BEHAVIOURS: ReadonlySet<string | undefined> = new Set<Behaviour>([
  "whole",
  "late",
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

function isBehaviour(name: string | undefined): name is Behaviour {
  return BEHAVIOURS.has(name);
}

/**
 * Returns the words of an answer. They are unique to the question, and some need escapes in JSON.
 */
export function wordsOf({ tag, words }: Question): string[] {
  return Array.from(
    { length: words },
    (_, index) => `${tag}-${index}${ODDITIES[index % ODDITIES.length]} `,
  );
}

const ODDITIES = ["", "ä", "\n", '"', "😀", "\\", "data: ", "日本"];
