import type { Caller, Connection, ConnectionModel } from "../config.ts";
import { type Findings, type Path, quote, suggestion } from "../problems.ts";
import type { FileFields } from "../schema/config_file.ts";
import type { TokenFields } from "../schema/token.ts";
import type { SelectionIndex } from "../selection.ts";
import type { AmountLimit, Group, UsageLimit } from "../usage_limits.ts";
import { resolveUsageLimits } from "./usage_limits.ts";

/** Knows what tokens may use. */
export interface TokenLimits {
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
export interface TokenLimitsOptions {
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
