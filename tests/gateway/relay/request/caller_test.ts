import assert from "node:assert/strict";
import type { Config } from "../../../../src/gateway/config/config.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import {
  authenticate,
  type CredentialGroup,
} from "../../../../src/gateway/relay/request/authenticate.ts";
import {
  ALICE_TOKEN,
  minimalConfig,
  NOW_MS,
  tokenFile,
} from "../../../support/gateway/config.ts";
import { steps } from "../../../support/steps.ts";

const BOB_TOKEN = "mg_bob";
const EXPIRES_AT = "2026-01-02T00:00:00Z";

function loadConfig(): Promise<Config> {
  return minimalConfig({
    tokens: [
      tokenFile(),
      tokenFile({
        name: "bob",
        sha256: sha256Hex(BOB_TOKEN),
        expires_at: EXPIRES_AT,
      }),
    ],
  });
}

/** No credential of these tests is a JWT of an identity provider. */
const NO_IDENTITY = {
  callerOf: () => assert.fail("an identity provider was asked"),
};

type HeaderList = Readonly<Record<string, string>>;

const VERSION: HeaderList = { "anthropic-version": "2023-06-01" };

interface Attempt {
  readonly group: CredentialGroup;
  readonly headers: HeaderList;
  readonly nowMs?: number;
}

/** Returns the caller's name, or the error that rejects it. */
async function decide(
  { group, headers, nowMs = NOW_MS }: Attempt,
): Promise<string | GatewayError> {
  const config = await loadConfig();
  try {
    const options = { group, config, identity: NO_IDENTITY, nowMs };
    return (await authenticate(new Headers(headers), options)).name;
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error;
  }
}

const bearer = (token: string): HeaderList => ({
  authorization: `Bearer ${token}`,
});
const apiKey = (token: string): HeaderList => ({ "x-api-key": token });

/** Requests by their route's group and headers, with the expected name or error code. */
const CASES: Readonly<
  Record<string, readonly [CredentialGroup, HeaderList, string]>
> = {
  "Bearer on a bearer route": ["bearer", bearer(ALICE_TOKEN), "alice"],
  "bearer in lower case": [
    "bearer",
    { authorization: `bearer ${ALICE_TOKEN}` },
    "alice",
  ],
  "several spaces after Bearer": [
    "bearer",
    { authorization: `Bearer   ${ALICE_TOKEN}` },
    "alice",
  ],
  "x-api-key on a bearer route": [
    "bearer",
    apiKey(ALICE_TOKEN),
    "no credential",
  ],
  "x-api-key of another on a bearer route": [
    "bearer",
    { ...bearer(ALICE_TOKEN), ...apiKey(BOB_TOKEN) },
    "alice",
  ],
  "x-api-key on a Messages route": ["messages", apiKey(ALICE_TOKEN), "alice"],
  "Bearer on a Messages route": ["messages", bearer(ALICE_TOKEN), "alice"],
  "the same twice": [
    "messages",
    { ...bearer(ALICE_TOKEN), ...apiKey(ALICE_TOKEN) },
    "alice",
  ],
  "one valid and one unknown": [
    "messages",
    { ...bearer("unknown"), ...apiKey(ALICE_TOKEN) },
    "alice",
  ],
  "one unknown and one valid": [
    "messages",
    { ...bearer(ALICE_TOKEN), ...apiKey("unknown") },
    "alice",
  ],
  "two callers": [
    "messages",
    { ...bearer(ALICE_TOKEN), ...apiKey(BOB_TOKEN) },
    "bad credential",
  ],
  "two unknown ones": [
    "either",
    { ...bearer("one"), ...apiKey("two") },
    "bad credential",
  ],
  "Bearer on an either route": ["either", bearer(BOB_TOKEN), "bob"],
  "x-api-key on an either route": ["either", apiKey(BOB_TOKEN), "bob"],
  "nothing": ["bearer", {}, "no credential"],
  "nothing on a Messages route": ["messages", {}, "no credential"],
  "another scheme": [
    "bearer",
    { authorization: `Basic ${ALICE_TOKEN}` },
    "no credential",
  ],
  "the token without a scheme": [
    "bearer",
    { authorization: ALICE_TOKEN },
    "no credential",
  ],
  "Bearer alone": ["bearer", { authorization: "Bearer" }, "no credential"],
  "Bearer and spaces": [
    "bearer",
    { authorization: "Bearer  " },
    "no credential",
  ],
  "an empty x-api-key": ["either", { "x-api-key": "" }, "no credential"],
  "an unknown token": ["bearer", bearer("unknown"), "bad credential"],
  "the token's hash": [
    "bearer",
    bearer(sha256Hex(ALICE_TOKEN)),
    "bad credential",
  ],
  "a token and more": ["bearer", bearer(`${ALICE_TOKEN}x`), "bad credential"],
  "two tokens in one header": [
    "bearer",
    bearer(`${ALICE_TOKEN}, Bearer ${ALICE_TOKEN}`),
    "bad credential",
  ],
};

Deno.test("authenticate() finds the caller by the credential", (t) =>
  steps(t, Object.entries(CASES), async ([, [group, headers, expected]]) => {
    const decided = await decide({
      group,
      headers: { ...headers, ...VERSION },
    });
    if (typeof decided === "string") {
      assert.equal(decided, expected);
      return;
    }
    assert.equal(decided.kind, "unauthenticated");
    assert.equal(decided.headers["www-authenticate"], "Bearer");
    const isBad = decided.code === "invalid_api_key";
    assert.equal(isBad ? "bad credential" : "no credential", expected);
  }));

/** Returns tokens that differ slightly from Alice's. */
function nearMisses(): string[] {
  const last = ALICE_TOKEN.length - 1;
  const changed = [...ALICE_TOKEN].map((_, at) =>
    `${ALICE_TOKEN.slice(0, at)}~${ALICE_TOKEN.slice(at + 1)}`
  );
  const cut = Array.from(
    { length: last },
    (_, at) => ALICE_TOKEN.slice(0, at + 1),
  );
  return [...changed, ...cut, `${ALICE_TOKEN}~`, ALICE_TOKEN.toUpperCase()];
}

Deno.test("authenticate() returns the same error for a nearly correct token as for any wrong one", async () => {
  const refuse = async (token: string) => {
    const error = await decide({ group: "bearer", headers: bearer(token) });
    assert.ok(error instanceof GatewayError, token);
    const { kind, message, code, headers } = error;
    return { kind, message, code, headers };
  };
  const stranger = await refuse("nothing alike");
  for (const token of nearMisses()) {
    assert.deepEqual(await refuse(token), stranger, token);
  }
});

Deno.test("authenticate() names the header that a route accepts", async () => {
  const messages = new Map<CredentialGroup, string>();
  for (const group of ["bearer", "messages", "either"] as const) {
    const error = await decide({ group, headers: {} });
    assert.ok(error instanceof GatewayError);
    messages.set(group, error.message);
  }
  const begin =
    "Cannot authenticate the request: its token is missing. Send your token as";
  const both = `${begin} x-api-key or Authorization: Bearer.`;
  assert.equal(messages.get("bearer"), `${begin} Authorization: Bearer.`);
  assert.equal(messages.get("messages"), both);
  assert.equal(messages.get("either"), both);
});

Deno.test("authenticate() rejects a token from the moment of its expiry", async () => {
  const attempt = { group: "bearer", headers: bearer(BOB_TOKEN) } as const;
  const endMs = Date.parse(EXPIRES_AT);
  assert.equal(await decide({ ...attempt, nowMs: endMs - 1 }), "bob");
  const expired = await decide({ ...attempt, nowMs: endMs });
  const unknown = await decide({ ...attempt, headers: bearer("unknown") });
  assert.ok(expired instanceof GatewayError);
  assert.ok(unknown instanceof GatewayError);
  assert.equal(expired.message, unknown.message);
});

Deno.test("authenticate() ignores an expired token beside a valid one", async () => {
  const decided = await decide({
    group: "either",
    headers: { ...bearer(BOB_TOKEN), ...apiKey(ALICE_TOKEN) },
    nowMs: Date.parse(EXPIRES_AT),
  });
  assert.equal(decided, "alice");
});

Deno.test("authenticate() requires an anthropic-version on Messages routes only", async () => {
  const headers = bearer(ALICE_TOKEN);
  for (const group of ["bearer", "either"] as const) {
    assert.equal(await decide({ group, headers }), "alice");
  }
  const error = await decide({ group: "messages", headers });
  assert.ok(error instanceof GatewayError);
  assert.equal(error.kind, "invalid_request");
  assert.equal(error.param, "anthropic-version");
  assert.match(error.message, /is missing. Send anthropic-version: 2023-06-01/);
});

Deno.test("authenticate() accepts any calendar date as the anthropic-version", async () => {
  const headers = (version: string) => ({
    ...bearer(ALICE_TOKEN),
    "anthropic-version": version,
  });
  for (const version of ["2023-06-01", "2026-10-21", "2024-02-29"]) {
    const decided = await decide({
      group: "messages",
      headers: headers(version),
    });
    assert.equal(decided, "alice", version);
  }
  for (
    const version of [
      "",
      "latest",
      "2023-6-1",
      "2023-06-01T00:00:00Z",
      "2023-13-01",
      "2023-02-30",
      "2023-02-29",
      "2023-06-01, 2023-06-01",
      "20230601",
    ]
  ) {
    const error = await decide({
      group: "messages",
      headers: headers(version),
    });
    assert.ok(error instanceof GatewayError, version);
    assert.equal(error.kind, "invalid_request");
    assert.match(error.message, /it is not a date/);
  }
});

Deno.test("authenticate() checks the credential before the version", async () => {
  const error = await decide({ group: "messages", headers: bearer("unknown") });
  assert.ok(error instanceof GatewayError);
  assert.equal(error.kind, "unauthenticated");
});

Deno.test("authenticate() names the version header after the configured vendor", async () => {
  const config = await minimalConfig({ messages_vendor: "acme" });
  const decideBy = (headers: HeaderList) =>
    authenticate(new Headers({ ...bearer(ALICE_TOKEN), ...headers }), {
      group: "messages",
      config,
      identity: NO_IDENTITY,
      nowMs: NOW_MS,
    });
  const decided = await decideBy({ "acme-version": "2023-06-01" });
  assert.equal(decided.name, "alice");
  await assert.rejects(decideBy(VERSION), /acme-version/);
});

Deno.test("authenticate() accepts a caller's old and new token, also together in one request", async () => {
  const config = await minimalConfig({
    tokens: [
      tokenFile({
        sha256: [sha256Hex(ALICE_TOKEN), sha256Hex("mg_new")],
        max_concurrent: 4,
      }),
    ],
  });
  for (const one of [config, structuredClone(config)]) {
    const who = (headers: HeaderList) =>
      authenticate(new Headers(headers), {
        group: "either",
        config: one,
        identity: NO_IDENTITY,
        nowMs: NOW_MS,
      });
    const old = await who({ authorization: `Bearer ${ALICE_TOKEN}` });
    const renewed = await who({ authorization: "Bearer mg_new" });
    const both = await who({
      "authorization": "Bearer mg_new",
      "x-api-key": ALICE_TOKEN,
    });
    assert.deepEqual(renewed, old);
    assert.deepEqual(both, old);
  }
});

/** Errors by the caller's name, which is the middle part of each token here. */
const JWT_ERRORS: Readonly<Record<string, GatewayError>> = {
  away: new GatewayError("overloaded", "The keys cannot be had."),
  stranger: new GatewayError("forbidden", "No rule applies."),
  bad: new GatewayError("unauthenticated", "It has expired."),
};

/** Returns the caller's name, or the kind of the error, with an identity provider that knows these tokens. */
async function decideJwt(
  headers: HeaderList,
  group: CredentialGroup = "either",
): Promise<string> {
  const config = await minimalConfig({
    identity: [{
      issuer: "https://login.example.com",
      audience: "a",
      rules: [{ connections: ["*"] }],
    }],
  });
  const [alice] = config.callers.values();
  assert.ok(alice);
  const identity = {
    callerOf(token: string) {
      const [, name = ""] = token.split(".");
      const error = JWT_ERRORS[name];
      return error === undefined
        ? Promise.resolve({ ...alice, name, sha256: sha256Hex(name) })
        : Promise.reject(error);
    },
  };
  try {
    const options = { group, config, identity, nowMs: NOW_MS };
    return (await authenticate(new Headers(headers), options)).name;
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error.kind;
  }
}

Deno.test("authenticate() accepts a JWT wherever it accepts a token", async () => {
  const version = VERSION;
  assert.equal(await decideJwt(bearer("e30.bob.AA"), "bearer"), "bob");
  assert.equal(await decideJwt(bearer("e30.bob.AA")), "bob");
  assert.equal(await decideJwt(apiKey("e30.bob.AA")), "bob");
  assert.equal(
    await decideJwt({ ...apiKey("e30.bob.AA"), ...version }, "messages"),
    "bob",
  );
  assert.equal(
    await decideJwt(apiKey("e30.bob.AA"), "messages"),
    "invalid_request",
  );
  assert.equal(
    await decideJwt(apiKey("e30.bob.AA"), "bearer"),
    "unauthenticated",
  );
});

/** Two credentials, and the caller or the error. */
const TWO: Readonly<Record<string, readonly [HeaderList, string]>> = {
  "the same person twice": [
    { ...bearer("e30.bob.AA"), ...apiKey("e31.bob.AA") },
    "bob",
  ],
  "two persons": [
    { ...bearer("e30.bob.AA"), ...apiKey("e30.carol.AA") },
    "unauthenticated",
  ],
  "a person and a token": [
    { ...bearer("e30.bob.AA"), ...apiKey(ALICE_TOKEN) },
    "unauthenticated",
  ],
  "a token and a rejected JWT": [
    { ...bearer("e30.bad.AA"), ...apiKey(ALICE_TOKEN) },
    "alice",
  ],
  "a token and a JWT without access": [
    { ...bearer(ALICE_TOKEN), ...apiKey("e30.stranger.AA") },
    "alice",
  ],
  "a token and a JWT whose keys cannot be read": [
    { ...bearer("e30.away.AA"), ...apiKey(ALICE_TOKEN) },
    "alice",
  ],
  "an unknown token and a JWT": [
    { ...bearer("unknown"), ...apiKey("e30.bob.AA") },
    "bob",
  ],
  "an unknown token and a JWT whose keys cannot be read": [
    { ...bearer("unknown"), ...apiKey("e30.away.AA") },
    "overloaded",
  ],
  "a bad JWT and one whose keys cannot be read": [
    { ...bearer("e30.bad.AA"), ...apiKey("e30.away.AA") },
    "overloaded",
  ],
  "a bad JWT and one without access": [
    { ...bearer("e30.bad.AA"), ...apiKey("e30.stranger.AA") },
    "forbidden",
  ],
};

Deno.test("authenticate() treats a JWT beside another credential like two tokens", (t) =>
  steps(t, Object.entries(TWO), async ([, [headers, decision]]) => {
    assert.equal(await decideJwt(headers), decision);
  }));

Deno.test("authenticate() checks no JWT if the credential is a token or no identity provider is configured", async () => {
  const jwt = "e30.bob.AA";
  const config = await minimalConfig({
    tokens: [tokenFile({ sha256: sha256Hex(jwt) })],
    identity: [{
      issuer: "https://login.example.com",
      audience: "a",
      rules: [{ connections: ["*"] }],
    }],
  });
  const options = {
    group: "bearer",
    identity: NO_IDENTITY,
    nowMs: NOW_MS,
  } as const;
  const headers = new Headers(bearer(jwt));
  const known = await authenticate(headers, { ...options, config });
  assert.equal(known.name, "alice");
  const without = await minimalConfig();
  await assert.rejects(
    authenticate(headers, { ...options, config: without }),
    { kind: "unauthenticated" },
  );
});
