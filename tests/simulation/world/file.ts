import { sha256Hex } from "../../../src/base/sha256.ts";
import type { Random } from "../../support/fakes/random.ts";
import type { Agent } from "./caller.ts";
import { keyOf, type LedgerEntry, SimulatedProvider } from "./provider.ts";
import { SimulatedQuota } from "./quota.ts";
import type { Streams } from "./streams.ts";
import type { VirtualTime } from "./time.ts";
import type { Trace } from "./trace.ts";

type Entry = Readonly<Record<string, unknown>>;

/** Returns the providers of a history. */
export function createProviders(
  parts: {
    readonly time: VirtualTime;
    readonly streams: Streams;
    readonly trace: Trace;
    readonly ledger: LedgerEntry[];
  },
  random: Random,
): SimulatedProvider[] {
  const { streams, time } = parts;
  const count = 2 + random.below(4);
  return Array.from({ length: count }, (_, at) => {
    const family = random.pick(["A", "B", "C"] as const);
    const name = `provider-${at}`;
    const provider = new SimulatedProvider({
      ...{ ...parts, name, protocols: PROTOCOLS[family] },
      random: streams.atMoments(name),
    });
    if (random.below(2) === 0) {
      provider.quota = new SimulatedQuota(time, 20_000 + random.below(300_000));
    }
    return provider;
  });
}

const PROTOCOLS = {
  A: ["chat"],
  B: ["messages"],
  C: ["responses"],
} as const;

const FAMILY = { chat: "A", messages: "B", responses: "C" } as const;

/** The prices of each model, in dollars for a million tokens. */
export const PRICE = {
  ...{ input: 1, cached_input: 0.1, cache_write: 1.25, output: 5 },
};

const MODELS = ["model-one", "model-two", "model-three"];

/** Returns the people of a history. */
export function createAgents(
  random: Random,
  count: number = 2 + random.below(4),
): Agent[] {
  return Array.from({ length: count }, (_, at) => ({
    name: `agent-${at}`,
    token: `mg_secret_of_agent_${at}`,
    models: random.below(3) === 0 ? [random.pick(MODELS)] : MODELS,
  }));
}

/** The agent that checks each provider at the end of a history. */
export const CHECKER: Agent = {
  name: "checker",
  token: "mg_secret_of_checker",
  models: ["*"],
};

/** Returns the model that only this provider serves. */
export function ownModel({ name }: { readonly name: string }): string {
  return `model-of-${name}`;
}

/** Returns a random configuration for a history. */
export function createFile(
  providers: readonly SimulatedProvider[],
  agents: readonly Agent[],
  random: Random,
): Entry {
  const measured = providers.filter(({ quota }) => quota !== undefined);
  return {
    connections: providers.map((provider, at) =>
      connectionOf(provider, { at, count: providers.length, random })
    ),
    timeouts: {
      connect: random.pick([2000, 10_000]),
      first_byte: random.pick([20_000, 300_000]),
      first_output: random.pick([0, 30_000]),
      idle: random.pick([30_000, 300_000]),
    },
    groups: { team: { ...weight(random), limits: [amountLimit(random)] } },
    server: { removed_tokens: random.pick(["end", "finish"]) },
    tokens: agents.map((agent) => tokenOf(agent, measured, random)),
  };
}

/** Returns a configuration in which some connections have a region, and some tokens and groups are bound to regions. */
export function withRegions(file: Entry, random: Random): Entry {
  const { connections, tokens, groups } = file;
  if (!Array.isArray(connections) || !Array.isArray(tokens)) {
    throw new Error("The file has no connections or tokens");
  }
  if (random.below(2) === 0) return file;
  const some = () =>
    random.below(3) === 0
      ? { regions: random.pick([["eu"], ["us", "eu"]]) }
      : {};
  const { team } = Object(groups);
  return {
    ...file,
    connections: connections.map((one, at) => {
      const label = [["eu"], ["us"]][at] ?? random.pick([["eu"], []]);
      return { ...one, ...label.length > 0 ? { region: label[0] } : {} };
    }),
    groups: { team: { ...team, ...some() } },
    tokens: tokens.map((one) =>
      one.name === CHECKER.name ? one : { ...one, ...some() }
    ),
  };
}

/** Returns a configuration in which some tokens have limits for each session. */
export function withSessionLimits(file: Entry, random: Random): Entry {
  const { tokens } = file;
  if (!Array.isArray(tokens)) throw new Error("The file has no tokens");
  const limited = tokens.map((one) => {
    if (one.name === CHECKER.name || random.below(3) > 0) return one;
    const amount = random.pick([
      { requests: 2 + random.below(8) },
      { tokens: 5000 + random.below(40_000) },
      { window: "hour", cost: (5 + random.below(50)) / 1000 },
    ]);
    const limits = [...one.limits ?? [], { per: "session", ...amount }];
    return { ...one, limits };
  });
  return { ...file, tokens: limited };
}

/** Returns a configuration without a token. */
export function withoutToken(file: Entry, name: string): Entry {
  const { tokens } = file;
  if (!Array.isArray(tokens)) throw new Error("The file has no tokens");
  return { ...file, tokens: tokens.filter((one) => one.name !== name) };
}

function connectionOf(
  provider: SimulatedProvider,
  { at, count, random }: {
    readonly at: number;
    readonly count: number;
    readonly random: Random;
  },
): Entry {
  const { name, host, quota, protocols: [protocol = "chat"] } = provider;
  const family = FAMILY[protocol];
  const own = MODELS.filter((_, model) =>
    model % count === at || random.below(2) === 0
  );
  return {
    ...{ name, service: "custom", family },
    endpoints: { [protocol]: `https://${host}/v1` },
    auth: {
      scheme: family === "B" ? "x-api-key" : "bearer",
      key: keyOf(provider),
    },
    paths: ["chat", "messages", "responses"],
    models: [...own, ownModel(provider)].map((id) => ({
      id,
      upstream: `${id}-of-${name}`,
      price: PRICE,
      ...quota !== undefined && random.below(3) === 0
        ? { quota_routing: true }
        : {},
      ...MODELS.includes(id) && random.below(4) === 0
        ? { fallbacks: MODELS.slice(MODELS.indexOf(id) + 1) }
        : {},
    })),
    ...random.pick([
      {},
      { max_concurrent: 1 + random.below(4) },
      { queue: queueOf(random) },
      { max_concurrent: 1 + random.below(2), queue: queueOf(random) },
    ]),
    ...quota === undefined ? {} : {
      quota: { kind: "zai", url: `https://${host}/quota` },
    },
  };
}

function queueOf(random: Random): Entry {
  return { max_wait: random.pick([2000, 30_000, 240_000]) };
}

function weight(random: Random): Entry {
  return random.below(3) === 0 ? { weight: random.pick([0.5, 2, 5]) } : {};
}

function tokenOf(
  { name, token, models }: Agent,
  measured: readonly SimulatedProvider[],
  random: Random,
): Entry {
  const entry = {
    ...{ name, sha256: sha256Hex(token), connections: ["*"] },
    models: [...models],
  };
  if (name === CHECKER.name) return entry;
  const limits = Array.from(
    { length: random.pick([0, 0, 1, 2]) },
    () =>
      measured.length > 0 && random.below(4) === 0
        ? {
          connection: random.pick(measured).name,
          window: "five_hour",
          share: (1 + random.below(6)) / 10,
        }
        : amountLimit(random),
  );
  const different = new Map(limits.map((limit) => [
    [limit.connection, limit.window, ...Object.keys(limit)].join(),
    limit,
  ]));
  return {
    ...entry,
    ...limits.length === 0 ? {} : { limits: [...different.values()] },
    ...weight(random),
    ...random.below(3) === 0 ? { group: "team" } : {},
    ...random.below(3) === 0 ? { max_concurrent: 2 + random.below(3) } : {},
  };
}

/** Returns a random limit that some sessions reach. */
function amountLimit(random: Random): Entry {
  const window = random.pick(["hour", "day"]);
  return random.pick([
    {
      window: random.pick(["minute", "hour", "day"]),
      requests: 5 + random.below(80),
    },
    { window, tokens: 10_000 + random.below(120_000) },
    { window, cost: (20 + random.below(400)) / 1000 },
  ]);
}
