import { stringifyYaml } from "@gateway/base/std";
import { assignedModels } from "./assignment.ts";
import type {
  Access,
  AlertsConfig,
  Caller,
  Config,
  Connection,
  ConnectionModel,
  IdentityProvider,
  ModelAlias,
  QuotaConfig,
  ServerConfig,
  SharedConfig,
  Timeouts,
  UpstreamAuth,
} from "./config.ts";
import type { JsonQuota } from "./schema/quota.ts";
import {
  limitWords,
  type Price,
  type Prices,
  type Rate,
} from "./usage_limits.ts";

/** This many digits of a token's hash distinguish it from others. */
const SHOWN_DIGITS = 12;

/** The most names that a list shows. The rest are counted. */
const SHOWN_NAMES = 50;

/**
 * Returns the resolved configuration as YAML for people. It holds no secret: keys, headers and forced body fields are
 * named without their values, and a quota URL has no query.
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
      attribution: server.attribution,
      trusted_proxies: server.trustedProxies,
      removed_tokens: server.removedTokens,
      admin: describeAdmin(server.admin),
    },
    messages_vendor: config.messagesVendor,
    timeouts: {
      ...describeTimeouts(config.timeouts),
      body: describeDeadline(config.timeouts.bodyMs),
    },
    limits: {
      budget: `${limits.budgetMs} ms`,
      cache: `${limits.cacheMs} ms`,
    },
    usage: { replay: describeNames(config.usage.replay) },
    alerts: describeAlerts(config.alerts),
    include: describeNames(config.include),
    shared: describeShared(config.shared),
    connections: config.connections.map(describeConnection),
    groups: describeGroups(config),
    tokens: [...new Set(config.callers.values())].map((caller) =>
      describeCaller(caller, config)
    ),
    identity: config.identity.length === 0
      ? "none"
      : config.identity.map((provider) => describeProvider(provider, config)),
  });
}

/** Returns the place of the second listener in words. */
export function describeAdmin(admin: ServerConfig["admin"]): string {
  if (admin === undefined) return "none";
  return "port" in admin
    ? `${admin.host}, port ${admin.port}`
    : `${admin.host}, port of the gateway + ${admin.portOffset}`;
}

/** Describes the receiver of warnings. The rest of its URL may be a secret. */
function describeAlerts(alerts: AlertsConfig | undefined): unknown {
  if (alerts === undefined) return "none";
  return {
    webhook: new URL(alerts.webhook).origin,
    headers: describeNames(Object.keys(alerts.headers)),
    at: alerts.at.map((percent) => `${percent} %`),
  };
}

function describeShared(shared: SharedConfig | undefined): unknown {
  if (shared === undefined) return "nothing";
  const { host, port, tls, ca, username, password, database, prefix } = shared;
  return {
    store: `${host}, port ${port}, database ${database}`,
    tls: !tls ? "none" : ca === undefined ? "system certificates" : "own ca",
    user: username ?? "default",
    password: password === undefined ? "none" : "set",
    prefix,
  };
}

function describeConnection(connection: Connection): Record<string, unknown> {
  const { auth, timeouts, keyOf } = connection;
  return {
    name: connection.name,
    id: connection.id,
    ...keyOf && {
      key: `one of ${keyOf.connection}, with weight ${keyOf.weight}`,
    },
    service: connection.service,
    family: connection.family,
    enabled: connection.enabled,
    region: connection.region ?? "none",
    endpoints: connection.endpoints,
    paths: connection.paths.length === 0
      ? "those of the family"
      : `those of the family and ${connection.paths.join(", ")}`,
    auth: describeAuth(auth),
    headers: describeNames(Object.keys(connection.headers)),
    headers_drop: describeDropped(connection.headersDrop),
    stream_only: connection.streamOnly,
    force: describeNames(Object.keys(connection.force)),
    omit: describeNames(connection.omit),
    strict: connection.strict,
    quota: describeQuota(connection.quota),
    max_concurrent: connection.maxConcurrent ?? "no limit",
    queue: connection.queue === undefined
      ? "none"
      : `waits of at most ${connection.queue.maxWaitMs} ms`,
    timeouts: describeTimeouts(timeouts),
    models: connection.models.map(describeModel),
  };
}

/** Describes an exchange without the token that it gives. */
function describeAuth(auth: UpstreamAuth): unknown {
  if (auth.scheme === "none") return "none";
  return auth.exchange === undefined
    ? `${auth.scheme}, key set`
    : { scheme: auth.scheme, exchange: auth.exchange };
}

/** Returns a line for each header that loses values. */
function describeDropped(
  headersDrop: Connection["headersDrop"],
): readonly string[] | string {
  return describeNames(
    Object.entries(headersDrop).map(([name, values]) =>
      `${name}: ${values.join(", ")}`
    ),
  );
}

/** Returns the deadlines of a request to a provider. The deadline for the caller's body is not one of them. */
function describeTimeouts(timeouts: Timeouts): Record<string, string> {
  return {
    connect: describeDeadline(timeouts.connectMs),
    first_byte: describeDeadline(timeouts.firstByteMs),
    first_output: describeDeadline(timeouts.firstOutputMs),
    idle: describeDeadline(timeouts.idleMs),
  };
}

function describeModel(model: ConnectionModel): string {
  const { id, upstream, aliases, input, efforts, fallbacks } = model;
  const facts = [
    upstream === id ? undefined : `upstream ${upstream}`,
    phrase("also called", aliases.map(describeAlias)),
    model.isListed ? undefined : "not listed",
    phrase("shown as", model.displayName),
    phrase("a context of", model.contextWindow, "tokens"),
    phrase("at most", model.maxOutputTokens, "output tokens"),
    phrase("without", model.omit),
    phrase("by the lessons", model.lessons),
    phrase("takes", input),
    efforts?.length === 0 ? "does not reason" : phrase("reasons", efforts),
    phrase("falls back to", fallbacks),
    model.quotaRouting ? "routed by quota" : undefined,
    model.price && describePrice(model.price),
  ].filter((fact) => fact !== undefined);
  return facts.length === 0 ? id : `${id} (${facts.join("; ")})`;
}

/** Returns a value with the texts around it, or `undefined` when the value is empty. */
function phrase(
  before: string,
  value: string | number | readonly string[] | undefined,
  after = "",
): string | undefined {
  const shown = Array.isArray(value) ? value.join(", ") : value ?? "";
  return shown === "" ? undefined : `${before} ${shown} ${after}`.trim();
}

function describeAlias({ id, isListed }: ModelAlias): string {
  return isListed ? id : `${id} (not listed)`;
}

function describeQuota(quota: QuotaConfig | undefined): unknown {
  if (quota === undefined) return "not read";
  return {
    kind: quota.kind,
    plan: quota.plan,
    organization: quota.organization ?? "none",
    project: quota.project ?? "none",
    url: quota.url === undefined
      ? "the default of the kind"
      : originAndPath(quota.url),
    key: quota.key === undefined ? "the key of the connection" : "set",
    ...(quota.json === undefined ? {} : describeJsonQuota(quota.json)),
  };
}

function describeJsonQuota(quota: JsonQuota): Record<string, unknown> {
  const { headers, success, unauthorized, windows } = quota;
  return {
    headers: describeNames(Object.keys(headers)),
    success: success ?? "every JSON",
    unauthorized: unauthorized ?? "by its status",
    windows,
  };
}

function describeCaller(
  caller: Caller,
  config: Config,
): Record<string, unknown> {
  return {
    name: caller.name,
    sha256: describeDigests(caller, config),
    expires_at: caller.expiresAtMs === undefined
      ? "never"
      : new Date(caller.expiresAtMs).toISOString(),
    ...describeAccess(caller, config),
  };
}

function describeAccess(
  access: Access,
  config: Config,
): Record<string, unknown> {
  const { inherited = [], maxConcurrent, groups } = access;
  const source = groups.length === 1 ? "of the group" : "of the groups";
  return {
    connections: inherited.includes("connections")
      ? source
      : describeConnections(access, config),
    regions: describeRegions(access.regions),
    models: inherited.includes("models")
      ? source
      : describeNames([...assignedModels(access, config).keys()]),
    max_concurrent: inherited.includes("maxConcurrent")
      ? `${maxConcurrent}, ${source}`
      : maxConcurrent,
    weight: access.weight,
    groups: describeNames(access.groups.map(({ name }) => name)),
    limits: describeLimits(access),
  };
}

function describeRegions(
  regions: readonly string[] | undefined,
): readonly string[] | string {
  return regions === undefined ? "every region" : describeNames(regions);
}

function describeConnections(
  { connectionIds }: Pick<Access, "connectionIds">,
  { connections }: Config,
): readonly string[] | string {
  const assigned = connections.filter(({ id }) => connectionIds.has(id));
  return describeNames(assigned.map(({ name }) => name));
}

/** Returns what each group with members gives to those that name nothing themselves. */
function describeGroups(config: Config): unknown {
  const members = [
    ...config.callers.values(),
    ...config.identity.flatMap(({ rules }) => rules),
  ];
  const groups = new Set(members.flatMap((member) => member.groups));
  if (groups.size === 0) return "none";
  return [...groups].map(({ connectionIds, models, ...group }) => ({
    name: group.name,
    connections: connectionIds === undefined
      ? "none of its own"
      : describeConnections({ connectionIds }, config),
    regions: describeRegions(group.regions),
    models: models === undefined
      ? "every model of the connections"
      : describeNames([...models]),
    max_concurrent: group.maxConcurrent ?? "none of its own",
    weight: group.weight ?? "none of its own",
  }));
}

function describeProvider(
  { issuer, audiences, keys, nameClaim, rules, signIn }: IdentityProvider,
  config: Config,
): Record<string, unknown> {
  return {
    issuer,
    audience: audiences,
    keys: keys.kind === "file"
      ? `${keys.keys.length} of a file`
      : originAndPath(keys.url),
    name: nameClaim,
    ...(signIn === undefined ? {} : { sign_in: signIn }),
    rules: rules.map((rule) => ({
      when: Object.keys(rule.when).length === 0 ? "everybody" : rule.when,
      ...describeAccess(rule, config),
    })),
  };
}

function originAndPath(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

function describeBytes(bytes: number): string {
  const mib = bytes / 1024 ** 2;
  return Number.isInteger(mib) ? `${mib} MiB` : `${bytes} bytes`;
}

/** Returns the first digits of the hashes of a caller's tokens. */
function describeDigests(
  caller: Caller,
  { callers }: Config,
): readonly string[] {
  return [...callers].filter(([, one]) => one === caller)
    .map(([digest]) => `${digest.slice(0, SHOWN_DIGITS)}…`);
}

function describeNames(names: readonly string[]): readonly string[] | string {
  if (names.length === 0) return "none";
  const more = names.length - SHOWN_NAMES;
  return more > 0 ? [...names.slice(0, SHOWN_NAMES), `${more} more`] : names;
}

function describeDeadline(ms: number): string {
  return ms === 0 ? "none" : `${ms} ms`;
}

/** Returns a line for each limit of a token and of its groups. */
function describeLimits(
  { limits, groups }: Pick<Access, "limits" | "groups">,
): readonly string[] | string {
  const lines = [
    ...limits.map((limit) => limitWords(limit)),
    ...groups.flatMap(({ name, limits }) =>
      limits.map((limit) =>
        `${limitWords(limit)}, together with the group ${name}`
      )
    ),
  ];
  return lines.length === 0 ? "none" : lines;
}

/** Returns the price of a model in words. */
function describePrice({ rates, ...prices }: Price): string {
  return [
    `USD per million: ${describePrices(prices)}`,
    ...rates.map(({ when, prices }) =>
      `${describeWhen(when)}: ${describePrices(prices)}`
    ),
  ].join("; ");
}

function describePrices(
  { input, cachedInput, cacheWrite, cacheWrite1h, output }: Prices,
): string {
  return [
    `${input} input, ${cachedInput} cached, ${cacheWrite} cache write`,
    ...(cacheWrite1h === cacheWrite
      ? []
      : [`${cacheWrite1h} cache write for an hour`]),
    `${output} output`,
  ].join(", ");
}

function describeWhen(
  { inputOver, speed, serviceTier, inferenceGeo, refusal, hours }: Rate["when"],
): string {
  return [
    ...(inputOver === undefined ? [] : [`over ${inputOver} input tokens`]),
    ...(speed === undefined ? [] : [`speed ${speed}`]),
    ...(serviceTier === undefined ? [] : [`service tier ${serviceTier}`]),
    ...(inferenceGeo === undefined ? [] : [`inference in ${inferenceGeo}`]),
    ...(refusal === undefined ? [] : [`refusal ${refusal}`]),
    ...(hours === undefined ? [] : [
      `from ${timeText(hours.from)} to ${timeText(hours.to)} ${hours.timeZone}`,
    ]),
  ].join(", ");
}

/** @param minutes Minutes since midnight. */
function timeText(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60]
    .map((part) => String(part).padStart(2, "0")).join(":");
}
