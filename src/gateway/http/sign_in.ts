import type { HttpClient, IncomingRequest } from "@gateway/http1";
import type { Config, SignIn } from "../config/config.ts";
import { parseDiscovery } from "../config/schema/key_set.ts";
import {
  type JsonObject,
  nonEmptyText,
  objectOf,
  parseJson,
} from "@gateway/base/json";
import { publicAddress } from "@gateway/base/public_address";
import type { Clock } from "@gateway/base/time/timers";
import { type Deadlines, within } from "@gateway/base/time/deadlines";
import { FRESH_MS } from "../relay/identity/key_sets.ts";
import {
  abandon,
  createByteReader,
  readText,
} from "@gateway/base/streams/byte_reader";
import {
  createSignInBounds,
  networkOf,
  type SignInBounds,
  type SignInKind,
} from "./sign_in_bounds.ts";
import {
  NoReply,
  sendSmall,
  type SmallRequest,
} from "../upstream/small_request.ts";

/**
 * The paths of the sign-in. Claude Code reads the addresses from the metadata, and accepts only addresses at the
 * gateway's own origin.
 */
export const SIGN_IN_PATHS = {
  metadata: "/.well-known/oauth-authorization-server",
  device: "/oauth/device_authorization",
  token: "/oauth/token",
} as const;

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

const REFRESH_GRANT = "refresh_token";

/** The longest form of a caller, in bytes, and the time for the form to arrive, in milliseconds. */
const MAX_BYTES = 32 * 1024;
const FORM_MS = 10_000;

/** The context of a sign-in. */
interface SignInContext {
  readonly config: Pick<Config, "identity" | "server">;
  readonly client: HttpClient;
  readonly deadlines: Deadlines;
}

/** Passes sign-ins on to the issuer of the configuration. */
export interface SignInService {
  /** Returns `undefined` when the configuration has no sign-in. */
  respond(
    path: string,
    request: IncomingRequest,
    context: SignInContext,
  ): Response | Promise<Response> | undefined;
}

/**
 * Creates the sign-in of Claude Code at this gateway, by the contract of Anthropic's own gateway (`GET /protocol` in
 * npm's `@anthropic-ai/claude-code` 2.1.330). The gateway keeps nothing and issues no token. The gateway passes both
 * requests of a sign-in to the issuer, and the issuer's tokens to the caller. These tokens then identify the caller.
 */
export function createSignIn(clock: Clock): SignInService {
  const bounds = createSignInBounds(clock);
  const readings = {
    device: new WeakMap<SignIn, Reading>(),
    token: new WeakMap<SignIn, Reading>(),
  };

  /** Returns the issuer's address for a step. Fetches the address once an hour, and again after a failure. */
  function addressOf(step: Step, options: PassOptions): Promise<string> {
    const { signIn } = options;
    const startedMs = clock.elapsedMs();
    const known = readings[step].get(signIn);
    if (known !== undefined && startedMs - known.startedMs < FRESH_MS) {
      return known.address;
    }
    const address = readAddress(step, options);
    readings[step].set(signIn, { address, startedMs });
    address.catch(() => readings[step].delete(signIn));
    return address;
  }

  return {
    respond(path, request, context) {
      const provider = context.config.identity.find((one) => one.signIn);
      if (provider?.signIn === undefined) return undefined;
      if (path === SIGN_IN_PATHS.metadata) return metadata(request);
      const { issuer, signIn } = provider;
      const step = path === SIGN_IN_PATHS.device ? "device" : "token";
      return run(step, request, { ...context, issuer, signIn });
    },
  };

  async function run(
    step: Step,
    request: IncomingRequest,
    options: PassOptions,
  ): Promise<Response> {
    // The form is read before a place is taken: a caller that sends nothing must not keep others out.
    const form = await readForm(request.body, options.deadlines);
    if (form === undefined) {
      return answer(400, INCOMPLETE, { connection: "close" });
    }
    const network = networkOf(request, options.config.server);
    return await pass(step, form, { ...options, addressOf, bounds, network });
  }
}

const INCOMPLETE = {
  error: "invalid_request",
  error_description:
    "Cannot read the form: it is incomplete, late or longer than 32 KiB. Send it again.",
};

/** Returns the form of a caller; `undefined` when the form is too long, too late or incomplete. */
async function readForm(
  body: IncomingRequest["body"],
  { start }: Deadlines,
): Promise<URLSearchParams | undefined> {
  if (body === null) return new URLSearchParams();
  const reader = createByteReader(body);
  try {
    const text = await within(readText({ body: reader }, MAX_BYTES), {
      ms: FORM_MS,
      start,
      onLate() {
        abandon(reader);
        return undefined;
      },
    });
    return text === undefined ? undefined : new URLSearchParams(text);
  } catch {
    return undefined;
  }
}

/** A host such as `service.1` is valid in HTTP, but not in a URL. */
const NO_ADDRESS = {
  error: "invalid_request",
  error_description:
    "Cannot find the gateway's public address: the host header is no host of a URL. Use another name.",
};

function metadata(request: IncomingRequest): Response {
  const base = publicAddress(request) ?? URL.parse(request.url)?.origin;
  if (base === undefined) return answer(400, NO_ADDRESS);
  return answer(200, {
    issuer: base,
    device_authorization_endpoint: base + SIGN_IN_PATHS.device,
    token_endpoint: base + SIGN_IN_PATHS.token,
    grant_types_supported: [DEVICE_GRANT, REFRESH_GRANT],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ["none"],
  });
}

/** The two requests that go to the issuer. */
type Step = "device" | "token";

interface PassOptions extends SignInContext {
  readonly issuer: string;
  readonly signIn: SignIn;
}

/** A fetch of an issuer's address, and the start of the fetch on the monotonic clock, in milliseconds. */
interface Reading {
  readonly address: Promise<string>;
  readonly startedMs: number;
}

async function pass(
  step: Step,
  form: URLSearchParams,
  options: PassOptions & {
    readonly addressOf: typeof readAddress;
    readonly bounds: SignInBounds;
    readonly network: string;
  },
): Promise<Response> {
  const { signIn: { client: client_id, scope, audience } } = options;
  const grant = form.get("grant_type");
  const fields = new URLSearchParams({ client_id });
  if (step === "token") {
    const name = grant === DEVICE_GRANT ? "device_code" : REFRESH_GRANT;
    const value = form.get(name);
    if (!value || grant !== DEVICE_GRANT && grant !== REFRESH_GRANT) {
      return answer(400, { error: "unsupported_grant_type" });
    }
    fields.set("grant_type", grant);
    fields.set(name, value);
  }
  if (grant !== DEVICE_GRANT) {
    fields.set("scope", scope);
    if (audience !== undefined) fields.set("audience", audience);
  }
  const token = fields.get(REFRESH_GRANT) ?? "";
  const { bounds, network } = options;
  const tokenKind = grant === DEVICE_GRANT ? "poll" : "renewal";
  const kind = step === "device" ? "start" : tokenKind;
  const place = bounds.take(kind, network, token);
  if (place === "refused") return answer(401, { error: "invalid_grant" });
  if (!("end" in place)) return tooMany(kind, place.retryAfterSeconds);
  let status = 0;
  let next: string | undefined;
  try {
    const url = await options.addressOf(step, options);
    const found = await send({
      url,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: fields.toString(),
    }, options);
    const response = found.status === 200
      ? answer(200, step === "token" ? tokensIn(found.body) : found.body)
      : refusal(found, grant);
    next = nonEmptyText(found.body.refresh_token);
    ({ status } = response);
    return response;
  } catch (error) {
    if (error instanceof NoReply) return unavailable(error.message);
    throw error;
  } finally {
    place.end(status, next);
  }
}

/** Returns a 429. After `slow_down`, a device flow polls more slowly (RFC 8628, section 3.5). */
function tooMany(kind: SignInKind, seconds: number): Response {
  return answer(429, {
    error: kind === "poll" ? "slow_down" : "temporarily_unavailable",
    error_description:
      `Cannot sign in: too many requests came from this network. Try again in ${seconds} s.`,
  }, { "retry-after": String(seconds) });
}

/** Reads the issuer's address for a step from the issuer's discovery document. @throws {NoReply} */
async function readAddress(
  step: Step,
  options: PassOptions,
): Promise<string> {
  const { issuer } = options;
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const { text } = await send({ url }, options);
  const found = parseDiscovery(text);
  const address = step === "device"
    ? found?.device_authorization_endpoint
    : found?.token_endpoint;
  const isSafe = found?.issuer === issuer && address !== undefined &&
    URL.canParse(address) &&
    new URL(address).protocol === new URL(issuer).protocol;
  if (isSafe) return address;
  throw new NoReply("the issuer has no device flow");
}

async function send(
  request: SmallRequest,
  { client, deadlines: { start } }: PassOptions,
) {
  const { status, text } = await sendSmall(request, { client, start });
  return { status, text, body: objectOf(parseJson(text)) };
}

/** Returns the tokens for a caller. The gateway verifies only JWTs, so the ID token replaces any other access token. */
function tokensIn(body: JsonObject): JsonObject {
  const { id_token: id, ...rest } = body;
  const isJwt = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(String(body.access_token));
  return isJwt || id === undefined ? rest : { ...rest, access_token: id };
}

/** Passes an error of OAuth 2.0 on to the caller. If the login has ended, the contract wants a 401. */
function refusal(
  { status, body }: { readonly status: number; readonly body: JsonObject },
  grant: string | null,
): Response {
  const error = nonEmptyText(body.error);
  if (error === undefined || status >= 500) {
    return unavailable(`the issuer answered with status ${status}`);
  }
  const hasEnded = grant === REFRESH_GRANT && error === "invalid_grant";
  const description = nonEmptyText(body.error_description);
  return answer(hasEnded ? 401 : 400, {
    error,
    ...(description === undefined ? {} : { error_description: description }),
  });
}

function unavailable(reason: string): Response {
  return answer(503, {
    error: "temporarily_unavailable",
    error_description: `Cannot sign in: ${reason}. Try again later.`,
  });
}

function answer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json(body, {
    status,
    headers: { "cache-control": "no-store", ...headers },
  });
}
