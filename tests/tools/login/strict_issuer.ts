import assert from "node:assert/strict";

/** The issuer of the tests. */
export const ISSUER = "https://login.example.com/realms/a";

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** An issuer that accepts only the documented requests (RFC 8628, RFC 6749). */
export interface StrictIssuer {
  readonly fetch: typeof fetch;
  /** The paths of all requests so far. */
  readonly asked: string[];
  /** The errors of the next polls, before the code is confirmed. */
  readonly errors: (string | undefined)[];
  /** Fields that replace the usual ones, by path. */
  readonly odd: Record<string, Record<string, unknown>>;
  /** Ends all logins. */
  revoke(): void;
  /** Returns the refresh token of an existing login. */
  issueRefreshToken(): string;
}

/** Opens an issuer on a clock. Each of its refresh tokens works once. */
export function openIssuer(
  { now, issuer = ISSUER, lifeS = 3600 }: {
    readonly now: () => number;
    readonly issuer?: string;
    readonly lifeS?: number;
  },
): StrictIssuer {
  const asked: string[] = [];
  const errors: (string | undefined)[] = [];
  const odd: Record<string, Record<string, unknown>> = {};
  let refreshToken: string | undefined;
  let serial = 0;
  let everyMs = 5000;
  let polledMs = -Infinity;

  function tokens() {
    serial += 1;
    refreshToken = `refresh-${serial}`;
    return {
      access_token: `eyJhbGciOiJSUzI1NiJ9.e30.token-${serial}`,
      token_type: "Bearer",
      expires_in: lifeS,
      refresh_token: refreshToken,
    };
  }

  function poll(form: URLSearchParams): Record<string, unknown> {
    assert.equal(form.get("device_code"), "device-code");
    assert.ok(now() - polledMs >= everyMs, "it polls too fast");
    polledMs = now();
    const error = errors.shift();
    if (error === "slow_down") everyMs += 5000;
    return error === undefined ? tokens() : { error };
  }

  function renew(form: URLSearchParams): Record<string, unknown> {
    const given = form.get("refresh_token");
    return given === refreshToken && given !== undefined
      ? tokens()
      : { error: "invalid_grant", error_description: "Token is not active" };
  }

  const answers: Record<string, (form: URLSearchParams) => unknown> = {
    "/.well-known/openid-configuration": () => ({
      issuer,
      token_endpoint: `${issuer}/token`,
      device_authorization_endpoint: `${issuer}/device`,
    }),
    "/device"(form) {
      polledMs = now();
      assert.equal(form.get("client_id"), "people");
      assert.equal(form.get("scope"), "openid offline_access");
      return {
        device_code: "device-code",
        user_code: "WDJB-MJHT",
        verification_uri: `${issuer}/enter`,
        verification_uri_complete: `${issuer}/enter?user_code=WDJB-MJHT`,
        expires_in: 600,
        interval: 5,
      };
    },
    "/token"(form) {
      assert.equal(form.get("client_id"), "people");
      const isPoll = form.get("grant_type") === DEVICE_GRANT;
      if (!isPoll) assert.equal(form.get("grant_type"), "refresh_token");
      return isPoll ? poll(form) : renew(form);
    },
  };
  return {
    asked,
    errors,
    odd,
    async fetch(input, init) {
      const request = new Request(input, init);
      assert.ok(request.url.startsWith(issuer), request.url);
      const path = request.url.slice(issuer.length);
      asked.push(path);
      assert.equal(request.redirect, "manual");
      const isForm = path !== "/.well-known/openid-configuration";
      assert.equal(request.method, isForm ? "POST" : "GET");
      const answer = answers[path];
      assert.ok(answer, path);
      const body = {
        ...Object(answer(new URLSearchParams(await request.text()))),
        ...odd[path],
      };
      return Response.json(body, { status: "error" in body ? 400 : 200 });
    },
    revoke: () => refreshToken = undefined,
    issueRefreshToken: () => refreshToken = "refresh-0",
  };
}
