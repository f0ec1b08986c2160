/** Which Claude a model id means. */
export interface ClaudeModel {
  readonly family: "opus" | "sonnet" | "haiku" | "fable" | "mythos" | "other";
  /** Major version times 100 plus minor: 4.5 is 405. */
  readonly version: number;
}

/** Stands for a version that an id does not name: newer than every rule known here. */
const NEWEST_VERSION = 9999;

const FAMILY_REGEXP = /opus|sonnet|haiku|fable|mythos/;
/**
 * `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-latest`, `anthropic.claude-haiku-4.5-v1:0`; a date is no minor
 * version.
 */
const VERSION_REGEXP =
  /claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/;

/** Reads a model id of any provider; `undefined` when it is no Claude. */
export function parseClaudeModel(model: string): ClaudeModel | undefined {
  const id = model.toLowerCase();
  const start = id.indexOf("claude");
  if (start < 0) return undefined;
  const family = FAMILY_REGEXP.exec(id.slice(start))?.[0];
  const [, major, minor] = VERSION_REGEXP.exec(id.slice(start)) ?? [];
  return {
    family: isFamily(family) ? family : "other",
    version: major === undefined
      ? NEWEST_VERSION
      : Number(major) * 100 + Number(minor ?? 0),
  };
}

function isFamily(
  word: string | undefined,
): word is Exclude<ClaudeModel["family"], "other"> {
  return word !== undefined && FAMILY_REGEXP.test(word);
}
