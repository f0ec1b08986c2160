import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { createSignIn } from "../../../src/gateway/http/sign_in.ts";
import { createFetchClient } from "../../../src/gateway/upstream/fetch_client.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { minimalConfig, NOW_MS } from "../../support/gateway/config.ts";
import {
  identityFile,
  ISSUER,
  KEYS_URL,
} from "../../support/gateway/identity_scene.ts";
import { steps } from "../../support/steps.ts";

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

const START = {};
const POLL = { grant_type: DEVICE_GRANT, device_code: "device-code" };

function renewal(token: string) {
  return { grant_type: "refresh_token", refresh_token: token };
}

interface Sender {
  readonly peer?: string;
  readonly forwarded?: string;
}

/** Opens a sign-in with an issuer that renews only tokens that begin with `good`, and counts its requests. */
async function open(trusted_proxies: readonly string[] = []) {
  const clock = createFakeClock(NOW_MS);
  const asked = { start: 0, poll: 0, renewal: 0 };
  let gate = Promise.resolve();
  const config = await minimalConfig({
    identity: [identityFile({ sign_in: { client: "people" } })],
    server: { trusted_proxies },
  });
  const client = createFetchClient(async (url, init) => {
    if (url.endsWith("/openid-configuration")) {
      return Response.json({
        ...{ issuer: ISSUER, jwks_uri: KEYS_URL },
        token_endpoint: `${ISSUER}/token`,
        device_authorization_endpoint: `${ISSUER}/device`,
      });
    }
    const form = new URLSearchParams(
      await new Request(url, init).text(),
    );
    const token = form.get("refresh_token");
    const isPoll = form.has("device_code");
    asked[token ? "renewal" : isPoll ? "poll" : "start"] += 1;
    await gate;
    if (isPoll) {
      return Response.json({
        access_token: "a",
        refresh_token: "good of poll",
      });
    }
    if (token === null) return Response.json({ device_code: "device-code" });
    return token.startsWith("good")
      ? Response.json({ access_token: "a", refresh_token: `${token}+` })
      : Response.json({ error: "invalid_grant" }, { status: 400 });
  });
  const signIn = createSignIn(clock);
  const deadlines = createDeadlines(createFakeTimers());

  async function send(
    fields: Readonly<Record<string, string>>,
    { peer = "192.0.2.1", forwarded }: Sender = {},
  ): Promise<Response> {
    const path = fields === START
      ? "/oauth/device_authorization"
      : "/oauth/token";
    const request = new Request(`https://gateway.example${path}`, {
      method: "POST",
      headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
      body: new URLSearchParams(fields),
    });
    Object.defineProperty(request, "peer", { value: peer });
    const response = await signIn.respond(path, request, {
      ...{ config, client, deadlines },
    });
    return response ?? assert.fail("no sign-in");
  }

  async function crowd(
    count: number,
    fieldsOf: (index: number) => Readonly<Record<string, string>>,
    from?: Sender,
  ): Promise<Readonly<Record<number, number>>> {
    const responses = await Promise.all(
      Array.from({ length: count }, (_, index) => send(fieldsOf(index), from)),
    );
    const statuses: Record<number, number> = {};
    for (const { status } of responses) {
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    return statuses;
  }

  return {
    ...{ clock, asked, send, crowd },
    /** Keeps the issuer from answering until the returned function is called. */
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

const LOOPS = {
  "that start logins": () => START,
  "that poll": () => POLL,
  "with invented tokens": (index: number) => renewal(`bad-${index}`),
  "with one refused token": () => renewal("bad"),
};

Deno.test("anonymous requests in a loop do not prevent a login's renewal, and few of the requests reach the issuer", (t) =>
  steps(t, Object.entries(LOOPS), async ([, fieldsOf]) => {
    const { clock, asked, crowd } = await open();
    for (let second = 0; second < 30; second++) {
      await crowd(64, fieldsOf, { peer: "192.0.2.66" });
      clock.advance(1000);
    }
    const { start, poll, renewal: renewals } = asked;
    assert.ok(start <= 60, `${start} starts in 30 s`);
    assert.ok(poll <= 240, `${poll} polls in 30 s`);
    assert.ok(renewals <= 90, `${renewals} renewals in 30 s`);
    const good = await crowd(20, (index) => renewal(`good-${index}`));
    assert.deepEqual(good, { 200: 20 });
  }));

Deno.test("requests in a loop from a caller's address do not prevent renewals of a login that this gateway knows", async () => {
  const { clock, send, crowd } = await open();
  assert.equal((await send(POLL)).status, 200);
  assert.deepEqual(
    await crowd(20, (index) => renewal(`good-${index}`)),
    { 200: 20 },
  );
  for (let round = 0; round < 3; round++) {
    await crowd(100, (index) => renewal(`bad-${round}-${index}`));
    await crowd(100, () => START);
  }
  assert.equal((await send(renewal("good stranger"))).status, 429);
  assert.equal((await send(renewal("good of poll"))).status, 200);
  for (const plus of ["+", "++", "+++"]) {
    clock.advance(300_000);
    await crowd(100, (index) => renewal(`bad${plus}${index}`));
    const known = await crowd(20, (index) => renewal(`good-${index}${plus}`));
    assert.deepEqual(known, { 200: 20 });
  }
});

Deno.test("hundreds of people at one address renew their logins one after another", async () => {
  const { clock, crowd } = await open();
  for (let minute = 0; minute < 20; minute++) {
    const good = await crowd(30, (index) => renewal(`good-${minute}-${index}`));
    assert.deepEqual(good, { 200: 30 });
    clock.advance(1000);
  }
});

Deno.test("one network takes at most half of the free request slots while the issuer is slow", async () => {
  const { hold, crowd, asked } = await open();
  await crowd(1, () => START);
  const release = hold();
  const loop = crowd(60, (index) => renewal(`good-${index}`));
  const other = crowd(16, (index) => renewal(`good other-${index}`), {
    peer: "192.0.2.2",
  });
  const starts = crowd(20, () => START);
  release();
  assert.deepEqual(await loop, { 200: 32, 429: 28 });
  assert.deepEqual(await other, { 200: 16 });
  assert.deepEqual(await starts, { 200: 20 });
  assert.equal(asked.renewal, 48);
});

Deno.test("a refused refresh token is refused again for five minutes without the issuer, with the same status", async () => {
  const { clock, asked, send } = await open();
  for (let count = 0; count < 200; count++) {
    const response = await send(renewal("bad"));
    assert.equal(response.status, 401);
    assert.equal((await response.json()).error, "invalid_grant");
  }
  assert.equal(asked.renewal, 1);
  clock.advance(5 * 60_000);
  await send(renewal("bad"));
  assert.equal(asked.renewal, 2);
});

Deno.test("too many requests get a 429 in OAuth's form, with the time until the next request is accepted", async () => {
  const { clock, send, crowd } = await open();
  const cases = [
    [START, 30, "temporarily_unavailable", "1"],
    [POLL, 60, "slow_down", "1"],
    [renewal("good of poll"), 10, "temporarily_unavailable", "10"],
  ] as const;
  for (const [fields, burst, error, seconds] of cases) {
    for (let sent = 0; sent < burst; sent += 10) {
      assert.deepEqual(await crowd(10, () => fields), { 200: 10 });
    }
    const response = await send(fields);
    assert.equal(response.status, 429);
    assert.equal(response.headers.get("retry-after"), seconds);
    assert.equal((await response.json()).error, error);
    clock.advance(1000 * Number(seconds));
    assert.equal((await send(fields)).status, 200);
  }
});

/** Two senders, and true if they count as one network. */
const NETWORKS: Readonly<Record<string, readonly [Sender, Sender, boolean]>> = {
  "two IPv4 addresses": [{ peer: "192.0.2.1" }, { peer: "192.0.2.2" }, false],
  "one IPv6 network": [
    { peer: "2001:db8:1:2::1" },
    { peer: "2001:db8:1:2:ffff:1:2:3" },
    true,
  ],
  "two IPv6 networks": [
    { peer: "2001:db8:1:2::1" },
    { peer: "2001:db8:1:3::1" },
    false,
  ],
  "two IPv4 addresses on an IPv6 socket": [
    { peer: "::ffff:192.0.2.1" },
    { peer: "::ffff:192.0.2.2" },
    false,
  ],
  "an untrusted caller with forwarded addresses": [
    { peer: "192.0.2.1", forwarded: "198.51.100.1" },
    { peer: "192.0.2.1", forwarded: "198.51.100.2" },
    true,
  ],
  "two callers at a trusted proxy": [
    { peer: "10.1.2.3", forwarded: "198.51.100.1" },
    { peer: "10.1.2.3", forwarded: "198.51.100.2" },
    false,
  ],
  "two callers at two trusted proxies": [
    { peer: "10.1.2.3", forwarded: "198.51.100.1, fd00::7" },
    { peer: "10.1.2.3", forwarded: "198.51.100.2, 10.9.9.9" },
    false,
  ],
  "a caller at a trusted proxy who adds invented addresses": [
    { peer: "10.1.2.3", forwarded: "203.0.113.1, 198.51.100.1" },
    { peer: "10.1.2.4", forwarded: "203.0.113.2, 198.51.100.1:4711" },
    true,
  ],
  "forwarded addresses with ports": [
    { peer: "fd00::1", forwarded: "[2001:db8:1:2::1]:80" },
    { peer: "fd00::1", forwarded: "2001:db8:1:2::2" },
    true,
  ],
  "a trusted proxy with an invalid address in its header": [
    { peer: "10.1.2.3", forwarded: "unknown" },
    { peer: "10.1.2.3", forwarded: "other" },
    true,
  ],
};

Deno.test("each network has its own limit, and a trusted proxy names the networks behind it", (t) =>
  steps(t, Object.entries(NETWORKS), async ([, [first, second, isOne]]) => {
    const { crowd, send } = await open(["10.0.0.0/8", "fd00::1", "fd00::/8"]);
    await crowd(40, () => START, first);
    assert.equal((await send(START, first)).status, 429);
    assert.equal((await send(START, second)).status, isOne ? 429 : 200);
  }));

Deno.test("at most 20,000 networks are counted, and the network that has been silent longest is forgotten", async () => {
  const { crowd, send } = await open();
  await crowd(40, () => START, { peer: "192.0.2.66" });
  assert.equal((await send(START, { peer: "192.0.2.66" })).status, 429);
  for (let index = 0; index < 20_000; index++) {
    const peer = `10.0.${index >> 8}.${index & 255}`;
    assert.equal((await send(START, { peer })).status, 200);
  }
  assert.equal((await send(START, { peer: "192.0.2.66" })).status, 200);
});
