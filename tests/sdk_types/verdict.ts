import type { Probe, TypedField } from "./read_types.ts";
import { type Protocol, PROTOCOLS } from "../../src/base/protocol.ts";

/**
 * What becomes of a field on its way to another protocol, by how good it is: carried, since the other side gets
 * something else with it than without it; dropped and named (`x-gateway-dropped`, the log); refused with 400; or left
 * out silently, for which the list has a reason.
 */
export type Verdict = "handled" | "named" | "refused" | "ignored";

/** By the protocol that it is translated to. */
export type Verdicts = Readonly<Partial<Record<Protocol, Verdict>>>;

const VERDICTS: readonly Verdict[] = ["handled", "named", "refused", "ignored"];

/** What the other side gets, and what is named as dropped. */
export interface Seen {
  readonly text: string;
  readonly dropped: readonly string[];
}

/**
 * Whether a field that changes nothing is named: by itself, or with the object that has it, which then changes nothing
 * either.
 *
 * @param seeBare What is seen without that object; `undefined` where it cannot be without.
 */
export function isNamed(
  having: Seen,
  without: Seen,
  seeBare: () => Seen | undefined,
): boolean {
  if (having.dropped.some((name) => !without.dropped.includes(name))) {
    return true;
  }
  return having.dropped.length > 0 && seeBare()?.text === having.text;
}

/** How many values of a field are looked at in each of its places. */
const MAX_VALUES = 12;

/**
 * What becomes of a field: of its values in one place the best, since some repeat a default; of its places the worst
 * where it vanishes in one, else the best, since in some it may not stand.
 */
function verdictOfProbes(
  probes: readonly Probe[],
  judge: (probe: Probe) => Verdict,
): Verdict {
  const places = Map.groupBy(probes, ({ place }) => place);
  const found = [...places.values()].map((some) =>
    best(some.slice(0, MAX_VALUES).map(judge))
  );
  return found.includes("ignored") ? "ignored" : best(found);
}

/** What becomes of a field on each route that translates it. */
export function verdictsOf(
  { entry, probes }: TypedField,
  judge: (probe: Probe, to: Protocol) => Verdict,
): Verdicts {
  const routes = PROTOCOLS.filter((to) => to !== entry.protocol);
  return Object.fromEntries(
    routes.map((to) => [to, verdictOfProbes(probes, (one) => judge(one, to))]),
  );
}

/** The best of some verdicts. */
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
