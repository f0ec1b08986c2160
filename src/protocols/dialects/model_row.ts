/**
 * One row of a table of models. Tables are read from the top: the first row that matches a model's id counts, so
 * that special models stand above their generation, and the last row is for what nobody knows yet.
 */
export interface ModelRow<Rules> {
  /** The ids that the row is for, in lower case and without a vendor's prefix. */
  readonly models: RegExp;
  /** Ids that this row answers for, and no row above it. */
  readonly examples: readonly string[];
  /** Where the provider, or somebody who asked it, says so. */
  readonly sources: readonly string[];
  readonly rules: Rules;
}

/** The rules of the first row for `model`, whatever its case and vendor's prefix; `undefined` where none matches. */
export function rulesFor<Rules>(
  rows: readonly ModelRow<Rules>[],
  model: string,
): Rules | undefined {
  return rowFor(rows, model)?.rules;
}

/** The first row for `model`. */
export function rowFor<Rules>(
  rows: readonly ModelRow<Rules>[],
  model: string,
): ModelRow<Rules> | undefined {
  const id = bareId(model);
  return rows.find(({ models }) => models.test(id));
}

/** `openai/gpt-5` and `ft:gpt-5:team::1` are the models that their ids name. */
function bareId(model: string): string {
  const [bare = ""] = model.toLowerCase().split("/").slice(-1);
  return bare.replace(/^ft:/, "");
}
