import type { Caller } from "./config.ts";
import type { DirectoryEntry } from "./directory.ts";
import {
  type Findings,
  formatPath,
  type Path,
  suggestion,
} from "./problems.ts";
import type { TokenFields } from "./schema_token.ts";

/** What {@linkcode resolveCallers} needs besides the tokens. */
export interface ResolveCallersOptions {
  readonly directory: readonly DirectoryEntry[];
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly findings: Findings;
}

/**
 * Follows the tokens to the connections and models that they name.
 *
 * @param tokens In the file's order; `undefined` stands for one with problems.
 * @returns The callers by the SHA-256 of their token.
 */
export function resolveCallers(
  tokens: readonly (TokenFields | undefined)[],
  options: ResolveCallersOptions,
): ReadonlyMap<string, Caller> {
  const selection = createSelection(options.directory);
  const pathByName = new Map<string, Path>();
  const pathBySha256 = new Map<string, Path>();
  const callers = new Map<string, Caller>();
  tokens.forEach((token, index) => {
    if (token === undefined) return;
    const path = ["tokens", index];
    const sha256 = token.sha256.toLowerCase();
    const { findings } = options;
    claim(pathByName, { key: token.name, field: "name", path, findings });
    claim(pathBySha256, { key: sha256, field: "sha256", path, findings });
    if (token.expires_at !== undefined && token.expires_at <= options.nowMs) {
      findings.warn(
        [...path, "expires_at"],
        "has passed: the token is refused",
      );
    }
    const chosen = selection.choose(token, { path, findings });
    callers.set(sha256, {
      name: token.name,
      sha256,
      expiresAtMs: token.expires_at,
      connectionIds: chosen.connectionIds,
      models: chosen.models,
      maxConcurrent: token.max_concurrent,
    });
  });
  return callers;
}

/** Reports that another token has the same name or hash. */
function claim(
  pathByKey: Map<string, Path>,
  { key, field, path, findings }: {
    readonly key: string;
    readonly field: string;
    readonly path: Path;
    readonly findings: Findings;
  },
): void {
  const first = pathByKey.get(key);
  if (first === undefined) {
    pathByKey.set(key, path);
    return;
  }
  findings.problem(
    [...path, field],
    `is also the ${field} of ${formatPath(first)}; each token has its own`,
  );
}

/** Finds what tokens refer to; equal choices share one set, so that thousands of tokens stay small. */
function createSelection(directory: readonly DirectoryEntry[]) {
  const byReference = new Map<string, DirectoryEntry>();
  for (const entry of directory) {
    if (entry.name !== undefined) byReference.set(entry.name, entry);
  }
  for (const entry of directory) {
    if (entry.id !== undefined) byReference.set(entry.id, entry);
  }
  const allIds = idsOf(directory);
  const allModels = new Set(
    directory.flatMap((entry) => [...entry.modelIds]),
  );

  function chooseConnections(
    references: readonly string[],
    { path, findings }: { readonly path: Path; readonly findings: Findings },
  ): readonly DirectoryEntry[] | undefined {
    let unknown = 0;
    const entries = references.flatMap((reference, index) => {
      if (reference === "*") return directory;
      const entry = byReference.get(reference) ??
        byReference.get(reference.toLowerCase());
      if (entry !== undefined) return [entry];
      unknown += 1;
      findings.problem(
        [...path, "connections", index],
        `is neither the name nor the id of a connection${
          suggestion(reference, byReference.keys())
        }`,
      );
      return [];
    });
    return unknown === 0 ? entries : undefined;
  }

  function checkModels(
    models: readonly string[],
    { path, findings, serves }: {
      readonly path: Path;
      readonly findings: Findings;
      readonly serves: (model: string) => boolean;
    },
  ): void {
    models.forEach((model, index) => {
      if (model === "*" || serves(model)) return;
      const message = allModels.has(model)
        ? "is served by no connection of this token"
        : `is served by no connection${suggestion(model, allModels)}`;
      findings.problem([...path, "models", index], message);
    });
  }

  return {
    choose(
      token: TokenFields,
      place: { readonly path: Path; readonly findings: Findings },
    ): Pick<Caller, "connectionIds" | "models"> {
      const everything = token.connections.includes("*");
      const entries = chooseConnections(token.connections, place);
      const models = token.models ?? ["*"];
      if (entries !== undefined && entries.length > 0) {
        const serves = (model: string) =>
          everything
            ? allModels.has(model)
            : entries.some((entry) => entry.modelIds.has(model));
        checkModels(models, { ...place, serves });
      }
      return {
        connectionIds: everything ? allIds : idsOf(entries ?? []),
        models: models.includes("*") ? undefined : new Set(models),
      };
    },
  };
}

function idsOf(entries: readonly DirectoryEntry[]): ReadonlySet<string> {
  return new Set(entries.flatMap((entry) => entry.id ?? []));
}
