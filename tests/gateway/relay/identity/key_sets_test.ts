import assert from "node:assert/strict";
import {
  createSigner,
  GOOD_CLAIMS,
  identityScene,
  ISSUER,
  KEYS_URL,
  keySetOf,
  NOW_SECONDS,
  type Serve,
} from "../../../support/gateway/identity_scene.ts";
import { nextTurn } from "../../../support/settle.ts";
import { steps } from "../../../support/steps.ts";

const signer = await createSigner();
const NAME = `u-1 (${ISSUER})`;

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;

Deno.test("keys are read once for concurrent first JWTs, and kept for an hour", async () => {
  const scene = await identityScene(keySetOf(signer));
  assert.deepEqual(scene.requested, []);
  const [one, other] = await Promise.all(
    [signer.sign(), signer.sign({ ...GOOD_CLAIMS, sub: "u-2" })],
  );
  await Promise.all([scene.nameOf(one), scene.nameOf(other)]);
  assert.deepEqual(scene.requested, [KEYS_URL]);
  const later = async (sub: string) => {
    const exp = scene.clock.now() / 1000 + 60;
    const iat = scene.clock.now() / 1000;
    return await scene.nameOf(
      await signer.sign({ ...GOOD_CLAIMS, sub, exp, iat }),
    );
  };
  scene.advance(HOUR_MS - 1);
  await later("u-3");
  assert.equal(scene.requested.length, 1);
  scene.advance(1);
  await later("u-4");
  assert.equal(scene.requested.length, 2);
});

Deno.test("a verified token stays valid until its expiry without any key", async () => {
  const scene = await identityScene(keySetOf(signer));
  const exp = NOW_SECONDS + 2 * 3600;
  const token = await signer.sign({ ...GOOD_CLAIMS, exp });
  await scene.nameOf(token);
  scene.serve(() => Promise.reject(new Error("away")));
  scene.advance(2 * HOUR_MS + 59 * SECOND_MS);
  assert.equal(await scene.nameOf(token), NAME);
  scene.advance(SECOND_MS);
  assert.equal((await scene.refusalOf(token)).code, "identity_unavailable");
});

Deno.test("the URL of the keys comes from the issuer, with or without a slash at its end", (t) =>
  steps(t, [ISSUER, `${ISSUER}/`, `${ISSUER}/tenant/v2.0`], async (issuer) => {
    const discovery = `${
      issuer.replace(/\/$/, "")
    }/.well-known/openid-configuration`;
    const scene = await identityScene(
      (url, signal) =>
        url === discovery
          ? Promise.resolve(Response.json({ issuer, jwks_uri: KEYS_URL }))
          : keySetOf(signer)(url, signal),
      { issuer, jwks_url: undefined },
    );
    const token = await signer.sign({ ...GOOD_CLAIMS, iss: issuer });
    assert.equal(await scene.nameOf(token), `u-1 (${issuer})`);
    assert.deepEqual(scene.requested, [discovery, KEYS_URL]);
  }));

Deno.test("an unknown key makes the gateway read the keys again, at most once in 30 seconds", async () => {
  const next = await createSigner("k2");
  const scene = await identityScene(keySetOf(signer));
  await scene.nameOf(await signer.sign());
  scene.serve(keySetOf(signer, next));
  const unknown = await createSigner("k3");
  assert.equal(
    (await scene.refusalOf(await next.sign())).reason,
    "its issuer has no such key",
  );
  assert.equal(scene.requested.length, 1);
  scene.advance(30 * SECOND_MS);
  // Both ask at the same time; one reading answers both.
  const [name, refusal] = await Promise.all([
    scene.nameOf(await next.sign()),
    scene.refusalOf(await unknown.sign()),
  ]);
  assert.equal(name, NAME);
  assert.equal(refusal.status, 401);
  assert.equal(scene.requested.length, 2);
  for (let seconds = 0; seconds < 29; seconds++) {
    scene.advance(SECOND_MS);
    await scene.refusalOf(await unknown.sign());
  }
  assert.equal(scene.requested.length, 2);
});

Deno.test("a withdrawn key is not used after the next reading", async () => {
  const next = await createSigner("k2");
  const scene = await identityScene(keySetOf(signer));
  await scene.nameOf(await signer.sign());
  scene.serve(keySetOf(next));
  scene.advance(30 * SECOND_MS);
  assert.equal(await scene.nameOf(await next.sign()), NAME);
  const again = await signer.sign({ ...GOOD_CLAIMS, sub: "u-2" });
  assert.equal((await scene.refusalOf(again)).status, 401);
});

/** Responses without a usable key, with the reason in the log. */
const HOSTILE: Readonly<Record<string, readonly [Serve, string]>> = {
  "away": [
    () => Promise.reject(new TypeError("connection refused")),
    "the gateway cannot reach it",
  ],
  "failing": [
    () => Promise.resolve(new Response("secret-page", { status: 500 })),
    "it answered with status 500",
  ],
  "elsewhere": [
    () =>
      Promise.resolve(
        new Response(null, {
          status: 302,
          headers: { location: "https://evil.example/" },
        }),
      ),
    "it answered with status 302",
  ],
  "huge": [
    () => Promise.resolve(new Response("[".repeat(1024 * 1024 + 1))),
    "it sent more than 1 MiB",
  ],
  "full of values": [
    () => Promise.resolve(new Response(`[${"0,".repeat(400_000)}0]`)),
    "it sent no JSON Web Key Set",
  ],
  "not JSON": [
    () => Promise.resolve(new Response("<html>secret-page</html>")),
    "it sent no JSON Web Key Set",
  ],
  "another JSON": [
    () => Promise.resolve(Response.json({ keys: "none" })),
    "it sent no JSON Web Key Set",
  ],
  "empty": [
    () => Promise.resolve(Response.json({ keys: [] })),
    "its key set has no public key for signatures",
  ],
  "symmetric": [
    () =>
      Promise.resolve(
        Response.json({ keys: [{ kty: "oct", kid: "k1", k: "AAAA" }] }),
      ),
    "its key set has no public key for signatures",
  ],
  "for encryption": [
    () =>
      Promise.resolve(Response.json({ keys: [{ ...signer.jwk, use: "enc" }] })),
    "its key set has no public key for signatures",
  ],
  "without key types": [
    () => Promise.resolve(Response.json({ keys: [null, 1, "RSA", {}] })),
    "its key set has no public key for signatures",
  ],
};

Deno.test("keys that cannot be read are a 503 with Retry-After, and the log has the reason", (t) =>
  steps(t, Object.entries(HOSTILE), async ([, [serve, reason]]) => {
    const scene = await identityScene(serve);
    const error = await scene.refusalOf(await signer.sign());
    assert.equal(error.status, 503);
    assert.equal(error.headers["retry-after"], "5");
    const fields = { issuer: ISSUER, reason, retry_ms: 5000 };
    assert.deepEqual(scene.log.entries, [
      { level: "warn", event: "identity_keys_unread", fields },
    ]);
  }));

Deno.test("an unreachable issuer is read again after five seconds, not with every request", async () => {
  const scene = await identityScene(() => Promise.reject(new Error("away")));
  const token = await signer.sign();
  await scene.refusalOf(token);
  scene.serve(keySetOf(signer));
  scene.advance(3 * SECOND_MS);
  const error = await scene.refusalOf(token);
  assert.equal(error.headers["retry-after"], "2");
  assert.equal(scene.requested.length, 1);
  scene.advance(2 * SECOND_MS);
  assert.equal(await scene.nameOf(token), NAME);
});

Deno.test("the known keys stay in use when a JWT names an unknown key and the issuer is unreachable", async () => {
  const next = await createSigner("k2");
  const scene = await identityScene(keySetOf(signer));
  await scene.nameOf(await signer.sign());
  scene.serve(() => Promise.reject(new Error("away")));
  scene.advance(30 * SECOND_MS);
  assert.equal((await scene.refusalOf(await next.sign())).status, 503);
  const other = await signer.sign({ ...GOOD_CLAIMS, sub: "u-2" });
  assert.equal(await scene.nameOf(other), `u-2 (${ISSUER})`);
  scene.advance(10 * SECOND_MS);
  const error = await scene.refusalOf(await next.sign());
  assert.deepEqual([error.status, error.headers["retry-after"]], [503, "20"]);
  assert.equal(scene.requested.length, 2);
});

Deno.test("an issuer that does not answer within five seconds is a 503, and its request is cancelled", async () => {
  let cancelled = false;
  const scene = await identityScene((_url, signal) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => {
        cancelled = true;
        reject(signal.reason);
      })
    )
  );
  const refused = scene.refusalOf(await signer.sign());
  await nextTurn();
  scene.advance(5 * SECOND_MS);
  assert.equal((await refused).status, 503);
  assert.ok(cancelled);
  assert.equal(
    scene.log.entries.at(0)?.fields.reason,
    "it did not answer within 5 s",
  );
});

Deno.test("a caller gets a 503 after five seconds when the issuer's response never ends", async () => {
  const scene = await identityScene(() =>
    Promise.resolve(new Response(new ReadableStream()))
  );
  const refused = scene.refusalOf(await signer.sign());
  await nextTurn();
  scene.advance(5 * SECOND_MS);
  assert.equal((await refused).status, 503);
});

/** OpenID Connect documents without usable keys, with the reason in the log. */
const BAD_DISCOVERY: Readonly<Record<string, readonly [unknown, string]>> = {
  "of another issuer": [
    { issuer: "https://evil.example", jwks_uri: KEYS_URL },
    "its openid-configuration is of another issuer",
  ],
  "without keys": [
    { issuer: ISSUER },
    "its openid-configuration has no issuer and jwks_uri",
  ],
  "with keys on plain HTTP": [
    { issuer: ISSUER, jwks_uri: "http://login.example.com/keys" },
    "its openid-configuration has a jwks_uri without https:",
  ],
  "with keys in a file": [
    { issuer: ISSUER, jwks_uri: "file:///etc/passwd" },
    "its openid-configuration has a jwks_uri without https:",
  ],
  "that is a list": [[], "its openid-configuration has no issuer and jwks_uri"],
};

Deno.test("an OpenID Connect document without usable keys is a 503", (t) =>
  steps(t, Object.entries(BAD_DISCOVERY), async ([, [document, reason]]) => {
    const scene = await identityScene(
      () => Promise.resolve(Response.json(document)),
      { jwks_url: undefined },
    );
    const error = await scene.refusalOf(await signer.sign());
    assert.equal(error.status, 503);
    assert.equal(scene.log.entries.at(0)?.fields.reason, reason);
    assert.equal(scene.requested.length, 1);
  }));
