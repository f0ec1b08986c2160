import type { Caller, Connection, ConnectionModel } from "../config.ts";
import {
  type Findings,
  formatPath,
  type Path,
  quote,
  suggestion,
} from "../problems.ts";
import type { FileFields } from "../schema/config_file.ts";
import type { TokenFields } from "../schema/token.ts";
import { selectFor, type SelectionIndex } from "../selection.ts";
import type { AmountLimit, Group, UsageLimit } from "../usage_limits.ts";
import { resolveUsageLimits } from "./usage_limits.ts";

/** What {@linkcode resolveCallers} needs besides the tokens. */
interface ResolveCallersOptions {
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

/** Knows what tokens may use. */
interface TokenLimits {
  /**
   * A token's limits: its own, or those of all that have none; and its group, whose limits bind in addition.
   *
   * @param path Of the token.
   */
  of(token: TokenFields, path: Path): Pick<Caller, "group" | "limits">;
  /** Told of every caller; reports the costs that nobody can count, and the groups without members. */
  review(callers: readonly Caller[]): void;
}

/** What {@linkcode createTokenLimits} needs. */
interface TokenLimitsOptions {
  readonly general: Pick<
    NonNullable<FileFields["general"]>,
    "defaults" | "groups"
  >;
  readonly index: SelectionIndex;
  /** As far as they could be resolved. */
  readonly connections: readonly Connection[];
  readonly findings: Findings;
}

/** Follows the limits that stand outside of tokens. */
export function createTokenLimits(
  { general: { defaults, groups }, ...options }: TokenLimitsOptions,
): TokenLimits {
  const { findings } = options;
  const resolve = (limits: TokenFields["limits"] = [], path: Path) => {
    const resolved = resolveUsageLimits(limits, { ...options, path });
    for (const limit of resolved) pathOf.set(limit, path);
    return resolved;
  };
  /** Of the list that a limit stands in. */
  const pathOf = new Map<UsageLimit, Path>();
  const preset = resolve(defaults.limits, ["defaults", "limits"]);
  const groupByName = new Map<string, Group>(
    Object.entries(groups).map(([name, { limits }]) => [name, {
      name,
      limits: resolve(limits, ["groups", name, "limits"]),
    }]),
  );

  function groupNamed(
    name: string | undefined,
    path: Path,
  ): Group | undefined {
    if (name === undefined) return undefined;
    const group = groupByName.get(name);
    if (group === undefined) {
      findings.problem(
        [...path, "group"],
        `is not among \`groups\`${suggestion(name, groupByName.keys())}`,
      );
    }
    return group;
  }

  return {
    of: (token, path) => ({
      group: groupNamed(token.group, path),
      limits: token.limits === undefined
        ? preset
        : resolve(token.limits, [...path, "limits"]),
    }),
    review(callers) {
      const bound = Map.groupBy(
        callers.flatMap((caller) =>
          [...caller.limits, ...caller.group?.limits ?? []]
            .filter(isOfCost).map((limit) => ({ limit, caller }))
        ),
        ({ limit }) => limit,
      );
      for (const [limit, pairs] of bound) {
        reportUnpriced(limit, {
          ...options,
          callers: pairs.map(({ caller }) => caller),
          path: pathOf.get(limit) ?? [],
        });
      }
      const members = new Set(callers.map(({ group }) => group));
      for (const group of groupByName.values()) {
        if (members.has(group)) continue;
        findings.warn(["groups", group.name], "has no member");
      }
    },
  };
}

function isOfCost(limit: UsageLimit): limit is AmountLimit {
  return limit.kind === "amount" && limit.unit === "cost";
}

/** A cost that is limited must be known of whatever those whom it binds may use. */
function reportUnpriced(
  limit: AmountLimit,
  { connections, callers, path, findings }: {
    readonly connections: readonly Connection[];
    readonly callers: readonly Caller[];
    readonly path: Path;
    readonly findings: Findings;
  },
): void {
  for (const connection of connections) {
    if (!connection.enabled) continue;
    const unpriced = connection.models.find((model) =>
      model.price === undefined && counts(limit, connection, model) &&
      callers.some((caller) => mayUse(caller, connection, model))
    );
    if (unpriced === undefined) continue;
    findings.problem(
      path,
      `limit the cost, and the model ${quote(unpriced.id)} of ${
        quote(connection.name)
      } has no price; give it a price, or name the models that the limit is for`,
    );
    return;
  }
}

function counts(
  { models, connections }: AmountLimit,
  connection: Connection,
  model: ConnectionModel,
): boolean {
  return (models?.includes(model.id) ?? true) &&
    (connections?.includes(connection.name) ?? true);
}

function mayUse(
  { connectionIds, models }: Caller,
  connection: Connection,
  model: ConnectionModel,
): boolean {
  return connectionIds.has(connection.id) && (models?.has(model.id) ?? true);
}
