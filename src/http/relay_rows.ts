import type { Operation } from "../core/protocol.ts";
import type { CredentialGroup } from "../relay/request/caller.ts";

const MIB = 1024 * 1024;

/** Body limits in bytes (docs/design.md#paths). */
export const MAX_BODY_BYTES = { small: 8 * MIB, large: 32 * MIB } as const;

/** How an operation is offered to callers, at its own path under both prefixes. */
export interface RelayRow {
  readonly credential: CredentialGroup;
  readonly maxBodyBytes: number;
  /** Older paths, whose bodies are small. */
  readonly legacyPaths: readonly string[];
}

/** Every operation. */
export const RELAY_ROWS: Readonly<Record<Operation, RelayRow>> = {
  chat_completions: {
    credential: "bearer",
    maxBodyBytes: MAX_BODY_BYTES.small,
    legacyPaths: ["/api/coding/paas/v4/chat/completions"],
  },
  messages: {
    credential: "messages",
    maxBodyBytes: MAX_BODY_BYTES.large,
    legacyPaths: ["/api/:vendor/v1/messages"],
  },
  count_tokens: {
    credential: "messages",
    maxBodyBytes: MAX_BODY_BYTES.large,
    legacyPaths: ["/api/:vendor/v1/messages/count_tokens"],
  },
  responses: {
    credential: "bearer",
    maxBodyBytes: MAX_BODY_BYTES.large,
    legacyPaths: [],
  },
  compact: {
    credential: "bearer",
    maxBodyBytes: MAX_BODY_BYTES.large,
    legacyPaths: [],
  },
  completions: {
    credential: "bearer",
    maxBodyBytes: MAX_BODY_BYTES.small,
    legacyPaths: [],
  },
};
