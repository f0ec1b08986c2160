import type { Probe, TypedField } from "./read_types.ts";
import { type Protocol, PROTOCOLS } from "../../src/base/protocol.ts";

/**
 * The effect of a field on a translation, the best first. `handled`: the field changes the result. `named`: it is
 * dropped and named (`x-gateway-dropped`, the log). `refused`: the gateway responds with 400. `ignored`: it is silently
 * left out, for a reason in the list.
 */
export type Verdict = "handled" | "named" | "refused" | "ignored";

/** The verdicts by target protocol. */
export type Verdicts = Readonly<Partial<Record<Protocol, Verdict>>>;

const VERDICTS: readonly Verdict[] = ["handled", "named", "refused", "ignored"];

/** The result of a translation, and the fields named as dropped. */
export interface Seen {
  readonly text: string;
  readonly dropped: readonly string[];
}

/**
 * Returns true when a field without effect is named as dropped, by itself or with the object that has it.
 *
 * @param seeBare Returns the result without that object; `undefined` if the object is required.
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

/** The most values of a field to test in each of its places. */
const MAX_VALUES = 12;

/**
 * Returns the verdict on a field. In one place, its best value counts: some values repeat a default. If any place
 * ignores the field, it is ignored; else its best place counts: some places do not allow it.
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

/** Returns the verdict on a field for each translated route. */
export function verdictsOf(
  { entry, probes }: TypedField,
  judge: (probe: Probe, to: Protocol) => Verdict,
): Verdicts {
  const routes = PROTOCOLS.filter((to) => to !== entry.protocol);
  return Object.fromEntries(
    routes.map((to) => [to, verdictOfProbes(probes, (one) => judge(one, to))]),
  );
}

/** Returns the best of some verdicts. */
export function best(found: readonly Verdict[]): Verdict {
  return VERDICTS.find((verdict) => found.includes(verdict)) ?? "ignored";
}

/** Returns a text such as `handled`, or `chat:handled messages:named` if the routes differ. */
export function formatVerdicts(verdicts: Verdicts): string {
  const words = new Set(Object.values(verdicts));
  const [word] = words;
  if (word !== undefined && words.size === 1) return word;
  return Object.entries(verdicts).map(([to, verdict]) => `${to}:${verdict}`)
    .join(" ");
}
