import {
  type JsonObject,
  nonEmptyText,
  objectOf,
  parseJson,
} from "@gateway/base/json";
import { isSafeUrl } from "@gateway/base/safe_url";
import type { RequestTools } from "../gateway_client.ts";
import { endSentence, plainText } from "@gateway/base/text";
import { type Login, type LoginClient, LoginFault } from "./kept_login.ts";

/** The network and the clock that a login needs. */
export interface IssuerTools extends RequestTools {
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

/** The longest wait for a response, in milliseconds. Codex allows a command five seconds. */
const RESPONSE_MS = 4000;

/** The assumed lifetime of a token when the issuer's response names no lifetime, in seconds. */
const UNKNOWN_LIFE_S = 300;

/**
 * Signs a person in by the device flow (RFC 8628). The issuer's discovery document (OpenID Connect Discovery 1.0) names
 * the addresses of this flow.
 *
 * @param show Shows a line to the person.
 * @throws {LoginFault}
 */
export async function signIn(
  known: LoginClient,
  show: (line: string) => void,
  tools: IssuerTools,
): Promise<Login> {
  const { tokenUrl, deviceUrl } = await discover(known, tools);
  const fields = fieldsOf(known);
  const { ok, body } = await ask(deviceUrl, fields, tools);
  const device = nonEmptyText(body.device_code);
  const code = nonEmptyText(body.user_code);
  const url = nonEmptyText(body.verification_uri_complete) ??
    nonEmptyText(body.verification_uri);
  if (!ok || device === undefined || !code || !url) throw refusal(body);
  const endMs = tools.now() + seconds(body.expires_in, 600);
  show(`Open ${plainText(url)} and confirm the code ${plainText(code)}\n`);
  let everyMs = seconds(body.interval, 5);
  while (tools.now() < endMs) {
    await tools.wait(everyMs);
    const asked = await ask(tokenUrl, {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: device,
      client_id: known.client,
    }, tools).catch(() => undefined);
    if (asked?.ok) return loginOf(asked.body, { tokenUrl }, tools);
    // By RFC 8628, section 3.5, the program also asks less often after a lost connection.
    if (asked === undefined || asked.body.error === "slow_down") {
      everyMs += 5000;
    } else if (asked.body.error !== "authorization_pending") {
      throw refusal(asked.body);
    }
  }
  throw new LoginFault(
    "Nobody entered the code in time. Run the command again.",
  );
}

/**
 * Gets a new token for a login by the refresh token.
 *
 * @returns The login with the new token; `undefined` when the person must sign in again.
 * @throws {LoginFault} When the issuer gives no token for another reason.
 */
export async function refresh(
  { refreshToken, tokenUrl }: Login,
  known: LoginClient,
  tools: IssuerTools,
): Promise<Login | undefined> {
  if (refreshToken === undefined) return undefined;
  const { ok, body } = await ask(tokenUrl, {
    grant_type: "refresh_token",
    refresh_token: refreshToken,
    ...fieldsOf(known),
  }, tools);
  if (ok) return loginOf(body, { tokenUrl, refreshToken }, tools);
  if (body.error === "invalid_grant") return undefined;
  throw refusal(body);
}

function fieldsOf({ client, scope, audience }: LoginClient) {
  return { client_id: client, scope, ...(audience ? { audience } : {}) };
}

/** Reads the addresses of an issuer's device flow from its discovery document. */
async function discover(
  { issuer }: LoginClient,
  tools: IssuerTools,
): Promise<{ readonly tokenUrl: string; readonly deviceUrl: string }> {
  const place = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const { ok, body } = await ask(place, undefined, tools);
  if (!ok || body.issuer !== issuer) {
    throw new LoginFault(
      `${place} does not describe this issuer. Copy \`issuer\` from gateway.yaml.`,
    );
  }
  const tokenUrl = nonEmptyText(body.token_endpoint);
  const deviceUrl = nonEmptyText(body.device_authorization_endpoint);
  if (tokenUrl === undefined || deviceUrl === undefined) {
    throw new LoginFault(
      "The issuer has no device flow. Allow the device flow for this client at the issuer.",
    );
  }
  if (!isSafeUrl(tokenUrl) || !isSafeUrl(deviceUrl)) {
    throw new LoginFault("The issuer names an address without TLS.");
  }
  return { tokenUrl, deviceUrl };
}

function loginOf(
  body: JsonObject,
  before: { readonly tokenUrl: string; readonly refreshToken?: string },
  { now }: IssuerTools,
): Login {
  // The gateway accepts only JWTs. If the access token is no JWT, as at Google, the ID token is used.
  const token = [body.access_token, body.id_token].map(nonEmptyText)
    .find((text) => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text ?? ""));
  if (token === undefined) {
    throw new LoginFault(
      "The issuer's token is no JWT, so the gateway cannot verify it. Ask for the scope or audience of the gateway.",
    );
  }
  return {
    token,
    fromMs: now(),
    untilMs: now() + seconds(body.expires_in, UNKNOWN_LIFE_S),
    refreshToken: nonEmptyText(body.refresh_token) ?? before.refreshToken,
    tokenUrl: before.tokenUrl,
  };
}

/** Converts seconds to milliseconds. Some issuers write the number of seconds as a text. */
function seconds(value: unknown, otherwise: number): number {
  const found = Number(value);
  return (found > 0 ? found : otherwise) * 1000;
}

/** Returns the error for a login that the issuer refused. The issuer's error code and description hold no secret. */
function refusal(body: JsonObject): LoginFault {
  const words = [body.error, body.error_description].flatMap((one) =>
    nonEmptyText(one) ?? []
  );
  const reason = words.length === 0
    ? "its response does not follow RFC 8628"
    : plainText(words.join(": ")).slice(0, 500);
  return new LoginFault(`The issuer refuses the login: ${endSentence(reason)}`);
}

/** Sends a request: a POST with fields, else a GET. @throws {LoginFault} */
async function ask(
  url: string,
  fields: Readonly<Record<string, string>> | undefined,
  { fetch, deadline }: IssuerTools,
): Promise<{ readonly ok: boolean; readonly body: JsonObject }> {
  try {
    const response = await fetch(url, {
      ...fields && { method: "POST", body: new URLSearchParams(fields) },
      headers: { accept: "application/json" },
      redirect: "manual",
      signal: deadline(RESPONSE_MS),
    });
    const body = objectOf(parseJson(await response.text()));
    return { ok: response.ok, body };
  } catch {
    throw new LoginFault(`${new URL(url).host} cannot be reached.`);
  }
}
