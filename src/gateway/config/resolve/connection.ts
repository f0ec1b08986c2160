import { type Family, isFurther, type Protocol } from "@gateway/base/protocol";
import { mapValues } from "@gateway/base/std";
import { readLesson, suitabilityOf } from "@gateway/codecs";
import type { Connection, ConnectionModel, Timeouts } from "../config.ts";
import type { GeneralFields } from "../schema/config_file.ts";
import { queueField } from "../schema/fields.ts";
import { renamed } from "../schema/renamed.ts";
import { timeoutsSchema } from "../schema/server.ts";
import { secretTexts } from "../credential.ts";
import { connectionId, keyIdentity } from "../directory.ts";
import type { ResolveTools } from "../environment.ts";
import type { TokenFor } from "../token_exchange.ts";
import type { Located, Path } from "@gateway/base/problems";
import { resolveAuths } from "./auth.ts";
import { resolveHeaders, resolveHeadersDrop } from "./headers.ts";
import { resolveEndpoints } from "./endpoints.ts";
import { resolveQuota } from "./quota.ts";
import {
  type ConnectionFields,
  type ModelFields,
  modelSchema,
  rateConditionSchema,
} from "../schema/connection.ts";
import { SERVICES } from "@gateway/services";
import type { DayHours, Price, Prices } from "../usage_limits.ts";

interface ResolveConnectionOptions extends ResolveTools {
  readonly path: Path;
  /** The deadlines of all connections. */
  readonly timeouts: GeneralFields["timeouts"];
  readonly defaults: Pick<ConnectionFields, "queue">;
  /** The model id of each alias in all connections. */
  readonly idByAlias: ReadonlyMap<string, string>;
  readonly tokenFor?: TokenFor | undefined;
}

/** Body fields that the gateway sets itself. A connection must not set or omit these fields. */
const ROUTING_FIELDS: ReadonlySet<string> = new Set(["model", "stream"]);

/**
 * Resolves a connection with its service's preset and its key.
 *
 * @returns One connection for each key, so that each key has its own health, quota and requests. An empty list after
 * reporting a problem.
 */
export async function resolveConnection(
  fields: ConnectionFields,
  options: ResolveConnectionOptions,
): Promise<readonly Connection[]> {
  const preset = SERVICES[fields.service];
  const family = resolveFamily(fields, options);
  const endpoints = resolveEndpoints(fields, { ...options, family });
  const auths = await resolveAuths(fields, options);
  const headers = resolveHeaders(fields, options);
  const headersDrop = resolveHeadersDrop(fields, options);
  checkRoutingFields(fields, options, endpoints);
  const quota = await resolveQuota(fields, options);
  const queue = fields.queue ?? options.defaults.queue;
  if (family === undefined) return [];
  return await Promise.all(auths.map(async ({ auth, key }) => ({
    ...key === undefined
      ? { name: fields.name, id: await connectionId(fields) }
      : {
        ...await keyIdentity(fields, key.label),
        keyOf: { connection: fields.name, weight: key.weight },
        otherKeys: auths.flatMap((one) => secretTexts(one.auth)),
      },
    service: fields.service,
    family,
    enabled: fields.enabled,
    region: fields.region,
    endpoints,
    paths: resolvePaths(fields, family, options),
    auth,
    headers,
    headersDrop,
    streamOnly: fields.stream_only ?? preset.streamOnly,
    force: { ...preset.force, ...fields.force },
    omit: [...new Set([...preset.omit, ...fields.omit])],
    strict: fields.strict,
    ability: fields.ability,
    quota,
    maxConcurrent: fields.max_concurrent,
    queue: queue && renamed(queueField(), queue),
    timeouts: connectionTimeouts(fields, options),
    models: fields.models.map((model) => resolveModel(model, options)),
  })));
}

function resolveFamily(
  fields: ConnectionFields,
  { path, findings }: ResolveConnectionOptions,
): Family | undefined {
  const family = fields.family ?? SERVICES[fields.service].family;
  if (family === undefined) {
    findings.problem(
      [...path, "family"],
      `is missing. \`service: ${fields.service}\` needs A (Chat Completions), B (Messages) or C (Responses).`,
    );
  }
  return family;
}

/** Returns the protocols of `paths` that the connection's family does not serve without `paths`. */
function resolvePaths(
  fields: ConnectionFields,
  family: Family,
  { path, findings }: ResolveConnectionOptions,
): readonly Protocol[] {
  const further = [...new Set(fields.paths)]
    .filter((protocol) => isFurther(protocol, family));
  if (fields.paths.length > 0 && further.length === 0) {
    findings.warn(
      [...path, "paths"],
      `has no effect: family ${family} serves these paths already.`,
    );
  }
  return further;
}

function checkRoutingFields(
  fields: ConnectionFields,
  { path, findings }: ResolveConnectionOptions,
  endpoints: Connection["endpoints"],
): void {
  for (const field of Object.keys(fields.force)) {
    if (ROUTING_FIELDS.has(field)) {
      const message = "is set by the gateway itself. Remove it.";
      findings.problem([...path, "force", field], message);
    }
  }
  checkOmit(fields.omit, { path, findings });
  const { service } = fields;
  fields.models.forEach(({ id, upstream, omit, lessons }, index) => {
    const ofModel = [...path, "models", index];
    const { isRefused } = suitabilityOf(
      "chat_completions",
      { service, model: upstream ?? id },
      { toolCount: 1 },
    );
    if (!endpoints.responses && isRefused) {
      const message =
        "refuses Chat Completions, at least with both tools and reasoning. Set `endpoints.responses`, so that the gateway translates them.";
      findings.warn(ofModel, message);
    }
    checkOmit(omit, { path: ofModel, findings });
    lessons.forEach((text, at) => {
      if (readLesson(text) !== undefined) return;
      const message =
        "is no lesson. Copy one from `check --live --try` or the log's `lesson`.";
      findings.problem([...ofModel, "lessons", at], message);
    });
  });
}

function checkOmit(
  omit: readonly string[],
  { path, findings }: Located,
): void {
  omit.forEach((field, index) => {
    if (ROUTING_FIELDS.has(field)) {
      const message = `must not be ${field}, which every request needs.`;
      findings.problem([...path, "omit", index], message);
    }
  });
}

function connectionTimeouts(
  { timeouts = {} }: ConnectionFields,
  { path, findings, timeouts: all }: ResolveConnectionOptions,
): Timeouts {
  if (timeouts.body !== undefined) {
    findings.warn(
      [...path, "timeouts", "body"],
      "has no effect: a body arrives before its connection is chosen. Set timeouts.body for all connections.",
    );
  }
  return renamed(timeoutsSchema, { ...all, ...timeouts });
}

type PriceFields = NonNullable<ModelFields["price"]>;

function resolvePrice({ rates, ...fields }: PriceFields): Price {
  return {
    ...resolvePrices(fields),
    rates: rates.map(({ when, times = 1, ...rate }) => ({
      when: {
        ...renamed(rateConditionSchema, when),
        hours: when.hours === undefined ? undefined : readHours(when.hours),
      },
      prices: multiplied(
        resolvePrices({
          ...fields,
          ...rate,
          input: rate.input ?? fields.input,
          output: rate.output ?? fields.output,
        }),
        times,
      ),
    })),
  };
}

/** Parses hours such as `09:00-18:00 Asia/Shanghai`. The schema has already checked the text. */
function readHours(text: string): DayHours {
  const [hours = "", timeZone = "UTC"] = text.split(" ");
  const [from = 0, to = 0] = hours.split("-").map((time) => {
    const [hour = 0, minute = 0] = time.split(":").map(Number);
    return hour * 60 + minute;
  });
  return { from, to, timeZone };
}

function multiplied(prices: Prices, times: number): Prices {
  // Rounds: 0.3 times 6 is 1.7999999999999998 in floating point.
  return mapValues(
    prices,
    (price) => Number((price * times).toPrecision(12)),
  );
}

/**
 * Returns all prices. A missing price is copied from another price: a missing `cached_input` is `input`. In a rate, the
 * other price is from the same rate.
 */
function resolvePrices(
  { input, output, ...more }: Omit<PriceFields, "rates">,
): Prices {
  const { cached_input = input, cache_write = input } = more;
  const { cache_write_1h = cache_write } = more;
  return {
    input,
    cachedInput: cached_input,
    cacheWrite: cache_write,
    cacheWrite1h: cache_write_1h,
    output,
  };
}

function resolveModel(
  fields: ModelFields,
  { idByAlias }: ResolveConnectionOptions,
): ConnectionModel {
  const { listed, lessons, reasoning, ...rest } = renamed(modelSchema, fields);
  return {
    ...rest,
    upstream: fields.upstream ?? fields.id,
    aliases: fields.aliases.map((alias) => ({
      id: alias.id,
      isListed: alias.listed ?? listed,
    })),
    isListed: listed,
    ...(lessons.length > 0 && { lessons }),
    efforts: reasoning,
    fallbacks: fields.fallbacks.map((name) => idByAlias.get(name) ?? name),
    price: fields.price && resolvePrice(fields.price),
  };
}
