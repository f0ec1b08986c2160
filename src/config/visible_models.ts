import type { Caller, Config } from "./config.ts";

/** The models that a caller may ask for, in the file's order: assigned, and served by an enabled connection. */
export function visibleModels(
  caller: Caller,
  config: Config,
): readonly string[] {
  return [...config.pools].flatMap(([model, pool]) => {
    const allowed = caller.models?.has(model) ?? true;
    const served = allowed &&
      pool.some(({ connection }) => caller.connectionIds.has(connection.id));
    return served ? [model] : [];
  });
}
