import type { Exchange } from "../exchange.ts";

/** The header with which a client marks a request that nobody waits for, and the values that do so. */
const PRIORITY_HEADER = "x-priority";
const BACKGROUND_PRIORITIES: ReadonlySet<string> = new Set([
  "background",
  "batch",
  "low",
]);

/**
 * Returns true for work that nobody watches: of a subagent, or marked by the client. Such a mark only lowers the place
 * of a request, so no client gains by it.
 */
export function isBackground(
  { headers, record }: Pick<Exchange, "headers" | "record">,
): boolean {
  const { client } = record.facts;
  const priority = headers.get(PRIORITY_HEADER)?.trim().toLowerCase() ?? "";
  return client?.agent !== undefined || BACKGROUND_PRIORITIES.has(priority);
}
