import type { ConfigOption } from "./config_options.ts";

/** Top-level keys of a configuration. */
export type Overrides = Readonly<Record<string, unknown>>;

/** Two configurations that differ only in the value of one option. */
export type Pair = readonly [Overrides, Overrides];

/** The places that must handle an option, besides the schema. */
export interface OptionPlaces<Resolved> {
  /** Two values of each option whose type does not suggest any. */
  readonly pairs: Readonly<Record<string, Pair>>;
  /** Returns a file with a value of an option. */
  fileWith(path: string, value: unknown): Overrides;
  /** The options with a row in the reference. */
  readonly documented: ReadonlySet<string>;
  resolve(overrides: Overrides): Promise<Resolved>;
  /** Returns the output of `check`. */
  show(resolved: Resolved): string;
}

/** Returns a line for each place where an option is missing; empty when none is. */
export async function optionFaults<Resolved>(
  options: readonly ConfigOption[],
  places: OptionPlaces<Resolved>,
): Promise<readonly string[]> {
  const { pairs, documented } = places;
  const paths = new Set(options.map(({ path }) => path));
  const named = [...Object.keys(pairs), ...documented];
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
  option: ConfigOption,
  { pairs, fileWith, documented, resolve, show }: OptionPlaces<Resolved>,
): Promise<readonly string[]> {
  const { path, description, isLeaf, isSecret } = option;
  const faults: string[] = [];
  if (description === "") faults.push(`${path}: describe it in config/schema/`);
  if (!documented.has(path)) {
    faults.push(`${path}: give it a row with deno task reference`);
  }
  if (!isLeaf || isSecret && pairs[path] === undefined) return faults;
  const pair = pairs[path] ??
    valuesOf(option).map((value) => fileWith(path, value));
  const [one, other] = await Promise.all(pair.map(resolve));
  if (one === undefined || other === undefined) return faults;
  if (Deno.inspect(one, WHOLE) === Deno.inspect(other, WHOLE)) {
    return [...faults, `${path}: config/resolve/ does not use it`];
  }
  return show(one) === show(other)
    ? [...faults, `${path}: config/schema/shown.ts does not show it`]
    : faults;
}

/** Returns two values of an option by its type. A text is the name of a file that exists. */
function valuesOf({ forms }: ConfigOption): readonly [unknown, unknown] {
  const types = forms.map(({ type }) => type);
  const [one, other] = forms.flatMap((form) => form.enum ?? []);
  if (other !== undefined) return [one, other];
  if (types.includes("boolean")) return [false, true];
  if (types.includes("integer") || types.includes("number")) return [2, 3];
  return ["f", "g"];
}

const WHOLE = { depth: 100, iterableLimit: Infinity, strAbbreviateSize: 1e6 };
