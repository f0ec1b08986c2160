import type { ConfigOption } from "./config_options.ts";

/** Outermost keys of a configuration. */
export type Overrides = Readonly<Record<string, unknown>>;

/** Two values of an option, as configurations that differ in nothing else. */
export type Pair = readonly [Overrides, Overrides];

/** What an option has to be found in, beside the schema. */
export interface OptionPlaces<Resolved> {
  /** Two values of each option that `check` shows. */
  readonly pairs: Readonly<Record<string, Pair>>;
  /** What `check` does not show although it is configured, with the reason. */
  readonly hidden: Readonly<Record<string, string>>;
  /** The options that the reference has a row for. */
  readonly documented: ReadonlySet<string>;
  resolve(overrides: Overrides): Promise<Resolved>;
  /** As `check` prints it. */
  show(resolved: Resolved): string;
}

/** What was forgotten of each option, each as a sentence that says where to put it; empty when nothing was. */
export async function optionFaults<Resolved>(
  options: readonly ConfigOption[],
  places: OptionPlaces<Resolved>,
): Promise<readonly string[]> {
  const { pairs, hidden, documented } = places;
  const paths = new Set(options.map(({ path }) => path));
  const named = [...Object.keys(pairs), ...Object.keys(hidden), ...documented];
  const gone = new Set(named.filter((path) => !paths.has(path)));
  const faults = await Promise.all(
    options.map((option) => faultsOf(option, places)),
  );
  return [
    ...faults.flat(),
    ...[...gone].map((path) => `${path} is no option of the schema any more`),
  ];
}

async function faultsOf<Resolved>(
  { path, description, isLeaf }: ConfigOption,
  { pairs, hidden, documented, resolve, show }: OptionPlaces<Resolved>,
): Promise<readonly string[]> {
  const faults: string[] = [];
  if (description === "") faults.push(`${path}: describe it in config/schema/`);
  if (!documented.has(path)) {
    faults.push(`${path}: give it a row in docs/configuration.md`);
  }
  const pair = pairs[path];
  if (!isLeaf || Object.hasOwn(hidden, path)) return faults;
  if (pair === undefined) {
    return [...faults, `${path}: give two values of it, or why it is hidden`];
  }
  const [one, other] = await Promise.all(pair.map(resolve));
  if (one === undefined || other === undefined) return faults;
  if (Deno.inspect(one, WHOLE) === Deno.inspect(other, WHOLE)) {
    return [...faults, `${path}: config/resolve/ makes nothing of it`];
  }
  return show(one) === show(other)
    ? [...faults, `${path}: config/describe.ts does not show it`]
    : faults;
}

const WHOLE = { depth: 100, iterableLimit: Infinity, strAbbreviateSize: 1e6 };
