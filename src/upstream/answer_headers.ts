import { HOP_BY_HOP, namedByConnection } from "./hop_by_hop.ts";

/**
 * Upstream headers that never come back (docs/design.md#headers): what belongs to the upstream's connection or
 * body encoding, its cookies and challenges, and what would bind the caller's client to another host or
 * scheme under the gateway's name.
 */
const WITHHELD: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  "set-cookie",
  "content-encoding",
  "content-length",
  "www-authenticate",
  "proxy-authenticate",
  "alt-svc",
  "strict-transport-security",
]);

/**
 * The headers of an upstream answer that the caller gets.
 *
 * @param renamed Whether the upstream knows the model by another name; then `openai-model` stays back, which
 * Codex reads as a warning about the account.
 */
export function answerHeaders(
  upstream: Headers,
  renamed: boolean,
): [string, string][] {
  const dropped = namedByConnection(upstream);
  const pairs: [string, string][] = [];
  upstream.forEach((value, name) => {
    const isWithheld = WITHHELD.has(name) || dropped.has(name) ||
      (renamed && name === "openai-model");
    if (!isWithheld) pairs.push([name, value]);
  });
  return pairs;
}
