import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { createSignIn } from "../../../src/gateway/http/sign_in.ts";
import { createFetchClient } from "../../../src/gateway/upstream/fetch_client.ts";
import {
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
} from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import {
  createSigner,
  GOOD_CLAIMS,
  identityFile,
  ISSUER,
  KEYS_URL,
  NOW_SECONDS,
} from "../../support/gateway/identity_scene.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { NOW_MS } from "../../support/gateway/config.ts";
import { steps } from "../../support/steps.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };

const SIGN_IN = { sign_in: { client: "people" } };

/** Opens a gateway whose issuer serves its metadata and these paths. */
async function open(
  answers: Readonly<Record<string, (form: URLSearchParams) => Response>>,
  identity: readonly unknown[] = [identityFile(SIGN_IN)],
) {
  const asked: string[] = [];
  const gateway = await startGateway(minimalFile({ identity }), {
    clock: createFakeClock(NOW_MS),
    async fetch(url, init) {
      const request = new Request(url, init);
      const path = url.slice(ISSUER.length);
      asked.push(path);
      assert.equal(request.redirect, "manual");
      if (path === "/.well-known/openid-configuration") {
        return Response.json({
          issuer: ISSUER,
          jwks_uri: KEYS_URL,
          token_endpoint: `${ISSUER}/token`,
          device_authorization_endpoint: `${ISSUER}/device`,
        });
      }
      const form = new URLSearchParams(await request.text());
      return answers[path]?.(form) ?? assert.fail(path);
    },
  });
  const post = (path: string, fields: Record<string, string> = {}) =>
    gateway.call(path, {
      method: "POST",
      headers: FORM,
      body: new URLSearchParams(fields),
    });
  return {
    ...{ gateway, asked, post },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

const DEVICE = {
  device_code: "device-code",
  user_code: "WDJB-MJHT",
  verification_uri: `${ISSUER}/enter`,
  verification_uri_complete: `${ISSUER}/enter?user_code=WDJB-MJHT`,
  expires_in: 600,
  interval: 5,
};

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

Deno.test("Claude Code signs in at the issuer through the gateway, and the issuer's token identifies its caller", async () => {
  const signer = await createSigner();
  const access = await signer.sign({ ...GOOD_CLAIMS, exp: NOW_SECONDS + 900 });
  const tokens: Record<string, unknown> = {
    access_token: access,
    token_type: "Bearer",
    expires_in: 900,
    refresh_token: "refresh-1",
  };
  await using scene = await open({
    "/keys": () => Response.json({ keys: [signer.jwk] }),
    "/device"(form) {
      assert.deepEqual(Object.fromEntries(form), {
        client_id: "people",
        scope: "openid offline_access",
      });
      return Response.json(DEVICE);
    },
    "/token"(form) {
      const { grant_type, ...rest } = Object.fromEntries(form);
      if (grant_type === DEVICE_GRANT) {
        assert.deepEqual(rest, {
          client_id: "people",
          device_code: "device-code",
        });
      } else {
        assert.deepEqual(rest, {
          client_id: "people",
          scope: "openid offline_access",
          refresh_token: "refresh-1",
        });
      }
      return Response.json(tokens);
    },
  });
  const { gateway, post } = scene;
  const metadata = await gateway.call(
    "/.well-known/oauth-authorization-server",
  );
  const found = await metadata.json();
  // The client accepts only addresses of the gateway's own origin.
  assert.equal(
    found.device_authorization_endpoint,
    `${gateway.url}/oauth/device_authorization`,
  );
  assert.equal(found.token_endpoint, `${gateway.url}/oauth/token`);
  const device = await post("/oauth/device_authorization");
  assert.equal(device.status, 200);
  assert.equal(device.headers.get("cache-control"), "no-store");
  assert.deepEqual(await device.json(), DEVICE);
  const login = await post("/oauth/token", {
    grant_type: DEVICE_GRANT,
    device_code: "device-code",
    client_id: "other",
  });
  assert.deepEqual([login.status, await login.json()], [200, tokens]);
  const renewed = await post("/oauth/token", {
    grant_type: "refresh_token",
    refresh_token: "refresh-1",
  });
  assert.deepEqual(await renewed.json(), tokens);
  const models = await gateway.call("/v1/models", {
    headers: { authorization: `Bearer ${access}` },
  });
  assert.equal(models.status, 200, await models.clone().text());
  await models.body?.cancel();
  const settings = await gateway.call("/managed/settings", {
    headers: { authorization: `Bearer ${access}` },
  });
  assert.equal(settings.status, 200, "the models of the token's caller");
  const { settings: { availableModels } } = await settings.json();
  assert.ok(availableModels.length > 0);
  const logged = gateway.lines.text();
  assert.ok(!logged.includes(access) && !logged.includes("refresh-1"), logged);
});

Deno.test("the issuer's addresses are read once an hour, and again after a failure", async () => {
  const clock = createFakeClock(NOW_MS);
  let metadata = () => new Response(null, { status: 500 });
  let reads = 0;
  const context = {
    config: await minimalConfig({ identity: [identityFile(SIGN_IN)] }),
    deadlines: createDeadlines(createFakeTimers()),
    client: createFetchClient((url) => {
      const isMetadata = url.endsWith("/openid-configuration");
      if (isMetadata) reads++;
      return Promise.resolve(
        isMetadata ? metadata() : Response.json({ access_token: "a" }),
      );
    }),
  };
  const signIn = createSignIn(clock);
  const poll = async () => {
    const response = await signIn.respond(
      "/oauth/token",
      new Request("https://gateway.example/oauth/token", {
        ...{ method: "POST", headers: FORM, body: new URLSearchParams(POLL) },
      }),
      context,
    );
    return response?.status;
  };
  assert.deepEqual([await poll(), await poll(), reads], [503, 503, 2]);
  metadata = () =>
    Response.json({
      ...{ issuer: ISSUER, jwks_uri: KEYS_URL },
      token_endpoint: `${ISSUER}/token`,
    });
  const statuses = await Promise.all([poll(), poll(), poll()]);
  assert.deepEqual([...statuses, reads], [200, 200, 200, 3]);
  clock.advance(3_599_999);
  assert.deepEqual([await poll(), reads], [200, 3]);
  clock.advance(1);
  assert.deepEqual([await poll(), reads], [200, 4]);
});

type Case = readonly [
  answer: Response,
  fields: Record<string, string>,
  status: number,
  error: string,
];

const POLL = { grant_type: DEVICE_GRANT, device_code: "device-code" };
const REFRESH = { grant_type: "refresh_token", refresh_token: "refresh-1" };

const REFUSALS: Readonly<Record<string, () => Case>> = {
  "a code without approval yet": () => [
    Response.json({ error: "authorization_pending" }, { status: 400 }),
    POLL,
    400,
    "authorization_pending",
  ],
  "polls that are too fast": () => [
    Response.json({ error: "slow_down" }, { status: 429 }),
    POLL,
    400,
    "slow_down",
  ],
  "a login that has ended": () => [
    Response.json({ error: "invalid_grant" }, { status: 400 }),
    REFRESH,
    401,
    "invalid_grant",
  ],
  "a failing issuer": () => [
    new Response("<html>", { status: 502 }),
    REFRESH,
    503,
    "temporarily_unavailable",
  ],
  "another grant, without a request to the issuer": () => [
    Response.json({ access_token: "a" }),
    { grant_type: "client_credentials", client_secret: "s" },
    400,
    "unsupported_grant_type",
  ],
  "a grant without its code": () => [
    Response.json({ access_token: "a" }),
    { grant_type: "refresh_token" },
    400,
    "unsupported_grant_type",
  ],
};

Deno.test("each refusal of a sign-in has its documented status", (t) =>
  steps(t, Object.entries(REFUSALS), async ([, create]) => {
    const [given, fields, status, error] = create();
    await using scene = await open({ "/token": () => given });
    const response = await scene.post("/oauth/token", fields);
    const body = await response.json();
    assert.deepEqual([response.status, body.error], [status, error]);
    if (error === "unsupported_grant_type") assert.deepEqual(scene.asked, []);
  }));

Deno.test("callers whose form bodies never arrive are refused, and do not prevent other sign-ins", async () => {
  const timers = createFakeTimers();
  const answers = [
    { issuer: ISSUER, jwks_uri: KEYS_URL, token_endpoint: `${ISSUER}/token` },
    { access_token: "a" },
  ];
  const context = {
    config: await minimalConfig({ identity: [identityFile(SIGN_IN)] }),
    deadlines: createDeadlines(timers),
    client: createFetchClient(() =>
      Promise.resolve(Response.json(answers.shift()))
    ),
  };
  const signIn = createSignIn(createFakeClock(NOW_MS));
  const send = (body: BodyInit) => {
    const url = "https://gateway.example/oauth/token";
    const request = new Request(url, { method: "POST", body, headers: FORM });
    return signIn.respond("/oauth/token", request, context);
  };
  const silent = Array.from(
    { length: 40 },
    () => send(new ReadableStream({ start() {} })),
  );
  const served = await send(new URLSearchParams(POLL));
  assert.equal(served?.status, 200);
  timers.advance(10_000);
  for (const response of await Promise.all(silent)) {
    assert.equal(response?.status, 400);
    assert.equal(response.headers.get("connection"), "close");
  }
  for (
    const body of [
      "x".repeat(33 * 1024),
      new ReadableStream({ start: (it) => it.error(new Error("reset")) }),
    ]
  ) {
    const response = await send(body);
    assert.equal(response?.status, 400);
    assert.equal((await response.json()).error, "invalid_request");
  }
  assert.equal(timers.running, 0);
});

Deno.test("the paths of sign-in are unknown without sign_in, and no request is sent", async () => {
  await using scene = await open({}, [identityFile()]);
  const { gateway, post, asked } = scene;
  const responses = [
    await gateway.call("/.well-known/oauth-authorization-server"),
    await post("/oauth/device_authorization"),
    await post("/oauth/token", REFRESH),
  ];
  for (const response of responses) {
    assert.equal(response.status, 404);
    await response.body?.cancel();
  }
  assert.deepEqual(asked, []);
});

Deno.test("only one issuer may have sign_in, and its name must be a URL", async () => {
  const problems = async (identity: readonly unknown[]) =>
    problemsOf(await loadFile(minimalFile({ identity })));
  const other = identityFile({ ...SIGN_IN, issuer: "https://b.example" });
  assert.deepEqual(await problems([identityFile(SIGN_IN), other]), [
    "identity[1].sign_in: is set twice. People sign in at one issuer.",
  ]);
  assert.deepEqual(
    await problems([identityFile({ ...SIGN_IN, issuer: "a-name" })]),
    ["identity[0].sign_in: needs an issuer that is a URL."],
  );
});

Deno.test("a caller with an invalid host header gets an error instead of addresses", async () => {
  const signIn = createSignIn(createFakeClock(NOW_MS));
  const path = "/.well-known/oauth-authorization-server";
  const host = "service.1:80";
  const request = {
    ...{ method: "GET", url: `http://${host}${path}`, body: null },
    headers: new Headers({ host }),
    bytes: () => Promise.resolve(new Uint8Array()),
    signal: new AbortController().signal,
  };
  const response = await signIn.respond(path, request, {
    config: await minimalConfig({ identity: [identityFile(SIGN_IN)] }),
    deadlines: createDeadlines(createFakeTimers()),
    client: createFetchClient(() => assert.fail("asked")),
  });
  assert.equal(response?.status, 400);
  const { error_description } = await response.json();
  assert.match(error_description, /host header/);
});
