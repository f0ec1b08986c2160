/** What a platform says of a request that got no answer, and what that means; the first match wins. */
const FAULTS: readonly (readonly [pattern: RegExp, fault: string])[] = [
  [/peer certificate.*expired/i, "its certificate has expired"],
  [/peer certificate.*name/i, "its certificate is for another name"],
  [
    /peer certificate/i,
    "its certificate is not trusted here: name the PEM file of its authority in DENO_CERT",
  ],
  [
    /InvalidContentType/,
    "it speaks no TLS there: write http:// in place of https://",
  ],
  [
    /invalid HTTP version/i,
    "it speaks no HTTP there, or with TLS alone: try https:// in place of http://",
  ],
];

/**
 * Why something that is there gave no answer, as the end of a sentence; `undefined` where nothing may be
 * there.
 */
export function connectionFault(error: unknown): string | undefined {
  const message = innermostMessage(error);
  return FAULTS.find(([pattern]) => pattern.test(message))?.[1];
}

/** The first line of what an error says, of its first cause where it has one: the rest only wraps it. */
export function innermostMessage(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  if (error.cause instanceof Error) return innermostMessage(error.cause);
  return error.message.split("\n")[0] ?? "";
}
