import { stringifyYaml } from "../core/std.ts";
import type {
  Caller,
  Config,
  Connection,
  ConnectionModel,
  QuotaConfig,
} from "./config.ts";
import { assignedModels } from "./assignment.ts";

/** So much of a token's hash tells it from others. */
const SHOWN_DIGITS = 12;

/** How many names a list shows; what is beyond is counted. */
const SHOWN_NAMES = 50;

/**
 * What a configuration resolves to, as YAML for people. It holds no secret: of keys, of headers and of
 * forced body fields it shows that they are set, not their values, and of a quota URL no query.
 */
export function describeConfig(config: Config): string {
  const { server, limits } = config;
  return stringifyYaml({
    server: {
      host: server.host,
      port: server.port,
      tls: server.tls !== undefined,
      workers: server.workers,
      max_concurrent_requests: server.maxConcurrentRequests,
      max_body_memory: describeBytes(server.maxBodyMemoryBytes),
      drain: `${server.drainMs} ms`,
      admin: server.admin === undefined
        ? "none"
        : `${server.admin.host}, port ${server.admin.port}`,
    },
    messages_vendor: config.messagesVendor,
    limits: {
      budget: `${limits.budgetMs} ms`,
      cache: `${limits.cacheMs} ms`,
    },
    connections: config.connections.map(describeConnection),
    tokens: [...new Set(config.callers.values())].map((caller) =>
      describeCaller(caller, config)
    ),
  });
}

function describeConnection(connection: Connection): Record<string, unknown> {
  const { auth, timeouts } = connection;
  return {
    name: connection.name,
    id: connection.id,
    service: connection.service,
    family: connection.family,
    enabled: connection.enabled,
    endpoints: connection.endpoints,
    auth: auth.scheme === "none" ? "none" : `${auth.scheme}, key set`,
    headers: describeNames(Object.keys(connection.headers)),
    stream_only: connection.streamOnly,
    force: describeNames(Object.keys(connection.force)),
    omit: describeNames(connection.omit),
    strict: connection.strict,
    quota: describeQuota(connection.quota),
    max_concurrent: connection.maxConcurrent ?? "no limit",
    timeouts: {
      connect: describeDeadline(timeouts.connectMs),
      first_byte: describeDeadline(timeouts.firstByteMs),
      first_output: describeDeadline(timeouts.firstOutputMs),
      idle: describeDeadline(timeouts.idleMs),
      body: describeDeadline(timeouts.bodyMs),
    },
    models: connection.models.map(describeModel),
  };
}

function describeModel(model: ConnectionModel): string {
  const facts = [
    ...(model.upstream === model.id ? [] : [`upstream ${model.upstream}`]),
    ...(model.maxOutputTokens === undefined
      ? []
      : [`at most ${model.maxOutputTokens} output tokens`]),
    ...(model.fallbacks.length === 0
      ? []
      : [`falls back to ${model.fallbacks.join(", ")}`]),
    ...(model.quotaRouting ? ["routed by quota"] : []),
  ];
  return facts.length === 0 ? model.id : `${model.id} (${facts.join("; ")})`;
}

function describeQuota(quota: QuotaConfig | undefined): unknown {
  if (quota === undefined) return "not read";
  const url = quota.url === undefined ? undefined : new URL(quota.url);
  return {
    kind: quota.kind,
    plan: quota.plan,
    organization: quota.organization ?? "none",
    project: quota.project ?? "none",
    url: url === undefined ? "of the kind" : url.origin + url.pathname,
    key: quota.key === undefined ? "of the connection" : "set",
    ...(quota.json === undefined
      ? {}
      : { windows: quota.json.windows.map(({ type }) => type) }),
  };
}

function describeCaller(
  caller: Caller,
  config: Config,
): Record<string, unknown> {
  const assigned = config.connections.filter(({ id }) =>
    caller.connectionIds.has(id)
  );
  return {
    name: caller.name,
    ...describeDigests(caller, config),
    expires_at: caller.expiresAtMs === undefined
      ? "never"
      : new Date(caller.expiresAtMs).toISOString(),
    connections: describeNames(assigned.map(({ name }) => name)),
    models: describeNames([...assignedModels(caller, config).keys()]),
    max_concurrent: caller.maxConcurrent,
  };
}

function describeBytes(bytes: number): string {
  const mib = bytes / 1024 ** 2;
  return Number.isInteger(mib) ? `${mib} MiB` : `${bytes} bytes`;
}

/** Which hashes of tokens let a caller in, where that is more than one. */
function describeDigests(
  caller: Caller,
  { callers }: Config,
): Record<string, unknown> {
  const digests = [...callers].filter(([, one]) => one === caller)
    .map(([digest]) => `${digest.slice(0, SHOWN_DIGITS)}…`);
  return digests.length > 1 ? { sha256: digests } : {};
}

function describeNames(names: readonly string[]): readonly string[] | string {
  if (names.length === 0) return "none";
  const more = names.length - SHOWN_NAMES;
  return more > 0 ? [...names.slice(0, SHOWN_NAMES), `${more} more`] : names;
}

function describeDeadline(ms: number): string {
  return ms === 0 ? "none" : `${ms} ms`;
}
