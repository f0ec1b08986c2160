import { type Operation, OPERATIONS, type Protocol } from "../core/protocol.ts";
import type { CredentialGroup } from "../relay/request/caller.ts";
import { PAGE_PATHS } from "./page.ts";

const MIB = 1024 * 1024;

/** Body limits in bytes (docs/design.md#paths). */
export const MAX_BODY_BYTES = { small: 8 * MIB, large: 32 * MIB } as const;

/** What the gateway answers by itself, to a caller it knows. */
export type Answer = "models" | "model" | "limits";

/** What it answers to everybody. */
export type OpenAnswer = "live" | "ready" | "page" | "probe" | "websocket";

/** What a route does: relay an operation to an upstream, or answer from the gateway itself. */
export type Action =
  | { readonly relay: Operation; readonly credential: CredentialGroup }
  | { readonly answer: Answer; readonly credential: CredentialGroup }
  | { readonly open: OpenAnswer };

/** One row of the route table. */
export interface Route {
  readonly methods: readonly string[];
  /** Exact paths; `:vendor` is `<vendor_b>` and must equal the configured one, `:id+` is a model id. */
  readonly paths: readonly string[];
  /** In whose error shape the route answers. */
  readonly protocol: Protocol;
  readonly action: Action;
  /** 0: the route takes no body. */
  readonly maxBodyBytes: number;
}

/** Every route of the gateway (docs/design.md#paths). A row that stands earlier wins. */
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

  open("websocket", ["GET"], both("/responses"), "responses"),
  answer("models", "either", ["GET", "HEAD"], both("/models")),
  answer("model", "either", ["GET", "HEAD"], both("/models/:id+")),
  answer("limits", "bearer", ["GET"], [
    ...both("/limits"),
    "/api/coding/paas/v4/limits",
    "/api/:vendor/v1/limits",
  ]),
  open("live", ["GET", "HEAD"], ["/livez", "/healthz"]),
  open("ready", ["GET", "HEAD"], ["/readyz"]),
  open("page", ["GET", "HEAD"], PAGE_PATHS),
  open("probe", ["HEAD"], [
    "/api/hello",
    "/api/api/hello",
    "/v1/api/hello",
    "/api/v1/api/hello",
    "/api/:vendor/api/hello",
  ]),
];

/** A main path under both prefixes (docs/design.md#paths). */
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
    protocol,
    action: { relay: operation, credential },
    maxBodyBytes,
  };
}

function answer(
  name: Answer,
  credential: CredentialGroup,
  methods: readonly string[],
  paths: readonly string[],
): Route {
  return {
    methods,
    paths,
    protocol: "chat",
    action: { answer: name, credential },
    maxBodyBytes: 0,
  };
}

function open(
  name: OpenAnswer,
  methods: readonly string[],
  paths: readonly string[],
  protocol: Protocol = "chat",
): Route {
  return { methods, paths, protocol, action: { open: name }, maxBodyBytes: 0 };
}
