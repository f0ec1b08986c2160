import type { Protocol } from "../../src/core/protocol.ts";

/**
 * What becomes of a field on its way to another protocol, by how good it is: carried, since the other side gets
 * something else with it than without it; dropped and named (`x-gateway-dropped`, the log); refused with 400; or left
 * out silently, for which the list has a reason.
 */
export type Verdict = "handled" | "named" | "refused" | "ignored";

/** By the protocol that it is translated to. */
export type Verdicts = Readonly<Partial<Record<Protocol, Verdict>>>;

const VERDICTS: readonly Verdict[] = ["handled", "named", "refused", "ignored"];

/** Of how many values of a field it is looked at what becomes of them. */
export const MAX_PROBES = 12;

/** The best of what became of several values of a field: of some, nothing else can become. */
export function best(found: readonly Verdict[]): Verdict {
  return VERDICTS.find((verdict) => found.includes(verdict)) ?? "ignored";
}

/** Such as `handled`, or `chat:handled messages:named` where the routes differ. */
export function formatVerdicts(verdicts: Verdicts): string {
  const words = new Set(Object.values(verdicts));
  const [word] = words;
  if (word !== undefined && words.size === 1) return word;
  return Object.entries(verdicts).map(([to, verdict]) => `${to}:${verdict}`)
    .join(" ");
}
