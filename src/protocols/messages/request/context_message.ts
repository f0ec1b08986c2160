/** The words by which Claude Code knows that it must compact its conversation. */
const WORDS = "prompt is too long";

const LIMIT_REGEXP =
  /(?:maximum|limit|window|context (?:length|size))\D{0,40}(\d[\d,]*)/i;
const NUMBER_REGEXP = /\d[\d,]*/g;

/**
 * A message about a prompt that does not fit in Anthropic's own wording, which clients act on: `prompt is too
 * long: 130000 tokens > 128000 maximum`. Where the upstream does not say both numbers, its words follow.
 */
export function contextMessage(message: string): string {
  if (message.toLowerCase().startsWith(WORDS)) return message;
  const limit = toNumber(LIMIT_REGEXP.exec(message)?.[1]);
  const numbers = message.match(NUMBER_REGEXP)?.map(toNumber) ?? [];
  const size = numbers.find((number) => number > limit);
  return size === undefined
    ? `${WORDS}: ${message}`
    : `${WORDS}: ${size} tokens > ${limit} maximum`;
}

/** `NaN`, which is above and below nothing, for no number. */
function toNumber(digits: string | undefined): number {
  return Number((digits ?? "none").replaceAll(",", ""));
}
