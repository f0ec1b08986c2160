import type { Access, Caller, Connection, ConnectionModel } from "../config.ts";
import {
  createClaims,
  type Findings,
  type Located,
  type Path,
  quote,
  suggestion,
} from "@gateway/base/problems";
import type { GroupEntry, TokenEntry } from "../schema/config_file.ts";
import type {
  AccessFields,
  GroupFields,
  TokenFields,
} from "../schema/token.ts";
import {
  inRegions,
  knownRegions,
  modelsOn,
  selectFor,
  type SelectionIndex,
} from "../selection.ts";
import {
  type AmountLimit,
  countsRow,
  type Group,
  limitsOn,
  type UsageLimit,
} from "../usage_limits.ts";
import { resolveUsageLimits } from "./usage_limits.ts";

interface ResolveCallersOptions {
  readonly access: Pick<AccessResolver, "of">;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly findings: Findings;
}

/**
 * Resolves the tokens to callers with their connections and models.
 *
 * @param tokens In the files' order.
 * @returns The callers by the SHA-256 of each of their tokens.
 */
export function resolveCallers(
  tokens: readonly TokenEntry[],
  options: ResolveCallersOptions,
): ReadonlyMap<string, Caller> {
  const { access, findings } = options;
  const claimed = (field: string) =>
    createClaims(
      findings,
      (other) => `is also the ${field} of ${other}. Each token needs its own.`,
    );
  const [claimName, claimHash] = [claimed("name"), claimed("sha256")];
  const callers = new Map<string, Caller>();
  for (const { fields: token, path } of tokens) {
    if (token === undefined) continue;
    claimName(token.name, path, "name");
    for (const sha256 of token.sha256) claimHash(sha256, path, "sha256");
    if (token.expires_at !== undefined && token.expires_at <= options.nowMs) {
      findings.warn(
        [...path, "expires_at"],
        "has passed. The gateway rejects the token.",
      );
    }
    const caller: Caller = {
      name: token.name,
      sha256: token.sha256[0],
      expiresAtMs: token.expires_at,
      ...access.of(token, path),
    };
    for (const sha256 of token.sha256) callers.set(sha256, caller);
  }
  return callers;
}

/** Returns a quarter of the running requests of all callers, so that no single caller can fill the gateway. */
function defaultConcurrency(maxConcurrentRequests: number): number {
  return Math.max(1, Math.floor(maxConcurrentRequests / 4));
}

/** Resolves what tokens and rules may use. */
export interface AccessResolver {
  /**
   * Returns what a token or rule may use. Settings that the entry lacks come from all of its groups. If the entry has
   * no limits, the default limits apply. The limits of the groups apply in addition.
   *
   * @param path The path of the token or rule.
   */
  of(fields: AccessFields, path: Path): Access;
  /** Checks all callers and rules: reports cost limits on models without a price, and groups without members. */
  review(all: readonly Access[]): void;
}

interface AccessOptions {
  readonly defaults: Pick<TokenFields, "limits">;
  readonly groups: readonly GroupEntry[];
  readonly index: SelectionIndex;
  /** The connections that could be resolved. */
  readonly connections: readonly Connection[];
  /** The number of requests of all callers that may run at once. */
  readonly maxConcurrentRequests: number;
  readonly findings: Findings;
}

/** Resolves `defaults` and `groups`. */
export function createAccessResolver(
  { defaults, groups, maxConcurrentRequests, ...options }: AccessOptions,
): AccessResolver {
  const { findings, index } = options;
  const resolve = (limits: GroupFields["limits"] = [], path: Path) => {
    const resolved = resolveUsageLimits(limits, { ...options, path });
    for (const limit of resolved) pathOf.set(limit, path);
    return resolved;
  };
  /** For each limit, the path of the list that holds the limit. */
  const pathOf = new Map<UsageLimit, Path>();
  const defaultLimits = resolve(defaults.limits, ["defaults", "limits"]);
  const groupByName = new Map<string, { group: Group; path: Path }>();
  const claimName = createClaims(
    findings,
    (other) => `is also in ${other}. Keep one of them.`,
  );
  for (const { name, path, fields } of groups) {
    const group = {
      name,
      limits: resolve(fields.limits, [...path, "limits"]),
      ...selectFor(fields, undefined, { index, path, findings }),
      regions: knownRegions(fields.regions, { index, path, findings }),
      maxConcurrent: fields.max_concurrent,
      weight: fields.weight,
    };
    if (claimName(name, path)) groupByName.set(name, { group, path });
  }

  function groupNamed(name: string, path: Path): readonly Group[] {
    const found = groupByName.get(name);
    if (found !== undefined) return [found.group];
    const hint = suggestion(name, groupByName.keys()) || ".";
    findings.problem(path, `is not a name in \`groups\`${hint}`);
    return [];
  }

  function groupsOf({ group }: AccessFields, path: Path): readonly Group[] {
    return typeof group === "string"
      ? groupNamed(group, [...path, "group"])
      : group.flatMap((name, position) =>
        groupNamed(name, [...path, "group", position])
      );
  }

  return {
    of(fields, path) {
      const groups = groupsOf(fields, path);
      const ids = unionOf(groups.flatMap((group) => group.connectionIds ?? []));
      const own = selectFor(fields, ids, { index, path, findings });
      const areKnown = groups.length === [fields.group].flat().length;
      if (areKnown && own.connectionIds === undefined && ids === undefined) {
        findings.problem(
          [...path, "connections"],
          groups.length === 0
            ? "is missing."
            : "is missing, and no group of the token has connections. Name connections here or in the group.",
        );
      }
      const weights = groups.flatMap((group) => group.weight ?? []);
      const mosts = groups.flatMap((group) => group.maxConcurrent ?? []);
      const regions = commonRegions([
        knownRegions(fields.regions, { index, path, findings }),
        ...groups.map((group) => group.regions),
      ]);
      return {
        ...inRegions(regions, own.connectionIds ?? ids ?? new Set(), {
          index,
          path,
          findings,
        }),
        models: fields.models === undefined
          ? modelsOf(groups, own.connectionIds !== undefined, index)
          : own.models,
        maxConcurrent: fields.max_concurrent ??
          (mosts.length > 0
            ? Math.max(...mosts)
            : defaultConcurrency(maxConcurrentRequests)),
        weight: fields.weight ??
          (weights.length > 0 ? Math.max(...weights) : 1),
        groups,
        limits: fields.limits === undefined
          ? defaultLimits
          : resolve(fields.limits, [...path, "limits"]),
        inherited: [
          ...(own.connectionIds === undefined ? ["connections" as const] : []),
          ...(fields.models === undefined && groups.some(givesAccess)
            ? ["models" as const]
            : []),
          ...(fields.max_concurrent === undefined && mosts.length > 0
            ? ["maxConcurrent" as const]
            : []),
        ],
      };
    },
    review(callers) {
      const limited = callers.flatMap((caller) =>
        limitsOn(caller).filter(limitsCost)
          .map((limit) => ({ limit, caller }))
      );
      const byList = Map.groupBy(limited, ({ limit }) => pathOf.get(limit));
      for (const [path = [], pairs] of byList) {
        reportUnpriced(pairs, { ...options, path });
      }
      const used = new Set(callers.flatMap((caller) => caller.groups));
      for (const { group, path } of groupByName.values()) {
        if (!used.has(group)) findings.warn(path, "has no members.");
      }
    },
  };
}

function givesAccess({ connectionIds, models }: Group): boolean {
  return connectionIds !== undefined || models !== undefined;
}

/**
 * Returns the models that a member gets from its groups if its entry names no models; `undefined` for every model of
 * the member's connections. A group that does not restrict models gives all models of the group's connections.
 *
 * @param hasOwnConnections True when the member's connections replace the connections of the groups.
 */
function modelsOf(
  groups: readonly Group[],
  hasOwnConnections: boolean,
  { directory }: SelectionIndex,
): ReadonlySet<string> | undefined {
  const giving = groups.filter(givesAccess);
  const isFree = ({ models }: Group) => models === undefined;
  if (giving.every(isFree)) return undefined;
  if (hasOwnConnections && giving.some(isFree)) return undefined;
  return unionOf(
    giving.map(({ models, connectionIds = new Set() }) =>
      models ?? modelsOn(connectionIds, directory)
    ),
  );
}

/** Returns the union of sets. Returns a single set as it is, and `undefined` when there is no set. */
function unionOf(
  sets: readonly ReadonlySet<string>[],
): ReadonlySet<string> | undefined {
  return sets.length > 1
    ? sets.reduce((all, one) => all.union(one))
    : sets.at(0);
}

/** Returns the regions that are in every list; `undefined` when there is no list. */
function commonRegions(
  lists: readonly (readonly string[] | undefined)[],
): readonly string[] | undefined {
  return lists.reduce(
    (common, one) =>
      common === undefined || one === undefined
        ? common ?? one
        : common.filter((region) => one.includes(region)),
    undefined,
  );
}

function limitsCost(limit: UsageLimit): limit is AmountLimit {
  return limit.kind === "amount" && limit.unit === "cost";
}

/** Reports limits of cost that count models without a price, if a caller of the limit may use these models. */
function reportUnpriced(
  pairs: readonly { readonly limit: AmountLimit; readonly caller: Access }[],
  { connections, path, findings }: Located & {
    readonly connections: readonly Connection[];
  },
): void {
  const unpriced = connections.filter(({ enabled }) => enabled)
    .flatMap((connection) =>
      connection.models.filter((model) =>
        model.price === undefined &&
        pairs.some(({ limit, caller }) =>
          countsRow(limit, { connection: connection.name, model: model.id }) &&
          mayUse(caller, connection, model)
        )
      ).map(({ id }) =>
        `${quote(id)} of ${
          quote(connection.keyOf?.connection ?? connection.name)
        }`
      )
    );
  if (unpriced.length === 0) return;
  findings.problem(
    path,
    `limit the cost of models without a price: ${
      [...new Set(unpriced)].join(", ")
    }. Give each a price, or name the models that the limit counts.`,
  );
}

function mayUse(
  { connectionIds, models }: Access,
  connection: Connection,
  model: ConnectionModel,
): boolean {
  return connectionIds.has(connection.id) && (models?.has(model.id) ?? true);
}
