import { type Operation, OPERATIONS, type Protocol } from "../core/protocol.ts";
import type { CredentialGroup } from "../relay/caller.ts";

const MIB = 1024 * 1024;

/** Body limits in bytes (spec section 8). */
export const MAX_BODY_BYTES = { small: 8 * MIB, large: 32 * MIB } as const;

/** What the gateway answers by itself. */
export type Answer =
  | "models"
  | "model"
  | "limits"
  | "live"
  | "ready"
  | "page"
  | "probe"
  | "websocket";

/** What a route does: relay an operation to an upstream, or answer from the gateway itself. */
export type Action =
  | { readonly relay: Operation }
  | { readonly answer: Answer };

/** One row of the route table. */
export interface Route {
  readonly methods: readonly string[];
  /** Exact paths; `:vendor` is `<vendor_b>` and must equal the configured one, `:id+` is a model id. */
  readonly paths: readonly string[];
  /** `none`: open to everybody. */
  readonly credential: CredentialGroup | "none";
  /** In whose error shape the route answers. */
  readonly protocol: Protocol;
  readonly action: Action;
  /** 0: the route takes no body. */
  readonly maxBodyBytes: number;
}

/** Every route of the gateway (spec section 4, design section 5). A row that stands earlier wins. */
export const ROUTES: readonly Route[] = [
  relay(
    "chat_completions",
    "bearer",
    MAX_BODY_BYTES.small,
    both("/chat/completions"),
  ),
  relay("messages", "messages", MAX_BODY_BYTES.large, both("/messages")),
  relay(
    "count_tokens",
    "messages",
    MAX_BODY_BYTES.large,
    both("/messages/count_tokens"),
  ),
  relay("responses", "bearer", MAX_BODY_BYTES.large, both("/responses")),
  relay("compact", "bearer", MAX_BODY_BYTES.large, both("/responses/compact")),
  relay("completions", "bearer", MAX_BODY_BYTES.small, both("/completions")),

  relay("chat_completions", "bearer", MAX_BODY_BYTES.small, [
    "/api/coding/paas/v4/chat/completions",
  ]),
  relay("messages", "messages", MAX_BODY_BYTES.small, [
    "/api/:vendor/v1/messages",
  ]),
  relay("count_tokens", "messages", MAX_BODY_BYTES.small, [
    "/api/:vendor/v1/messages/count_tokens",
  ]),

  answer("websocket", "none", ["GET"], both("/responses"), "responses"),
  answer("models", "either", ["GET", "HEAD"], both("/models")),
  answer("model", "either", ["GET", "HEAD"], both("/models/:id+")),
  answer("limits", "bearer", ["GET"], [
    ...both("/limits"),
    "/api/coding/paas/v4/limits",
    "/api/:vendor/v1/limits",
  ]),
  answer("live", "none", ["GET", "HEAD"], ["/livez", "/healthz"]),
  answer("ready", "none", ["GET", "HEAD"], ["/readyz"]),
  answer("page", "none", ["GET", "HEAD"], ["/"]),
  answer("probe", "none", ["HEAD"], [
    "/api/hello",
    "/api/api/hello",
    "/v1/api/hello",
    "/api/v1/api/hello",
    "/api/:vendor/api/hello",
  ]),
];

/** A main path under both prefixes (spec section 4). */
function both(path: string): readonly string[] {
  return [`/api/v1${path}`, `/v1${path}`];
}

function relay(
  operation: Operation,
  credential: CredentialGroup,
  maxBodyBytes: number,
  paths: readonly string[],
): Route {
  const { protocol } = OPERATIONS[operation];
  return {
    methods: ["POST"],
    paths,
    credential,
    protocol,
    action: { relay: operation },
    maxBodyBytes,
  };
}

function answer(
  name: Answer,
  credential: Route["credential"],
  methods: readonly string[],
  paths: readonly string[],
  protocol: Protocol = "chat",
): Route {
  return {
    methods,
    paths,
    credential,
    protocol,
    action: { answer: name },
    maxBodyBytes: 0,
  };
}
