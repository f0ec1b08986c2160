import type { JsonObject } from "../core/json.ts";
import type { Endpoint, Family } from "../core/protocol.ts";
import type { InputKind, JsonQuota, QuotaKind } from "./quota_kinds.ts";
import type { ServiceName } from "./services.ts";
import type { Group, Price, UsageLimit } from "./usage_limits.ts";

/** A resolved configuration: validated, references followed, secrets read. Frozen while in use. */
export interface Config {
  readonly server: ServerConfig;
  /** `<vendor_b>`: the legacy path segment and the prefix of the version header. */
  readonly messagesVendor: string;
  /** What connections without deadlines of their own have; `bodyMs` holds for every request. */
  readonly timeouts: Timeouts;
  readonly limits: { readonly budgetMs: number; readonly cacheMs: number };
  /** Paths with wildcards; a relative one is relative to the configuration file. */
  readonly usage: { readonly replay: readonly string[] };
  /** `undefined`: this gateway shares nothing with replicas. */
  readonly shared: SharedConfig | undefined;
  /** In the file's order, the disabled ones included. */
  readonly connections: readonly Connection[];
  /** Every name of a model, an alias too, with the enabled connections that serve it, in the file's order. */
  readonly pools: ReadonlyMap<string, readonly Deployment[]>;
  /** The names that are shown to callers who ask for a list, in the file's order, aliases after their model. */
  readonly listedModels: readonly string[];
  /** Callers by the SHA-256 of each of their tokens, 64 lower-case hexadecimal digits. */
  readonly callers: ReadonlyMap<string, Caller>;
}

/** Where and how the gateway listens. */
export interface ServerConfig {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Threads that share the port; `auto` is one a core. */
  readonly workers: number | "auto";
  readonly maxConcurrentRequests: number;
  /** What callers' bodies may take of memory together, in bytes. */
  readonly maxBodyMemoryBytes: number;
  readonly drainMs: number;
  readonly admin: { readonly host: string; readonly port: number } | undefined;
}

/** The store that replicas share. */
export interface SharedConfig {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** PEM text of the certificates to check the store's against; `undefined`: the system's. */
  readonly ca: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** Before the name of every key. */
  readonly prefix: string;
}

/** Deadlines in milliseconds; 0 means none. */
export interface Timeouts {
  readonly connectMs: number;
  /** Until the upstream's response headers. */
  readonly firstByteMs: number;
  /** Until the first real output of a stream. */
  readonly firstOutputMs: number;
  /** Between two chunks of an upstream's body. */
  readonly idleMs: number;
  /** For the caller's body to arrive. */
  readonly bodyMs: number;
}

/** How the gateway's own credential is presented to an upstream. */
export type UpstreamAuth =
  | { readonly scheme: "none" }
  | { readonly scheme: "bearer" | "x-api-key"; readonly key: string };

/** A configured upstream. */
export interface Connection {
  readonly name: string;
  /** UUID, shown to callers as `provider_id`. */
  readonly id: string;
  /** Kind of upstream service, such as `zai`. */
  readonly service: ServiceName;
  readonly family: Family;
  readonly enabled: boolean;
  /** Base URLs without a trailing slash. */
  readonly endpoints: Readonly<Partial<Record<Endpoint, string>>>;
  readonly auth: UpstreamAuth;
  /** Added to every upstream request, last; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly streamOnly: boolean;
  /** Body fields set on translated requests. */
  readonly force: Readonly<JsonObject>;
  /** Body fields removed from translated requests. */
  readonly omit: readonly string[];
  /** Whether a translation that would lose a field is refused. */
  readonly strict: boolean;
  /** `undefined`: the quota is not read. */
  readonly quota: QuotaConfig | undefined;
  readonly maxConcurrent: number | undefined;
  readonly timeouts: Timeouts;
  readonly models: readonly ConnectionModel[];
}

/** How the quota of a connection is read; which fields matter depends on the kind. */
export interface QuotaConfig {
  readonly kind: Exclude<QuotaKind, "none">;
  readonly plan: "personal" | "team";
  readonly organization: string | undefined;
  readonly project: string | undefined;
  /** Overrides the kind's endpoint. */
  readonly url: string | undefined;
  /** The credential for reading the quota, where it is not the connection's own. */
  readonly key: string | undefined;
  /** What the answer means; set for the kind `json` alone. */
  readonly json: JsonQuota | undefined;
}

/** One more name of a model. */
export interface ModelAlias {
  readonly id: string;
  /** Whether lists of models have it. */
  readonly isListed: boolean;
}

/** A model as one connection serves it. */
export interface ConnectionModel {
  /** What callers ask for. */
  readonly id: string;
  /** What the upstream is asked for. */
  readonly upstream: string;
  readonly aliases: readonly ModelAlias[];
  /** Whether lists of models have its id. */
  readonly isListed: boolean;
  readonly displayName: string | undefined;
  /** In tokens. */
  readonly contextWindow: number | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly input: readonly InputKind[] | undefined;
  /** The efforts that it can be asked to reason with; empty means that it does not reason. */
  readonly efforts: readonly string[] | undefined;
  /** Model ids to try when every connection of this one failed. */
  readonly fallbacks: readonly string[];
  readonly quotaRouting: boolean;
  /** `undefined`: unknown. */
  readonly price: Price | undefined;
}

/** A model at a connection that serves it. */
export interface Deployment {
  readonly connection: Connection;
  readonly model: ConnectionModel;
}

/** A staff member, known by a token, or by several while one takes the place of another. */
export interface Caller {
  readonly name: string;
  /** Of the caller's first token, which stands for the caller: 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number | undefined;
  /** The ids of the assigned connections, the disabled ones included. */
  readonly connectionIds: ReadonlySet<string>;
  /** The assigned models; `undefined` means every model of the assigned connections. */
  readonly models: ReadonlySet<string> | undefined;
  /** How many of its requests may run at once. */
  readonly maxConcurrent: number;
  /** What binds it together with others. */
  readonly group: Group | undefined;
  /** What it may use by itself. */
  readonly limits: readonly UsageLimit[];
}
