import assert from "node:assert/strict";
import type { createGateway } from "../../../src/gateway/app.ts";
import type { Config } from "../../../src/gateway/config/config.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import {
  createMemoryLog,
  type MemoryLog,
} from "../../support/fakes/memory_log.ts";
import type { Random } from "../../support/fakes/random.ts";
import { minimalConfig } from "../../support/gateway/config.ts";
import {
  GOOD_CLAIMS,
  identityFile,
} from "../../support/gateway/identity_scene.ts";
import { type Agent, ask, type Asked, type Wish } from "../world/caller.ts";
import { SimulatedIssuer } from "../world/issuer.ts";
import {
  createSimulatedDial,
  keyOf,
  type LedgerEntry,
  type PlannedFate,
  SimulatedProvider,
} from "../world/provider.ts";
import { createQuotaFetch, SimulatedQuota } from "../world/quota.ts";
import { ALERTS, SimulatedReceiver } from "../world/receiver.ts";
import { Replica } from "../world/replica.ts";
import { SimulatedStore } from "../world/store.ts";
import { SimulatedProcess } from "../world/threads.ts";
import type { VirtualTime } from "../world/time.ts";
import { EXCHANGED, SimulatedTokenIssuer } from "../world/token_issuer.ts";
import type { Trace } from "../world/trace.ts";

type Gateway = ReturnType<typeof createGateway>;

/** The settings of a scene's gateway, which by default has connections `a` and `b` and three tokens. */
export interface Setting {
  /** The connections by name, the preferred one first, with further settings of their entries. */
  readonly connections?: Readonly<Record<string, Entry>>;
  /** Further settings of tokens, by name. */
  readonly tokens?: Readonly<Record<string, Entry>>;
  /** Further parts of the file. */
  readonly file?: Entry;
  /** The protocol family of all connections; by default, the seed chooses one for each. */
  readonly family?: keyof typeof FAMILIES;
  /** The number of gateways that share a store; absent for one gateway without a store. */
  readonly replicas?: number;
  /** The number of threads of the process; absent for a single one. */
  readonly threads?: number;
  /** True when the first connection exchanges the platform's token for a short-lived one. */
  readonly exchanges?: boolean;
  /** True when an issuer of JWTs is trusted. */
  readonly hasIssuer?: boolean;
  /** The memory for bodies, in bytes; may be below the least that a file allows. */
  readonly bodyMemoryBytes?: number;
  /** True when alerts are sent to a receiver. */
  readonly alerts?: boolean;
  /** The quota of each provider: tokens in a window of five hours. */
  readonly quota?: number;
}

type Entry = Readonly<Record<string, unknown>>;

/** A scenario written by hand. The seed chooses protocols, chunks, pauses and the kinds of faults. */
export interface Scene {
  readonly setting?: (random: Random) => Setting;
  /**
   * True when the usual promises are not checked, for example because the gateway must change an answer. Those about
   * lessons are always checked.
   */
  readonly judgesAlone?: boolean;
  /** @throws {AssertionError} When a promise breaks. */
  readonly run: (stage: Stage) => Promise<void>;
}

/** The model that every connection of a scene serves. */
export const MODEL = "model-one";

const FAMILIES = {
  A: { protocol: "chat", scheme: "bearer" },
  B: { protocol: "messages", scheme: "x-api-key" },
  C: { protocol: "responses", scheme: "bearer" },
} as const;

const TIMEOUTS = {
  connect: 5000,
  first_byte: 20_000,
  first_output: 20_000,
  idle: 30_000,
  body: 60_000,
};

/** The parts that every run has. */
interface StageParts {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
}

/** A gateway with providers and callers that a scene directs. */
export class Stage {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  readonly ledger: LedgerEntry[] = [];
  readonly asked: Asked[] = [];
  readonly log: MemoryLog;
  readonly providers: readonly SimulatedProvider[];
  readonly agents: Agent[];
  readonly replicas: readonly Replica[];
  readonly receiver: SimulatedReceiver;
  /** The process whose threads they are, if they are threads. */
  readonly process: SimulatedProcess | undefined;
  readonly #file: Entry;
  readonly #store: SimulatedStore | undefined;
  readonly #issuer: SimulatedIssuer | undefined;
  readonly #exchange: Exchange | undefined;

  private constructor(
    parts: StageParts,
    { file, providers, ledger, agents, config, setting, issuer, exchange }: {
      readonly exchange: Exchange | undefined;
      readonly file: Entry;
      readonly issuer: SimulatedIssuer | undefined;
      readonly setting: Setting;
      readonly providers: readonly SimulatedProvider[];
      readonly ledger: LedgerEntry[];
      readonly agents: Agent[];
      readonly config: Config;
    },
  ) {
    this.time = parts.time;
    this.random = parts.random;
    this.trace = parts.trace;
    this.#file = file;
    this.providers = providers;
    this.ledger = ledger;
    this.agents = agents;
    this.#issuer = issuer;
    this.#exchange = exchange;
    this.log = exchange?.log ?? createMemoryLog();
    exchange?.changes.push(() => void this.reload());
    const { replicas, threads, quota } = setting;
    this.#store = replicas === undefined
      ? undefined
      : new SimulatedStore(parts);
    this.receiver = new SimulatedReceiver(parts.time);
    const fetch = this.receiver.over(
      quota === undefined
        ? issuer?.fetch ?? notFound
        : createQuotaFetch(providers, parts),
    );
    this.process = threads === undefined ? undefined : new SimulatedProcess({
      ...{ time: parts.time, log: this.log, fetch },
      liveConfig: createLiveConfig(config),
    });
    const names = Array.from(
      { length: replicas ?? threads ?? 1 },
      (_, at) => `gateway-${at}`,
    );
    this.replicas = names.map((name) =>
      new Replica({
        ...{ ...parts, config, log: this.log, name, store: this.#store },
        ...{ process: this.process, fetch },
        onKeyRefused: exchange && (() => exchange.issuer.renew()),
        dial: createSimulatedDial(providers),
      })
    );
  }

  static async open(parts: StageParts, scene: Scene): Promise<Stage> {
    const { random } = parts;
    const setting = scene.setting?.(random) ?? {};
    const ledger: LedgerEntry[] = [];
    const entries = Object.entries(setting.connections ?? { a: {}, b: {} });
    const own = setting.exchanges ? "A" : setting.family;
    const families = entries.map(() =>
      own ?? random.pick(["A", "B", "C"] as const)
    );
    const providers = entries.map(([name], at) =>
      new SimulatedProvider({
        ...parts,
        ...{ name, ledger },
        protocols: [FAMILIES[families[at] ?? "A"].protocol],
      })
    );
    const names = [
      "alice",
      "bob",
      "carol",
      ...Object.keys(setting.tokens ?? {}),
    ];
    const agents = [...new Set(names)].map((name) => ({
      ...{ name, token: `mg_secret_of_${name}`, models: ["*"] },
    }));
    const file = {
      connections: entries.map(([name, entry], at) => {
        const family = families[at] ?? "A";
        const { protocol, scheme } = FAMILIES[family];
        return {
          ...{ name, service: "custom", family },
          endpoints: { [protocol]: `https://${name}.example/v1` },
          auth: setting.exchanges && at === 0
            ? EXCHANGED
            : { scheme, key: keyOf({ name }) },
          paths: ["chat", "messages", "responses"],
          models: [{ id: MODEL, upstream: `${MODEL}-of-${name}` }],
          ...setting.quota === undefined
            ? {}
            : { quota: { kind: "zai", url: `https://${name}.example/quota` } },
          ...entry,
        };
      }),
      timeouts: TIMEOUTS,
      tokens: agents.map(({ name, token }) => ({
        ...{ name, sha256: sha256Hex(token), connections: ["*"] },
        ...setting.tokens?.[name],
      })),
      ...setting.alerts ? { alerts: ALERTS } : {},
      ...setting.hasIssuer ? { identity: [identityFile()] } : {},
      ...setting.file,
    };
    for (const provider of providers) {
      provider.isQuick = true;
      provider.quota = setting.quota === undefined
        ? undefined
        : new SimulatedQuota(parts.time, setting.quota);
    }
    const exchange = setting.exchanges ? createExchange(parts.time) : undefined;
    const [first] = providers;
    if (exchange !== undefined && first !== undefined) {
      first.accepts = (key) => exchange.issuer.accepts(key);
    }
    const read = await minimalConfig(file, contextOf(exchange));
    const { bodyMemoryBytes = read.server.maxBodyMemoryBytes } = setting;
    const config = {
      ...read,
      server: { ...read.server, maxBodyMemoryBytes: bodyMemoryBytes },
    };
    const issuer = setting.hasIssuer
      ? await SimulatedIssuer.create(parts.time)
      : undefined;
    return new Stage(parts, {
      ...{ file, providers, ledger, agents, config, issuer, setting },
      exchange,
    });
  }

  get replica(): Replica {
    const [first] = this.replicas;
    assert(first);
    return first;
  }

  get gateway(): Gateway {
    return this.gatewayAt(0);
  }

  gatewayAt(at: number): Gateway {
    const running = this.replicas[at]?.running;
    assert(running);
    return running.gateway;
  }

  get hasStore(): boolean {
    return this.#store !== undefined;
  }

  get issuer(): SimulatedIssuer {
    assert(this.#issuer);
    return this.#issuer;
  }

  get exchange(): Exchange {
    assert(this.#exchange);
    return this.#exchange;
  }

  get store(): SimulatedStore {
    assert(this.#store);
    return this.#store;
  }

  get config(): Config {
    return this.replica.configs.current();
  }

  provider(name: string): SimulatedProvider {
    const found = this.providers.find((one) => one.name === name);
    assert(found, `There is no provider ${name}`);
    return found;
  }

  /** Plans the fates of a provider's next requests. */
  plan(
    name: string,
    ...fates: readonly (PlannedFate | PlannedFate["fate"])[]
  ): void {
    this.provider(name).planned.push(
      ...fates.map((fate) => typeof fate === "string" ? { fate } : fate),
    );
  }

  /** Sends a request. The seed chooses what is not given. */
  ask(
    { agent = "alice", at, ...wish }: Partial<Omit<Wish, "agent">> & {
      /** The agent's name, or a person with a JWT. */
      readonly agent?: string | Agent;
      /** The index of the gateway. */
      readonly at?: number;
    } = {},
  ): Promise<Asked> {
    const found = typeof agent === "string"
      ? this.agents.find(({ name }) => name === agent)
      : agent;
    assert(found);
    const { random } = this;
    const protocols: readonly Protocol[] = ["chat", "messages", "responses"];
    return ask({
      ...{ agent: found, model: MODEL, isPatient: true, isPrompt: true },
      session: `session-${found.name}-${random.below(1e9)}`,
      protocol: random.pick(protocols),
      isStream: random.below(2) === 0,
      ...wish,
    }, {
      replicas: this.replicas.filter((_, place) => place === (at ?? place)),
      ...{ time: this.time, random },
      ...{ trace: this.trace, asked: this.asked },
      nextNumber: () => this.asked.length,
    });
  }

  /** Issues a JWT to a person. @param signer The number of the key. */
  async person(
    name: string,
    { seconds = 3600, claims = {}, signer: number = 0, kid }: {
      readonly seconds?: number;
      /** Claims that replace the usual ones. */
      readonly claims?: Entry;
      readonly signer?: number;
      /** The `kid` header, if it is not the signing key's name. */
      readonly kid?: string;
    } = {},
  ): Promise<Agent> {
    const signer = this.issuer.signers[number];
    assert(signer);
    const iat = Math.floor(this.time.now() / 1000);
    const token = await signer.sign({
      ...GOOD_CLAIMS,
      ...{ sub: name, email: `${name}@example.com`, iat, exp: iat + seconds },
      ...claims,
    }, kid === undefined ? {} : { kid });
    const person = { name, token, models: ["*"] };
    this.agents.push(person);
    return person;
  }

  /** Sends a request that must be served. Returns the providers that received it, in order. */
  async served(wish: Parameters<Stage["ask"]>[0] = {}): Promise<string[]> {
    const one = await this.ask(wish);
    assert.equal(one.status, 200, `#${one.number} is served`);
    return this.route(one);
  }

  /** Sends a sign-in form from an address. Returns the status. */
  async signIn(
    form: Readonly<Record<string, string>>,
    peer: string,
  ): Promise<number> {
    const isStart = form.grant_type === undefined;
    const path = isStart ? "device_authorization" : "token";
    const request = new Request(`https://gateway.example/oauth/${path}`, {
      ...{ method: "POST", body: new URLSearchParams(form) },
    });
    Object.defineProperty(request, "peer", { value: peer });
    const response = await this.gateway.handler(request);
    await response.body?.cancel();
    return response.status;
  }

  /** Returns the names of the providers that received a request, in order. */
  route(one: Asked): string[] {
    return this.entries(one).map(({ provider }) => provider);
  }

  entries({ number }: Asked): LedgerEntry[] {
    return this.ledger.filter(({ request }) => request === number);
  }

  /** Returns the line of a request in the log. */
  line(one: Asked): Readonly<Record<string, unknown>> {
    const id = one.headers?.get("x-request-id");
    const found = this.log.entries.find(({ event, fields }) =>
      event === "request" && fields.request_id === id
    );
    assert(found, `#${one.number} has a line in the log`);
    return found.fields;
  }

  /** Reads the same configuration again, with changes. */
  async reload(changes: Entry = {}): Promise<void> {
    this.trace.note("the configuration is read again");
    const next = await minimalConfig(
      { ...this.#file, ...changes },
      contextOf(this.#exchange),
    );
    for (const { configs } of this.replicas) configs.swap(next);
    this.process?.liveConfig.swap(next);
  }

  /** Reads the configuration again without a token. */
  async reloadWithout(name: string): Promise<void> {
    const { tokens } = this.#file;
    assert(Array.isArray(tokens));
    await this.reload({ tokens: tokens.filter((one) => one.name !== name) });
  }

  /** Reads the configuration again with changes of its first connection. */
  async reconnect(changes: Entry): Promise<void> {
    const { connections } = this.#file;
    assert(Array.isArray(connections));
    const [first, ...others] = connections;
    await this.reload({ connections: [{ ...first, ...changes }, ...others] });
  }

  /** Reads the configuration again with other limits of `alice`. */
  async limit(limits: readonly Entry[]): Promise<void> {
    const { tokens } = this.#file;
    assert(Array.isArray(tokens));
    const [alice, ...others] = tokens;
    await this.reload({ tokens: [{ ...alice, limits }, ...others] });
  }

  /** Ends the renewal of exchanged tokens. */
  endExchange(): void {
    this.#exchange?.issuer.book.retain([]);
  }

  sleep(ms: number): Promise<void> {
    return this.time.sleep(ms);
  }
}

/** An issuer of short-lived tokens, with the callbacks for their changes. */
interface Exchange {
  readonly issuer: SimulatedTokenIssuer;
  readonly log: MemoryLog;
  readonly changes: (() => void)[];
}

function createExchange(time: VirtualTime): Exchange {
  const log = createMemoryLog();
  const changes: (() => void)[] = [];
  const issuer = new SimulatedTokenIssuer(time, log, () => {
    for (const change of changes) change();
  });
  return { issuer, log, changes };
}

function contextOf(exchange: Exchange | undefined) {
  return exchange === undefined
    ? {}
    : { tokenFor: exchange.issuer.book.tokenFor };
}

function notFound(): Promise<Response> {
  return Promise.resolve(new Response(null, { status: 404 }));
}
