import { isNonEmpty } from "@gateway/base/collections";
import { ALL_EFFORTS, type EffortWord } from "../canonical/request/effort.ts";

/**
 * Returns the efforts that all rows have in common. Rows without efforts are skipped, because they belong to another
 * kind of model.
 */
export function commonEfforts(
  rows: readonly (readonly EffortWord[])[],
): readonly EffortWord[] {
  const known = rows.filter((words) => words.length > 0);
  return ALL_EFFORTS.filter((word) =>
    known.length > 0 && known.every((words) => words.includes(word))
  );
}

/**
 * One row of a table of models. The first row that matches a model's id counts. So the rows of special models stand
 * before the row of their generation.
 */
export interface ModelRow<Rules> {
  /** Matches the ids of the row, in the form that {@link bareId} returns. */
  readonly models: RegExp;
  /** Ids that match this row and no row above it. An unknown model gets the rules of the closest examples. */
  readonly examples: readonly string[];
  /** The provider's documentation, or reports of people who tested the model. */
  readonly sources: readonly string[];
  readonly rules: Rules;
}

/**
 * Returns the rules of the first row that matches `model`, or `undefined` if no row matches. The case of the id and the
 * spelling of its host do not matter.
 *
 * If `strictest` is given, an unknown model of the maker gets rules too: `strictest` joins the rules of similar models.
 * For an unknown version, these are the models of the closest earlier version, and of the closest earlier version with
 * the same variant (`pro`). A name without a version may move to a new generation. For such a name, these are the
 * models of its variant, or else all models of the maker.
 */
export function rulesFor<Rules>(
  rows: readonly ModelRow<Rules>[],
  model: string,
  strictest?: (rows: readonly [Rules, ...Rules[]]) => Rules,
): Rules | undefined {
  const id = bareId(model);
  const known = rows.find(({ models }) => models.test(id))?.rules;
  if (known !== undefined || strictest === undefined) return known;
  const { maker, version, variant } = partsOf(id);
  const kin = rows.flatMap(({ examples, rules }) =>
    examples.map((example) => ({ ...partsOf(bareId(example)), rules }))
  ).filter((one) => one.maker === maker && one.version <= version);
  const newest = (models: typeof kin) => {
    const last = Math.max(...models.map((one) => one.version));
    return models.filter((one) => one.version === last);
  };
  const ofVariant = kin.filter((one) => one.variant === variant);
  const near = version < Infinity
    ? [...newest(kin), ...newest(ofVariant)]
    : ofVariant.length > 0
    ? ofVariant
    : kin;
  const found = (near.length === 0 ? rows : near).map(({ rules }) => rules);
  return isNonEmpty(found) ? strictest(found) : undefined;
}

/** Matches the parts of a bare id: `kimi-k3.1-pro` has the maker `kimi`, the version 3.1 and the variant `pro`. */
const PARTS_REGEXP =
  /^([a-z]+)(?:-?[a-z]{0,6}?-?(\d+)(?!\d*b)(?:[.p-](\d{1,2})(?![\db]))?)?-?(.*)/;

function partsOf(id: string) {
  const [, maker, major, minor = "0", variant] = PARTS_REGEXP.exec(id) ?? [];
  const version = major ? Number(major) * 100 + Number(minor) : Infinity;
  return { maker, version, variant };
}

/**
 * Returns an id in lower case, without what hosts add: paths (`accounts/fireworks/models/`), vendors and regions
 * (`us.openai.`), deployments (`@20251001`, `-v1:0`, `-maas`), offers (`:free`), and the dates and stages of a release.
 */
export function bareId(model: string): string {
  const [bare = ""] = model.toLowerCase().split("/").slice(-1);
  return bare.replace(/^ft:|-v\d+:\d+$/g, "").replace(/[:@].*$/, "").replace(
    /^k(?=\d)/,
    "kimi-k",
  )
    .replace(/^(?:[a-z-]+\.)+(?=[a-z-]+\d|[a-z]+-)(?![vr]\d)/, "")
    .replace(STAGE_REGEXP, "");
}

const STAGE_REGEXP =
  /(?:-(?:maas|preview|latest|exp|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d{6,8}|(?:0\d|1[0-2])[0-3]\d))+$/;
