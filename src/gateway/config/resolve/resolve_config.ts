import type {
  AlertsConfig,
  Config,
  Connection,
  SharedConfig,
} from "../config.ts";
import {
  aliasesIn,
  type DirectoryEntry,
  readDirectory,
  reportAmbiguousNames,
} from "../directory.ts";
import { readNamedFile, type ResolveTools } from "../environment.ts";
import type { TokenFor } from "../token_exchange.ts";
import { type Findings, quote } from "@gateway/base/problems";
import {
  type GeneralFields,
  type IncludedTree,
  validateFile,
} from "../schema/config_file.ts";
import type { ConnectionFields } from "../schema/connection.ts";
import { indexSelection } from "../selection.ts";
import { createAccessResolver, resolveCallers } from "./caller.ts";
import { resolveConnection } from "./connection.ts";
import {
  listReferences,
  reportDuplicateModels,
  reportFallbackProblems,
  resolveListedModels,
  resolvePools,
} from "./models.ts";
import { reportIdentityNames, resolveIdentity } from "./identity.ts";
import { limitsSchema, timeoutsSchema } from "../schema/server.ts";
import { renamed } from "../schema/renamed.ts";
import { isLoopback, resolveServer } from "./server.ts";

interface ResolveOptions extends ResolveTools {
  /** The files with further tokens and groups. */
  readonly included: readonly IncludedTree[];
  readonly tokenFor?: TokenFor | undefined;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Resolves the trees of the files to a configuration: validates the trees, resolves references and reads the keys.
 *
 * @returns `undefined` when there is a problem. The findings list all problems.
 */
export async function resolve(
  tree: unknown,
  options: ResolveOptions,
): Promise<Config | undefined> {
  const { findings } = options;
  const {
    general,
    connections: fields,
    groups,
    tokens,
    identity: providers,
  } = validateFile(tree, options.included, findings);
  if (general === undefined) return undefined;
  const directory = await readDirectory(tree);
  reportAmbiguousNames(directory, findings);
  const idByAlias = aliasesIn(directory);
  reportAliasProblems(fields, { directory, findings });
  reportFallbackProblems(fields, { directory, idByAlias, findings });
  const server = await resolveServer(general.server, options);
  const shared = await resolveShared(general.shared, options);
  const connections = await resolveConnections(fields, {
    ...{ ...options, idByAlias },
    timeouts: general.timeouts,
    defaults: general.defaults,
  });
  const callerOptions = {
    ...options,
    access: createAccessResolver({
      defaults: general.defaults,
      groups,
      index: indexSelection(directory),
      connections,
      maxConcurrentRequests: server.maxConcurrentRequests,
      findings,
    }),
  };
  const callers = resolveCallers(tokens, callerOptions);
  const identity = await resolveIdentity(providers, callerOptions);
  reportIdentityNames(tokens, { identity: providers, findings });
  callerOptions.access.review([
    ...new Set(callers.values()),
    ...identity.flatMap(({ rules }) => rules),
  ]);
  if (tokens.length === 0 && providers.length === 0) {
    findings.warn(["tokens"], "is empty: nobody can call the gateway.");
  }
  if (findings.problems.length > 0) return undefined;
  return {
    server,
    messagesVendor: general.messages_vendor,
    timeouts: renamed(timeoutsSchema, general.timeouts),
    limits: renamed(limitsSchema, general.limits),
    usage: general.usage,
    ...general.alerts && { alerts: resolveAlerts(general.alerts, findings) },
    include: general.include,
    shared,
    connections,
    pools: resolvePools(connections),
    listedModels: resolveListedModels(connections),
    callers,
    identity,
  };
}

async function resolveConnections(
  all: readonly (ConnectionFields | undefined)[],
  options: Omit<Parameters<typeof resolveConnection>[1], "path">,
): Promise<readonly Connection[]> {
  const connections: Connection[] = [];
  for (const [index, fields] of all.entries()) {
    if (fields === undefined) continue;
    const path = ["connections", index];
    reportDuplicateModels(fields, { path, findings: options.findings });
    connections.push(...await resolveConnection(fields, { ...options, path }));
  }
  return connections;
}

/** Reports an alias that is also the id of a model, and an alias that two models have. */
function reportAliasProblems(
  connections: readonly (ConnectionFields | undefined)[],
  { directory, findings }: {
    readonly directory: readonly DirectoryEntry[];
    readonly findings: Findings;
  },
): void {
  const ids = new Set(directory.flatMap((entry) => [...entry.modelIds]));
  const aliases = listReferences(connections, "aliases");
  const firstByName = new Map<string, typeof aliases[number]>();
  for (const alias of aliases) {
    const { name, of, path } = alias;
    const first = firstByName.get(name);
    if (ids.has(name)) {
      const whose = name === of ? "of this model" : "of another model";
      findings.problem(path, `is the id ${whose}. Remove it.`);
    } else if (first === undefined) {
      firstByName.set(name, alias);
    } else if (first.of !== of) {
      findings.problem(
        path,
        `also names the model ${quote(first.of)}, at ${
          findings.placeOf(first.path)
        }. An alias names one model.`,
      );
    }
  }
}

function resolveAlerts(
  { webhook, headers, at }: NonNullable<GeneralFields["alerts"]>,
  findings: Findings,
): AlertsConfig {
  const { protocol, hostname } = new URL(webhook);
  if (protocol === "http:" && !isLoopback(hostname)) {
    findings.warn(
      ["alerts", "webhook"],
      "reaches another machine without TLS, so that headers and names can be read on the network. Use https:.",
    );
  }
  return {
    webhook,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name.toLowerCase(),
        value,
      ]),
    ),
    at: [...new Set(at)].sort((one, other) => one - other),
  };
}

type SharedFields = NonNullable<GeneralFields["shared"]>;

const DEFAULT_PORT = 6379;

/** Resolves the address of the store and reads the named files. No message holds the password. */
async function resolveShared(
  fields: SharedFields | undefined,
  options: ResolveTools,
): Promise<SharedConfig | undefined> {
  if (fields === undefined) return undefined;
  const url = new URL(fields.url);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const tls = url.protocol === "rediss:";
  const password = await resolvePassword(fields, url, options);
  if (!tls && !isLoopback(host)) {
    options.findings.warn(
      ["shared", "url"],
      "reaches another machine without TLS, so that the password and the usage can be read on the network. Use rediss:.",
    );
  }
  if (!tls && fields.ca !== undefined) {
    options.findings.problem(["shared", "ca"], "needs a url with rediss:.");
  }
  return {
    host,
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    tls,
    ca: fields.ca && await readNamedFile(fields.ca, {
      ...options,
      place: ["shared", "ca"],
      form: [/CERTIFICATE-----/, "PEM file that holds certificates"],
    }),
    username: url.username === "" ? undefined : decode(url.username),
    password,
    database: Number(url.pathname.slice(1)),
    prefix: fields.prefix,
  };
}

async function resolvePassword(
  { password, password_file: file }: SharedFields,
  url: URL,
  { readFile, findings }: ResolveTools,
): Promise<string | undefined> {
  const written = url.password === "" ? undefined : decode(url.password);
  const given = [
    ["url", written],
    ["password", password],
    ["password_file", file],
  ].filter(([, value]) => value !== undefined);
  const [first, second] = given;
  if (first !== undefined && second !== undefined) {
    findings.problem(
      ["shared", String(second[0])],
      `must not be set with the password in ${first[0]}.`,
    );
  }
  if (file === undefined) return password ?? written;
  const text = await readNamedFile(file, {
    ...{ readFile, findings, place: ["shared", "password_file"] },
    form: [/\S/, "file that holds the password"],
  });
  return text?.trim();
}

/** Decodes a part of a URL. If the encoding is invalid, returns the part as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
