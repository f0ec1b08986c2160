import {
  type Operation,
  OPERATION_NAMES,
  OPERATIONS,
  type Protocol,
} from "@gateway/base/protocol";
import type { CredentialGroup } from "../relay/request/authenticate.ts";
import { MANAGED_SETTINGS_PATH } from "./managed_settings.ts";
import { OPENCODE_CONFIG_PATH, OPENCODE_PATH } from "./opencode.ts";
import {
  type CallerResponder,
  limits,
  live,
  managedSettings,
  model,
  models,
  opencodeConfig,
  opencodeLogin,
  type OpenResponder,
  page,
  probe,
  ready,
  signIn,
  usage,
  websocket,
} from "./responders.ts";
import { SIGN_IN_PATHS } from "./sign_in.ts";
import { PAGE_PATHS } from "@gateway/page";

const MIB = 1024 * 1024;

/** Body limits in bytes (docs/design.md#paths). */
const MAX_BODY_BYTES = { small: 8 * MIB, large: 32 * MIB } as const;

/** The paths and limits of an operation. The main path of the operation exists under both prefixes. */
interface RelayRow {
  readonly credential: CredentialGroup;
  readonly maxBodyBytes: number;
  /** Older paths of the operation. Only small bodies are accepted there. */
  readonly legacyPaths: readonly string[];
}

/** The row of every operation. */
const RELAY_ROWS: Readonly<Record<Operation, RelayRow>> = {
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

/** Relays an operation to a provider. */
interface RelayAction {
  readonly relay: Operation;
  /** True when the path requests a stream. `undefined` when the body decides. */
  readonly stream: boolean | undefined;
  readonly credential: CredentialGroup;
}

/** Returns a response of the gateway's own to a known caller. */
export interface OwnResponseAction {
  readonly response: CallerResponder;
  readonly credential: CredentialGroup;
}

/** Returns a response of the gateway's own to anyone. */
export interface OpenAction {
  readonly open: OpenResponder;
}

/** The action of a route. */
type Action = RelayAction | OwnResponseAction | OpenAction;

/** A row of the route table. */
export interface Route {
  readonly methods: readonly string[];
  /** Exact paths. `:vendor` is `<vendor_b>` and must equal the configured `messages_vendor`. `:id+` is a model id. */
  readonly paths: readonly string[];
  /** `undefined` for routes of the gateway's own. Errors of these routes have the form of `DEFAULT_PROTOCOL`. */
  readonly protocol: Protocol | undefined;
  readonly action: Action;
  /** 0 when the route takes no body. */
  readonly maxBodyBytes: number;
}

/** Every route of the gateway (docs/design.md#paths). The first match wins. */
export const ROUTES: readonly Route[] = [
  ...OPERATION_NAMES.flatMap(relayRoutes),
  open(websocket, ["GET"], both("/responses"), "responses"),
  answer(models, "either", ["GET", "HEAD"], both("/models")),
  answer(model, "either", ["GET", "HEAD"], both("/models/:id+")),
  answer(limits, "bearer", ["GET"], [
    ...both("/limits"),
    "/api/coding/paas/v4/limits",
    "/api/:vendor/v1/limits",
  ]),
  open(opencodeLogin, ["GET", "HEAD"], [OPENCODE_PATH]),
  open(signIn, ["GET", "HEAD"], [SIGN_IN_PATHS.metadata]),
  open(signIn, ["POST"], [SIGN_IN_PATHS.device, SIGN_IN_PATHS.token]),
  answer(opencodeConfig, "bearer", ["GET", "HEAD"], [OPENCODE_CONFIG_PATH]),
  answer(managedSettings, "bearer", ["GET"], [MANAGED_SETTINGS_PATH]),
  answer(usage, "bearer", ["GET"], both("/usage")),
  open(live, ["GET", "HEAD"], ["/livez", "/healthz"]),
  open(ready, ["GET", "HEAD"], ["/readyz"]),
  open(page, ["GET", "HEAD"], PAGE_PATHS),
  open(probe, ["HEAD"], [
    "/api/hello",
    "/api/api/hello",
    "/v1/api/hello",
    "/api/v1/api/hello",
    "/api/:vendor/api/hello",
  ]),
];

/** Returns a main path under both prefixes (docs/design.md#paths). */
function both(path: string): readonly string[] {
  return [`/api/v1${path}`, `/v1${path}`];
}

function relayRoutes(name: Operation): readonly Route[] {
  const { path, streamPath, streamField } = OPERATIONS[name];
  const { maxBodyBytes, legacyPaths } = RELAY_ROWS[name];
  const stream = streamField === undefined ? false : undefined;
  const routes = [
    relay(name, stream, maxBodyBytes, both(withModel(path))),
    relay(name, stream, MAX_BODY_BYTES.small, legacyPaths),
  ];
  if (streamPath !== undefined) {
    routes.push(relay(name, true, maxBodyBytes, both(withModel(streamPath))));
  }
  return routes.filter(({ paths }) => paths.length > 0);
}

/** Returns a path whose parameter also matches slashes, because a model id may have slashes. */
function withModel(path: string): string {
  return path.replace(":model", ":id+");
}

function relay(
  operation: Operation,
  stream: boolean | undefined,
  maxBodyBytes: number,
  paths: readonly string[],
): Route {
  const { protocol } = OPERATIONS[operation];
  const { credential } = RELAY_ROWS[operation];
  return {
    methods: ["POST"],
    paths,
    protocol,
    action: { relay: operation, stream, credential },
    maxBodyBytes,
  };
}

function answer(
  response: CallerResponder,
  credential: CredentialGroup,
  methods: readonly string[],
  paths: readonly string[],
): Route {
  return {
    methods,
    paths,
    protocol: undefined,
    action: { response, credential },
    maxBodyBytes: 0,
  };
}

function open(
  open: OpenResponder,
  methods: readonly string[],
  paths: readonly string[],
  protocol?: Protocol,
): Route {
  return { methods, paths, protocol, action: { open }, maxBodyBytes: 0 };
}
