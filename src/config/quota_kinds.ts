/** Every value of a connection's `quota.kind`: whose interface tells the quota. */
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

/** Whose interface tells the quota of a connection. */
export type QuotaKind = typeof QUOTA_KINDS[number];

/**
 * The quota of a service that has no reader of its own, described by JSON pointers (RFC 6901) into the
 * JSON that `quota.url` answers.
 */
export interface JsonQuota {
  /** Sent with the request; `authorization` here replaces the connection's own. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the body says when it is a success; without it every JSON is one. */
  readonly success: JsonCondition | undefined;
  /** What the body says when the credential is refused. */
  readonly unauthorized: JsonCondition | undefined;
  readonly windows: readonly JsonWindow[];
}

/** Whether the value at a JSON pointer is one of these. */
export interface JsonCondition {
  readonly at: string;
  readonly in: readonly JsonScalar[];
}

/** A value that can be compared. */
type JsonScalar = string | number | boolean | null;

/** One window: fixed words, and pointers to its numbers. */
export interface JsonWindow {
  readonly type: string;
  /** `5h`, `1d`, `7d`, `1mo`, `total`; `undefined` is unknown. */
  readonly period: string | undefined;
  readonly unit: string;
  /** The object that the other pointers start from, or an array of such objects; "" is the whole body. */
  readonly at: string;
  /** Which object of the array: the first whose members, by name, have these values. */
  readonly where: Readonly<Record<string, JsonScalar>> | undefined;
  readonly limit: string | undefined;
  readonly used: string | undefined;
  readonly remaining: string | undefined;
  /** Multiplies `limit`, `used` and `remaining`: 0.01 for cents. */
  readonly scale: number;
  readonly share: JsonShare | undefined;
  readonly resetsAt: JsonReset | undefined;
}

/** A share of the whole, and what it is a share of. */
export interface JsonShare {
  readonly at: string;
  readonly of:
    | "used_percent"
    | "remaining_percent"
    | "used_fraction"
    | "remaining_fraction";
}

/** When the window resets, and how that is written. */
export interface JsonReset {
  readonly at: string;
  readonly format:
    | "iso"
    | "epoch_seconds"
    | "epoch_ms"
    | "seconds_left"
    | "ms_left";
}

/** What a model may take beside other things, in the words of the configuration. */
export const INPUT_KINDS = ["text", "image", "pdf", "audio"] as const;

/** A kind of what a model may take. */
export type InputKind = typeof INPUT_KINDS[number];
