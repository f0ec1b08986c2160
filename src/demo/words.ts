/** `text` cut behind every blank, so that the words joined are `text` again; none for the empty string. */
export function wordsOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\s)(?=\S)/);
}

/** How many characters one fragment of a tool call's input holds. */
const FRAGMENT_LENGTH = 12;

/** `input` cut into short fragments, never inside a character, as providers stream arguments. */
export function fragmentsOf(input: string): string[] {
  return input.match(new RegExp(`[\\s\\S]{1,${FRAGMENT_LENGTH}}`, "gu")) ?? [];
}
