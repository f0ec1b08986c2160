import type { ConfigOption } from "./config_options.ts";

/** Top-level keys of a configuration. */
export type Overrides = Readonly<Record<string, unknown>>;

/** Two configurations that differ only in the value of one option. */
export type Pair = readonly [Overrides, Overrides];

/** The places that must handle an option, besides the schema. */
export interface OptionPlaces<Resolved> {
  /** Two values of each option that `check` shows. */
  readonly pairs: Readonly<Record<string, Pair>>;
  /** The options that `check` does not show, with the reason. */
  readonly hidden: Readonly<Record<string, string>>;
  /** The options with a row in the reference. */
  readonly documented: ReadonlySet<string>;
  resolve(overrides: Overrides): Promise<Resolved>;
  /** Returns the output of `check`. */
  show(resolved: Resolved): string;
}

/** Returns the missing parts of each option, each with the place to add it; empty when none is missing. */
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
    ...[...gone].map((path) => `${path} is not an option of the schema`),
  ];
}

async function faultsOf<Resolved>(
  { path, description, isLeaf }: ConfigOption,
  { pairs, hidden, documented, resolve, show }: OptionPlaces<Resolved>,
): Promise<readonly string[]> {
  const faults: string[] = [];
  if (description === "") faults.push(`${path}: describe it in config/schema/`);
  if (!documented.has(path)) {
    faults.push(`${path}: give it a row with deno task reference`);
  }
  const pair = pairs[path];
  if (!isLeaf || Object.hasOwn(hidden, path)) return faults;
  if (pair === undefined) {
    return [...faults, `${path}: give two values of it, or why it is hidden`];
  }
  const [one, other] = await Promise.all(pair.map(resolve));
  if (one === undefined || other === undefined) return faults;
  if (Deno.inspect(one, WHOLE) === Deno.inspect(other, WHOLE)) {
    return [...faults, `${path}: config/resolve/ does not use it`];
  }
  return show(one) === show(other)
    ? [...faults, `${path}: config/describe.ts does not show it`]
    : faults;
}

const WHOLE = { depth: 100, iterableLimit: Infinity, strAbbreviateSize: 1e6 };
