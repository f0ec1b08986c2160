import type { Config, Connection, Timeouts } from "../config.ts";
import {
  aliasesIn,
  readDirectory,
  reportAmbiguousNames,
} from "../directory.ts";
import type { ReadFile } from "../named_file.ts";
import type { Findings } from "../problems.ts";
import { reportAliasFaults } from "./aliases.ts";
import { resolveCallers } from "./caller.ts";
import { resolveConnection } from "./connection.ts";
import {
  reportDuplicateModels,
  reportFallbackFaults,
  resolveListedModels,
  resolvePools,
} from "./models.ts";
import { resolveServer, resolveTimeouts } from "./server.ts";
import { resolveShared } from "./shared.ts";
import { indexSelection } from "../selection.ts";
import { createTokenLimits } from "./token_limits.ts";
import { validateFile } from "../schema/config_file.ts";
import type { ConnectionFields } from "../schema/connection.ts";

/** What {@linkcode resolve} needs besides the tree. */
export interface ResolveOptions {
  readonly readFile: ReadFile;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly findings: Findings;
}

/**
 * Makes a configuration of the tree of a file: validates it, follows every reference, reads the keys.
 *
 * @returns `undefined` when there is a problem; the findings have all of them.
 */
export async function resolve(
  tree: unknown,
  options: ResolveOptions,
): Promise<Config | undefined> {
  const { findings } = options;
  const { general, connections: fields, tokens } = validateFile(tree, findings);
  if (general === undefined) return undefined;
  const directory = await readDirectory(tree);
  reportAmbiguousNames(directory, findings);
  const idByAlias = aliasesIn(directory);
  reportAliasFaults(fields, { directory, findings });
  reportFallbackFaults(fields, { directory, idByAlias, findings });
  const server = await resolveServer(general.server, options);
  const shared = await resolveShared(general.shared, options);
  const timeouts = resolveTimeouts(general.timeouts);
  const connections = await resolveConnections(fields, {
    ...options,
    timeouts,
    idByAlias,
  });
  const index = indexSelection(directory);
  const callers = resolveCallers(tokens, {
    ...options,
    index,
    tokenLimits: createTokenLimits({ general, index, connections, findings }),
    maxConcurrentRequests: server.maxConcurrentRequests,
  });
  if (tokens.length === 0) {
    findings.warn(["tokens"], "is empty: nobody can call the gateway");
  }
  if (findings.problems.length > 0) return undefined;
  return {
    server,
    messagesVendor: general.messages_vendor,
    timeouts,
    limits: {
      budgetMs: general.limits.budget,
      cacheMs: general.limits.cache_seconds * 1000,
    },
    usage: general.usage,
    shared,
    connections,
    pools: resolvePools(connections),
    listedModels: resolveListedModels(connections),
    callers,
  };
}

async function resolveConnections(
  all: readonly (ConnectionFields | undefined)[],
  options: ResolveOptions & {
    readonly timeouts: Timeouts;
    readonly idByAlias: ReadonlyMap<string, string>;
  },
): Promise<readonly Connection[]> {
  const connections: Connection[] = [];
  for (const [index, fields] of all.entries()) {
    if (fields === undefined) continue;
    const path = ["connections", index];
    reportDuplicateModels(fields, { path, findings: options.findings });
    const connection = await resolveConnection(fields, { ...options, path });
    if (connection !== undefined) connections.push(connection);
  }
  return connections;
}
