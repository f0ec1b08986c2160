import assert from "node:assert/strict";
import {
  responseHeaders,
  translatedHeaders,
  upstreamHeaders,
} from "../../../src/gateway/upstream/headers.ts";
import {
  nameMatcher,
  WITHHELD_FROM_CALLER,
  WITHHELD_FROM_UPSTREAM,
} from "../../../src/gateway/upstream/header_names.ts";
import type {
  Connection,
  UpstreamAuth,
} from "../../../src/gateway/config/config.ts";
import { minimalConfig } from "../../support/gateway/config.ts";
import { secretsOf } from "../../../src/gateway/upstream/secrets.ts";
import { steps } from "../../support/steps.ts";

const KEY = "upstream-key-0123456789";

function shownOf(headers: Headers, isRenamed = false): [string, string][] {
  const secrets = { areIn: (text: string) => text.includes(KEY) };
  const clock = { now: () => Date.UTC(2026, 0, 1) };
  return responseHeaders(headers, { isRenamed, secrets, clock });
}

function shown(
  headers: Readonly<Record<string, string>>,
  isRenamed = false,
): Record<string, string> {
  return Object.fromEntries(shownOf(new Headers(headers), isRenamed));
}

Deno.test("answerHeaders() withholds headers of the upstream's connection", () => {
  const withheld = {
    "alt-svc": 'h3=":443"',
    "connection": "keep-alive",
    "content-encoding": "gzip",
    "content-length": "10",
    "keep-alive": "timeout=5",
    "proxy-authenticate": "Basic",
    "proxy-connection": "keep-alive",
    "set-cookie": "session=1",
    "strict-transport-security": "max-age=1",
    "te": "trailers",
    "trailer": "x",
    "transfer-encoding": "chunked",
    "upgrade": "h2c",
    "www-authenticate": "Bearer",
  };
  assert.deepEqual(shown(withheld), {});
});

Deno.test("answerHeaders() withholds every set-cookie header", () => {
  const headers = new Headers([["set-cookie", "a=1"], ["set-cookie", "b=2"]]);
  assert.deepEqual(shownOf(headers), []);
});

Deno.test("answerHeaders() withholds every header whose value has a secret", () => {
  const headers = { "x-debug": `key=${KEY}`, "x-kept": "1" };
  assert.deepEqual(shown(headers), { "x-kept": "1" });
});

const TABLES = { WITHHELD_FROM_UPSTREAM, WITHHELD_FROM_CALLER };

for (const [name, groups] of Object.entries(TABLES)) {
  Deno.test(`${name} has each name once, in lower case`, () => {
    const all = groups.flatMap((
      { names, prefixes },
    ) => [...names, ...prefixes]);
    assert.equal(new Set(all).size, all.length);
    for (const one of all) assert.match(one, /^[a-z0-9-]+$/);
  });

  Deno.test(`${name} has no name that one of its prefixes includes`, () => {
    const isPrefixed = nameMatcher(
      groups.map(({ reason, prefixes }) => ({ reason, names: [], prefixes })),
    );
    const names = groups.flatMap((group) => group.names);
    assert.deepEqual(names.filter(isPrefixed), []);
  });
}

Deno.test("nameMatcher() matches whole names and prefixes, not parts of names", () => {
  const isKnown = nameMatcher([
    { reason: "a", names: ["one"], prefixes: ["two-", "three"] },
    { reason: "b", names: ["four"], prefixes: [] },
  ]);
  for (const name of ["one", "four", "two-", "two-x", "three", "threefold"]) {
    assert.ok(isKnown(name), name);
  }
  const knowsOne = nameMatcher([{ reason: "", names: ["one"], prefixes: [] }]);
  assert.ok(knowsOne("one") && !knowsOne("two"));
  for (const name of ["ones", "x-one", "two", "x-two-x", "fourth", ""]) {
    assert.ok(!isKnown(name), name);
  }
});

Deno.test("nameMatcher() returns the same result for a name after any number of other names", () => {
  const isKnown = nameMatcher([{
    reason: "",
    names: ["one"],
    prefixes: ["p-"],
  }]);
  for (let round = 0; round < 2; round++) {
    for (let count = 0; count < 3000; count++) {
      const name = `${count}${"x".repeat(count % 100)}`;
      assert.ok(isKnown(`p-${name}`) && !isKnown(`q-${name}`), name);
    }
    assert.ok(isKnown("one") && !isKnown("two"));
  }
});

const isWithheldFromUpstream = nameMatcher(WITHHELD_FROM_UPSTREAM);

Deno.test("a header with a person or credential of a sign-on proxy is withheld, by words in the header's name", async (t) => {
  const names: Readonly<Record<string, readonly string[]>> = {
    "API gateways": [
      ...["x-consumer-id", "x-consumer-custom-id", "x-anonymous-consumer"],
      ...["x-consumer-username", "x-credential-identifier", "x-userinfo"],
      ...["x-credential-username", "x-authenticated-userid", "x-jwt-assertion"],
      ...["x-authenticated-scope", "x-endpoint-api-userinfo", "x-jwt-payload"],
      ...["x-apigateway-api-userinfo", "x-mgw-key-name-jwt", "x-claim-sub"],
      ...["x-wso2-jwt-assertion", "x-tyk-authorization", "x-krakend-user"],
    ],
    "sign-on proxies": [
      ...["x-id-token", "x-raw-id-token", "x-access-token", "x-vouch-user"],
      ...["x-vouch-idp-claims-email", "x-vouch-idp-accesstoken", "x-idtoken"],
      ...["x-teleport-jwt", "teleport-jwt-assertion", "x-remote-user"],
      ...["x-remote-groups", "remote-user", "remote_user", "x-webauth-user"],
      ...["x-webauth-email", "x-auth-username", "x-auth-email", "x-user-id"],
      ...["x-auth-groups", "x-user-email", "x-email", "x-username", "x-upn"],
      ...["x-oidc-sub", "x-saml-nameid", "sm_user", "sm-userdn", "iv-user"],
      ...["iv-creds", "http_sm_universalid", "x-employee-number", "x-roles"],
      ...["x-sso-user", "x-ldap-uid", "x-kerberos-principal", "ssl.client.dn"],
      ...["oidc_claim_email", "oidc-access-token", "x-goog-iap-jwt-assertion"],
      ...["x-goog-authenticated-user-email", "x-ms-client-principal-name"],
      ...["x-ms-token-aad-access-token", "x-identity-id", "x-subject"],
    ],
    "credentials of other services": [
      ...["x-gitlab-token", "job-token", "deploy-token", "x-session-token"],
      ...["x-github-token", "x-hub-secret", "x-service-key", "x-user-key"],
      ...["x-client-secret", "x-amz-security-token", "x-password"],
      ...["x-original-authorization", "x-forwarded-access-token"],
      ...["x-oauth-token", "x-private-key", "x-encoded-cookie"],
    ],
  };
  await steps(t, Object.entries(names), ([, withheld]) => {
    const sent = withheld.filter((name) => !isWithheldFromUpstream(name));
    assert.deepEqual(sent, []);
  });
});

Deno.test("every header of providers' SDKs and agents reaches the provider", () => {
  const sent = [
    ...["accept", "accept-language", "content-type", "user-agent"],
    ...["anthropic-beta", "anthropic-dangerous-direct-browser-access"],
    ...["anthropic-version", "anthropic-worker-id", "openai-beta"],
    ...["openai-intent", "openai-poll-after-ms", "oai-product-sku"],
    ...["idempotency-key", "x-request-id", "x-client-request-id", "version"],
    ...["x-correlation-id", "x-trace-id", "traceparent", "tracestate"],
    ...["x-stainless-arch", "x-stainless-helper", "x-stainless-helper-method"],
    ...["x-stainless-lang", "x-stainless-os", "x-stainless-package-version"],
    ...["x-stainless-retry-count", "x-stainless-runtime", "x-token-budget"],
    ...["x-stainless-runtime-version", "x-stainless-timeout", "x-app"],
    ...["x-stainless-poll-helper", "x-stainless-custom-poll-interval"],
    ...["originator", "session-id", "session_id", "thread-id", "x-session-id"],
    ...["conversation_id", "x-codex-beta-features", "x-codex-routing-hint"],
    ...["x-codex-turn-metadata", "x-codex-turn-state", "x-codex-window-id"],
    ...["x-openai-internal-codex-responses-lite", "x-openai-product-sku"],
    ...["x-openai-subagent", "x-claude-code-session-id", "x-session-affinity"],
    ...["x-claude-code-agent-id", "x-opencode-session", "x-opencode-client"],
    ...["x-opencode-request", "x-dashscope-useragent", "x-dashscope-authtype"],
    ...["x-dashscope-cachecontrol", "http-referer", "referer", "x-title"],
    ...["x-initiator", "x-interaction-type", "copilot-integration-id"],
    ...["copilot-vision-request", "editor-version", "editor-plugin-version"],
    ...["x-vscode-user-agent-library-version", "x-github-api-version"],
    ...["x-msh-platform", "x-msh-version", "x-msh-device-id", "x-affinity"],
    ...["x-kilocode-taskid", "x-kilocode-version", "x-kilocode-mode"],
    ...["x-task-id", "x-goog-api-client", "x-goog-request-params"],
    ...["x-user-agent", "x-grok-conv-id", "x-grok-req-id", "mcp-session-id"],
    ...["x-ms-useragent", "x-ms-client-request-id", "sentry-trace", "baggage"],
  ];
  assert.deepEqual(sent.filter(isWithheldFromUpstream), []);
});

Deno.test("isWithheldFromUpstream() takes linear time", () => {
  // In quadratic time, these names would take minutes.
  for (const part of ["a", "user", "user-", "token-", "-", "client-key"]) {
    const name = part.repeat(2 ** 20);
    assert.equal(typeof isWithheldFromUpstream(`${name}.x`), "boolean");
  }
});

const AUTH: UpstreamAuth = { scheme: "bearer", key: "upstream-key" };

async function headersFor(
  caller: Readonly<Record<string, string>>,
  overrides: Partial<Connection> = {},
): Promise<Record<string, string>> {
  const { connections: [first] } = await minimalConfig();
  assert.ok(first);
  const connection = { ...first, auth: AUTH, headers: {}, ...overrides };
  const pairs = upstreamHeaders(new Headers(caller), connection);
  const names = pairs.map(([name]) => name);
  assert.equal(new Set(names).size, names.length, "a name stands twice");
  return Object.fromEntries(pairs);
}

const OWN = {
  "accept-encoding": "identity",
  "authorization": "Bearer upstream-key",
};

Deno.test("upstreamHeaders() withholds the caller's own headers", async () => {
  const withheld = {
    "accept-encoding": "gzip, br",
    "api-key": "secret",
    "authorization": "Bearer secret",
    "connection": "keep-alive",
    "content-encoding": "gzip",
    "content-length": "10",
    "cookie": "secret=1",
    "expect": "100-continue",
    "forwarded": "for=10.0.0.1",
    "host": "gateway",
    "keep-alive": "timeout=5",
    "openai-organization": "org",
    "openai-project": "proj",
    "proxy-authorization": "Basic secret",
    "proxy-connection": "keep-alive",
    "te": "trailers",
    "trailer": "x",
    "transfer-encoding": "chunked",
    "upgrade": "h2c",
    "x-api-key": "secret",
    "x-forwarded-for": "10.0.0.1",
    "x-forwarded-anything": "1",
    "x-goog-api-key": "secret",
    "x-real-ip": "10.0.0.1",
  };
  const headers = await headersFor(withheld);
  assert.deepEqual(headers, OWN);
  assert.ok(!JSON.stringify(headers).includes("secret"));
});

Deno.test("upstreamHeaders() keeps its own headers, whatever the caller's connection header names", async () => {
  const headers = await headersFor({
    "connection": "authorization, accept-encoding, x-team",
  }, { headers: { "x-team": "platform" } });
  assert.deepEqual(headers, { ...OWN, "x-team": "platform" });
});

Deno.test("upstreamHeaders() prefers the connection's fixed headers", async () => {
  const headers = await headersFor(
    { "user-agent": "agent/1", "x-team": "mine" },
    {
      headers: {
        "User-Agent": "gateway",
        "x-team": "platform",
        "authorization": "Custom key",
        "accept-encoding": "gzip",
      },
    },
  );
  assert.deepEqual(headers, {
    "accept-encoding": "gzip",
    "authorization": "Custom key",
    "user-agent": "gateway",
    "x-team": "platform",
  });
});

Deno.test("upstreamHeaders() changes a list in a header only if the list has a value of headers_drop", async () => {
  const headersDrop = { "anthropic-beta": ["b", "d"] };
  const listAfter = async (value: string) =>
    (await headersFor({ "anthropic-beta": value }, { headersDrop }))[
      "anthropic-beta"
    ];
  assert.equal(await listAfter("a,  c ,bb"), "a,  c ,bb");
  assert.equal(await listAfter("a, b ,c,d"), "a,c");
  assert.equal(await listAfter("b,d"), undefined);
  const other = { "openai-beta": "b" };
  assert.deepEqual(await headersFor(other, { headersDrop }), {
    ...other,
    ...OWN,
  });
});

Deno.test("translatedHeaders() removes the gateway's own beta if headers_drop has it", async () => {
  const { connections: [first] } = await minimalConfig();
  assert.ok(first);
  const pairs = translatedHeaders(
    new Headers(),
    { ...first, headersDrop: { "anthropic-beta": ["binding"] } },
    {
      ownHeaders: [["anthropic-beta", "binding"], ["anthropic-version", "1"]],
      protocolPrefixes: ["anthropic-"],
      stream: false,
    },
  );
  const names = pairs.map(([name]) => name);
  assert.ok(names.includes("anthropic-version"));
  assert.ok(!names.includes("anthropic-beta"));
});

const SECRETS_KEY = "sk-upstream/0123456789-abcdef";

const escaped = [...SECRETS_KEY].map((one) =>
  `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`
).join("");

/** The ways in which an upstream may repeat a key. */
const REPEATED: Readonly<Record<string, string>> = {
  plain: `the key ${SECRETS_KEY} is wrong`,
  "with only its beginning": `the key ${SECRETS_KEY.slice(0, 16)}... is wrong`,
  "escaped for JSON": `"${escaped}"`,
  "with escaped slashes": `"${SECRETS_KEY.replace("/", "\\/")}"`,
  "escaped for an address": `?key=${encodeURIComponent(SECRETS_KEY)}`,
  "in base64": btoa(SECRETS_KEY),
  "in base64 after one byte": btoa(`:${SECRETS_KEY}`),
  "in base64 after two bytes": btoa(`u:${SECRETS_KEY}`),
  "in base64 among others": btoa(`user:${SECRETS_KEY}@host`),
};

async function connectionWith(
  overrides: Partial<Connection>,
): Promise<Connection> {
  const { connections: [first] } = await minimalConfig();
  assert.ok(first);
  return { ...first, ...overrides };
}

const secrets = secretsOf(
  await connectionWith({
    auth: { scheme: "bearer", key: SECRETS_KEY },
    headers: {},
  }),
);

for (const [how, text] of Object.entries(REPEATED)) {
  Deno.test(`areIn() finds a key in a text: ${how}`, () => {
    assert.ok(secrets.areIn(text));
    const failure = secrets.leaveOut({
      kind: "invalid_request",
      status: 400,
      message: text,
      code: text,
      param: text,
      type: { protocol: "chat", value: text },
    });
    assert.deepEqual(failure, {
      kind: "invalid_request",
      status: 400,
      message: "The provider answered with status 400",
      code: undefined,
      param: undefined,
      type: undefined,
    });
  });
}

Deno.test("leaveOut() does not change a failure without a key", () => {
  const texts = [
    "",
    "sk-",
    "sk-upstream",
    "the model is overloaded, % \\u00 \\",
  ];
  for (const message of texts) {
    assert.ok(!secrets.areIn(message), message);
    const failure = { kind: "server", message, code: "x", param: "y" } as const;
    assert.deepEqual(secrets.leaveOut(failure), {
      ...failure,
      type: undefined,
    });
  }
});

Deno.test("secretsOf() returns the key of a connection and the credentials in its headers", async () => {
  const found = secretsOf(
    await connectionWith({
      auth: { scheme: "bearer", key: "the-bearer-key" },
      headers: {
        "authorization": "Basic the-basic-key",
        "x-secret": "the-secret-header",
        "x-team": "the-platform-team",
      },
    }),
  );
  assert.ok(found.areIn("a the-bearer-key b"));
  assert.ok(found.areIn("a the-basic-key b"));
  assert.ok(found.areIn("a the-secret-header b"));
  assert.ok(!found.areIn("a the-platform-team b"));
});

Deno.test("secretsOf() ignores a key of a few characters", async () => {
  const auth = { scheme: "bearer", key: "test" } as const;
  const found = secretsOf(await connectionWith({ auth }));
  assert.ok(!found.areIn("this is a test"));
  const none = secretsOf(await connectionWith({ auth: { scheme: "none" } }));
  assert.ok(!none.areIn("anything at all"));
});
