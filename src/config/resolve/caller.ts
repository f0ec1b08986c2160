import type { Caller } from "../config.ts";
import { type Findings, formatPath, type Path } from "../problems.ts";
import type { TokenFields } from "../schema/token.ts";
import { selectFor, type SelectionIndex } from "../selection.ts";
import type { TokenLimits } from "./token_limits.ts";

/** What {@linkcode resolveCallers} needs besides the tokens. */
export interface ResolveCallersOptions {
  readonly index: SelectionIndex;
  readonly tokenLimits: TokenLimits;
  /** How many requests may run at once in all. */
  readonly maxConcurrentRequests: number;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly findings: Findings;
}

/**
 * Follows the tokens to the connections and models that they name.
 *
 * @param tokens In the file's order; `undefined` stands for one with problems.
 * @returns The callers by the SHA-256 of each of their tokens.
 */
export function resolveCallers(
  tokens: readonly (TokenFields | undefined)[],
  options: ResolveCallersOptions,
): ReadonlyMap<string, Caller> {
  const pathByName = new Map<string, Path>();
  const pathBySha256 = new Map<string, Path>();
  const callers = new Map<string, Caller>();
  tokens.forEach((token, index) => {
    if (token === undefined) return;
    const path = ["tokens", index];
    const { index: selection, tokenLimits, findings } = options;
    claim(pathByName, { key: token.name, field: "name", path, findings });
    for (const key of token.sha256) {
      claim(pathBySha256, { key, field: "sha256", path, findings });
    }
    if (token.expires_at !== undefined && token.expires_at <= options.nowMs) {
      findings.warn(
        [...path, "expires_at"],
        "has passed: the token is refused",
      );
    }
    const caller: Caller = {
      name: token.name,
      sha256: token.sha256[0],
      expiresAtMs: token.expires_at,
      ...selectFor(token, { index: selection, path, findings }),
      maxConcurrent: token.max_concurrent ??
        defaultConcurrency(options.maxConcurrentRequests),
      ...tokenLimits.of(token, path),
    };
    for (const sha256 of token.sha256) callers.set(sha256, caller);
  });
  options.tokenLimits.review([...new Set(callers.values())]);
  return callers;
}

/** One token alone must not fill the gateway. */
function defaultConcurrency(maxConcurrentRequests: number): number {
  return Math.max(1, Math.floor(maxConcurrentRequests / 4));
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
