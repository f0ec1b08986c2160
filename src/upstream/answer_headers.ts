import type { HeaderFields } from "../core/header_fields.ts";
import { saneWaitHeader } from "../core/retry_after.ts";
import type { Clock } from "../core/time/clock.ts";
import { nameMatcher, WITHHELD_FROM_CALLER } from "./header_names.ts";
import { namedByConnection } from "./hop_by_hop.ts";
import type { Secrets } from "./secrets.ts";

const isWithheld = nameMatcher(WITHHELD_FROM_CALLER);

/** What decides about an upstream's headers beside their names. */
export interface AnswerHeadersOptions {
  /**
   * Whether the upstream knows the model by another name; then `openai-model` stays back, which Codex reads as a
   * warning about the account.
   */
  readonly isRenamed: boolean;
  /** What no value may hold. */
  readonly secrets: Pick<Secrets, "areIn">;
  /** For a wait that ends at a date. */
  readonly clock: Pick<Clock, "now">;
}

/**
 * Returns the headers of an upstream's answer that the caller gets (docs/http.md#headers). A wait longer than the
 * timers of clients hold is shortened, and one that no quota can mean is left out.
 */
export function answerHeaders(
  upstream: HeaderFields,
  { isRenamed, secrets, clock }: AnswerHeadersOptions,
): [string, string][] {
  const dropped = namedByConnection(upstream);
  const pairs: [string, string][] = [];
  upstream.forEach((value, name) => {
    const staysHere = isWithheld(name) || dropped.includes(name) ||
      (isRenamed && name === "openai-model") || secrets.areIn(value);
    const shown = staysHere ? undefined : shownValue(name, value, clock);
    if (shown !== undefined) pairs.push([name, shown]);
  });
  return pairs;
}

function shownValue(
  name: string,
  value: string,
  clock: Pick<Clock, "now">,
): string | undefined {
  return name === "retry-after" || name === "retry-after-ms"
    ? saneWaitHeader(name, value, clock.now())
    : value;
}
