import type { JsonObject } from "@gateway/base/json";
import type { Endpoint, Family, Protocol } from "@gateway/base/protocol";
import type { AwsSettings, TokenExchangeSettings } from "./token_exchange.ts";
import type { AuthScheme, QuotaKind } from "@gateway/services";
import type { GeneralFields } from "./schema/config_file.ts";
import type { ConnectionFields, ModelFields } from "./schema/connection.ts";
import type { IdentityFields } from "./schema/identity.ts";
import type { PublicKey } from "./schema/key_set.ts";
import type { JsonQuota, QuotaFields } from "./schema/quota.ts";
import type { Renamed } from "./schema/renamed.ts";
import type { Group, Price, UsageLimit } from "./usage_limits.ts";

export type { PublicKey };

/*
 * Options that resolving does not change have the type of their schema, under the names of `schema/renamed.ts`. The
 * schema describes these options.
 */

/** A resolved configuration: validated, with its references resolved and its secrets read. Frozen while in use. */
export interface Config
  extends Pick<Renamed<GeneralFields>, "messagesVendor" | "usage" | "include"> {
  readonly server: ServerConfig;
  /** The deadlines of connections that set no deadlines. `bodyMs` applies to every request. */
  readonly timeouts: Timeouts;
  readonly limits: Renamed<GeneralFields["limits"]>;
  /** `undefined` when no alerts are sent. */
  readonly alerts?: AlertsConfig | undefined;
  /** `undefined` when the gateway shares nothing with replicas. */
  readonly shared: SharedConfig | undefined;
  /** In the file's order, disabled connections included. */
  readonly connections: readonly Connection[];
  /** The deployments of each model name on enabled connections, aliases included, in the file's order. */
  readonly pools: ReadonlyMap<string, readonly Deployment[]>;
  /** The model names that lists of models show, in the file's order. An alias follows its model. */
  readonly listedModels: readonly string[];
  /** The callers by the SHA-256 of each token, in 64 lower-case hexadecimal digits. */
  readonly callers: ReadonlyMap<string, Caller>;
  /** In the file's order. Plain data, because threads receive the list. */
  readonly identity: readonly IdentityProvider[];
}

/** The receiver of warnings. Names of headers are in lower case, percentages in ascending order. */
export type AlertsConfig = Renamed<NonNullable<GeneralFields["alerts"]>>;

/** The listeners and the limits of the server. Names of headers are in lower case. */
export interface ServerConfig
  extends Omit<Renamed<GeneralFields["server"]>, "tls" | "admin"> {
  /** PEM texts. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly admin: AdminPlace | undefined;
}

/** The address of the second listener. */
export type AdminPlace =
  | { readonly host: string; readonly port: number }
  /** `portOffset` is added to the port of the first listener. */
  | { readonly host: string; readonly portOffset: number };

/** The store that replicas share. */
export interface SharedConfig {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** PEM text of the certificates that verify the store's certificate. `undefined` uses the system's certificates. */
  readonly ca: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** The prefix of every key in the store. */
  readonly prefix: string;
}

/** Deadlines in milliseconds. 0 means none. */
export type Timeouts = Renamed<GeneralFields["timeouts"]>;

/** The authentication at a provider: a scheme and its key. */
export type UpstreamAuth =
  | { readonly scheme: "none" }
  | {
    readonly scheme: Exclude<AuthScheme, "none">;
    /** Empty when the key comes from an exchange that has no token now. */
    readonly key: string;
    /** The exchange that the key comes from. */
    readonly exchange?: TokenExchangeSettings | undefined;
    /** The expiry of an exchange's key, in milliseconds since 1970. */
    readonly expiresAtMs?: number | undefined;
  }
  /** The requests are signed with the key of an exchange. */
  | {
    readonly scheme: "aws";
    readonly key: string;
    readonly exchange: AwsSettings;
    readonly expiresAtMs?: number | undefined;
  };

/** A configured account with a provider. */
export interface Connection extends
  Pick<
    Renamed<ConnectionFields>,
    "name" | "service" | "enabled" | "strict" | "maxConcurrent" | "ability"
  > {
  /** UUID, shown to callers as `provider_id`. */
  readonly id: string;
  /** Set when the file lists several keys: the connection's name there, and this key's share of new conversations. */
  readonly keyOf?: { readonly connection: string; readonly weight: number };
  /** Set when the file lists several keys: the other keys' secrets. A provider's error may quote these secrets. */
  readonly otherKeys?: readonly string[];
  readonly family: Family;
  /** A label for the place where the provider keeps data. `undefined` when the connection has no label. */
  readonly region?: string | undefined;
  /** Base URLs without a trailing slash. */
  readonly endpoints: Readonly<Partial<Record<Endpoint, string>>>;
  /** The protocols that the connection serves by translation, besides the protocols of its family. */
  readonly paths: readonly Protocol[];
  readonly auth: UpstreamAuth;
  /** Headers added to every request to the provider, after all others. Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The values removed from lists in request headers, by the header's name in lower case. */
  readonly headersDrop: Readonly<Record<string, readonly string[]>>;
  readonly streamOnly: boolean;
  /** Body fields set on translated requests. */
  readonly force: Readonly<JsonObject>;
  /** Body fields removed from translated requests. */
  readonly omit: readonly string[];
  /** `undefined` when the quota is not read. */
  readonly quota: QuotaConfig | undefined;
  /** `undefined` when requests do not wait for room on the connection. */
  readonly queue:
    | Renamed<NonNullable<ConnectionFields["queue"]>>
    | undefined;
  readonly timeouts: Timeouts;
  readonly models: readonly ConnectionModel[];
}

/** The settings for reading the quota of a connection. The kind decides which fields matter. */
export interface QuotaConfig
  extends Pick<QuotaFields, "plan" | "organization" | "project" | "url"> {
  readonly kind: Exclude<QuotaKind, "none">;
  /** The credential that reads the quota. If `undefined`, the connection's credential reads the quota. */
  readonly key: string | undefined;
  /** The description of the response. Set only for the kind `json`. */
  readonly json: JsonQuota | undefined;
}

/** Another name of a model. */
interface ModelAlias {
  readonly id: string;
  /** True when lists of models include the alias. */
  readonly isListed: boolean;
}

/** A model as one connection serves it. */
export interface ConnectionModel extends
  Pick<
    Renamed<ModelFields>,
    | "id"
    | "displayName"
    | "contextWindow"
    | "maxOutputTokens"
    | "omit"
    | "ability"
    | "input"
    | "fallbacks"
    | "quotaRouting"
  > {
  /** The name in requests to the provider. */
  readonly upstream: string;
  readonly aliases: readonly ModelAlias[];
  /** True when lists of models include the model's id. */
  readonly isListed: boolean;
  /** The lessons that change the model's translated requests. Absent when the model has no lessons. */
  readonly lessons?: readonly string[] | undefined;
  /** The reasoning efforts that the model accepts. An empty list means a model without reasoning. */
  readonly efforts: readonly string[] | undefined;
  /** `undefined` when the price is unknown. */
  readonly price: Price | undefined;
}

/** A model on a connection that serves it. */
export interface Deployment {
  readonly connection: Connection;
  readonly model: ConnectionModel;
}

/** An identity provider, whose tokens (JWT) identify callers. */
export interface IdentityProvider {
  /** The `iss` of the provider's tokens. */
  readonly issuer: string;
  /** The accepted audiences. The `aud` of a token must hold at least one of these audiences. */
  readonly audiences: readonly [string, ...string[]];
  readonly keys: IdentityKeys;
  /** The claim with the name of the caller. */
  readonly nameClaim: string;
  readonly rules: readonly IdentityRule[];
  /** `undefined` when callers cannot sign in at the gateway. */
  readonly signIn: SignIn | undefined;
}

/** The issuer's public client, with which people sign in. */
export type SignIn = Renamed<NonNullable<IdentityFields["sign_in"]>>;

/** The source of an identity provider's keys. */
export type IdentityKeys =
  | { readonly kind: "url"; readonly url: string }
  /** The document of OpenID Connect that names the URL of the keys. */
  | { readonly kind: "discovery"; readonly url: string }
  /** The keys themselves, JSON Web Keys of asymmetric algorithms. */
  | { readonly kind: "file"; readonly keys: readonly PublicKey[] };

/** What an identity provider's callers may use if their tokens match `when`. */
export interface IdentityRule extends Access {
  /** The values of claims, by the names of the claims. A token matches if it has all of these values. */
  readonly when: Readonly<Record<string, string | number | boolean>>;
}

/** A member of staff. A token identifies the caller; while a new token replaces an old token, both count. */
export interface Caller extends Access {
  readonly name: string;
  /**
   * Identifies the caller, in 64 lower-case hexadecimal digits: the SHA-256 of the caller's first token. For a caller
   * with a JWT: the SHA-256 of issuer and name.
   */
  readonly sha256: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number | undefined;
  /** True for a caller of an identity provider. There may be any number of these callers. */
  readonly isUnlisted?: boolean;
}

/** What a caller may use. */
export interface Access {
  /** The ids of the assigned connections that are in the caller's regions, disabled connections included. */
  readonly connectionIds: ReadonlySet<string>;
  /** The regions that the caller's requests may reach. `undefined` means all regions. */
  readonly regions?: readonly string[] | undefined;
  /** The ids of the assigned connections outside the caller's regions, to explain why a request is refused. */
  readonly outsideIds?: ReadonlySet<string> | undefined;
  /** The ids of the assigned models. `undefined` means every model of the assigned connections. */
  readonly models: ReadonlySet<string> | undefined;
  /** The number of the caller's requests that may run at once. */
  readonly maxConcurrent: number;
  /** The caller's share of the turns in a queue, relative to the weights of other callers. */
  readonly weight: number;
  /** The groups of the caller. The limits of all these groups apply. */
  readonly groups: readonly Group[];
  /** The settings that the caller's groups supply, because the caller's own entry lacks these settings. */
  readonly inherited?: readonly ("connections" | "models" | "maxConcurrent")[];
  /** The limits of the caller alone. */
  readonly limits: readonly UsageLimit[];
}
