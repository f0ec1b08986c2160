/**
 * Headers of an error that would only come again, and be paid for again: the SDKs of OpenAI and Anthropic
 * repeat every status from 500 on, but not with these.
 */
export const NOT_AGAIN: Readonly<Record<string, string>> = {
  "x-should-retry": "false",
};
