import { nameMatcher, WITHHELD_FROM_CALLER } from "./header_names.ts";
import { namedByConnection } from "./hop_by_hop.ts";

const isWithheld = nameMatcher(WITHHELD_FROM_CALLER);

/**
 * The headers of an upstream answer that the caller gets (docs/http.md#headers).
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
    const staysHere = isWithheld(name) || dropped.has(name) ||
      (renamed && name === "openai-model");
    if (!staysHere) pairs.push([name, value]);
  });
  return pairs;
}
