/** Every value of a connection's `quota.kind`: the interface that reports the quota. */
export const QUOTA_KINDS = [
  "zai",
  "bigmodel",
  "anthropic",
  "codex",
  "openai",
  "groq",
  "headers",
  "openrouter",
  "kimi",
  "moonshot",
  "minimax",
  "deepseek",
  "siliconflow",
  "copilot",
  "synthetic",
  "litellm",
  "new-api",
  "sub2api",
  "gateway",
  "json",
  "none",
] as const;

/** The interface that reports the quota of a connection. */
export type QuotaKind = typeof QUOTA_KINDS[number];

/**
 * The quota of a service without a reader of its own. JSON pointers (RFC 6901) locate its parts in the JSON response of
 * `quota.url`.
 */
export interface JsonQuota {
  /** Headers of the request. An `authorization` header replaces the connection's. */
  readonly headers: Readonly<Record<string, string>>;
  /** The condition for a successful body. Without it, every JSON body is successful. */
  readonly success: JsonCondition | undefined;
  /** The condition for a body that rejects the credential. */
  readonly unauthorized: JsonCondition | undefined;
  readonly windows: readonly JsonWindow[];
}

/** A condition: the value at a JSON pointer is one of a list. */
export interface JsonCondition {
  readonly at: string;
  readonly in: readonly JsonScalar[];
}

/** A value that can be compared. */
type JsonScalar = string | number | boolean | null;

/** A window: fixed texts, and pointers to its numbers. */
export interface JsonWindow {
  readonly type: string;
  /** `5h`, `1d`, `7d`, `1mo` or `total`. `undefined` is unknown. */
  readonly period: string | undefined;
  readonly unit: string;
  /** The object that the other pointers start from, or an array of such objects. "" is the whole body. */
  readonly at: string;
  /** Selects an object of the array: the first whose members have these values. */
  readonly where: Readonly<Record<string, JsonScalar>> | undefined;
  readonly limit: string | undefined;
  readonly used: string | undefined;
  readonly remaining: string | undefined;
  /** Multiplies `limit`, `used` and `remaining`: 0.01 for cents. */
  readonly scale: number;
  readonly share: JsonShare | undefined;
  readonly resetsAt: JsonReset | undefined;
}

/** A pointer to a share, and the meaning of the share. */
export interface JsonShare {
  readonly at: string;
  readonly of:
    | "used_percent"
    | "remaining_percent"
    | "used_fraction"
    | "remaining_fraction";
}

/** A pointer to the reset time, and its format. */
export interface JsonReset {
  readonly at: string;
  readonly format:
    | "iso"
    | "epoch_seconds"
    | "epoch_ms"
    | "seconds_left"
    | "ms_left";
}

/** The inputs that a model may accept, as the configuration names them. */
export const INPUT_KINDS = ["text", "image", "pdf", "audio"] as const;

/** An input that a model may accept. */
export type InputKind = typeof INPUT_KINDS[number];
