import type { Exchange } from "../exchange.ts";

/** The header with which a client marks a request that nobody waits for, and the values that mark it. */
const PRIORITY_HEADER = "x-priority";
const BACKGROUND_PRIORITIES: ReadonlySet<string> = new Set([
  "background",
  "batch",
  "low",
]);

/**
 * Returns true for work that nobody watches: requests of a subagent, and requests that the client marks. The mark only
 * lowers the place of a request, so no client gains by a false mark.
 */
export function isBackground(
  { headers, record }: Pick<Exchange, "headers" | "record">,
): boolean {
  const { client } = record.facts;
  const priority = headers.get(PRIORITY_HEADER)?.trim().toLowerCase() ?? "";
  return client?.agent !== undefined || BACKGROUND_PRIORITIES.has(priority);
}
