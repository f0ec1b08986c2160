import assert from "node:assert/strict";
import {
  base64url,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  SignJWT,
} from "jose";
import {
  createSigner,
  GOOD_CLAIMS,
  type IdentityScene,
  identityScene,
  ISSUER,
  KEYS_URL,
  keySetOf,
  NOW_SECONDS,
  unsigned,
} from "../../../support/gateway/identity_scene.ts";
import { steps } from "../../../support/steps.ts";

const signer = await createSigner();

/** Returns the error for a token. Default: the issuer has the keys of the signer. */
async function refusalOf(token: string, scene?: IdentityScene) {
  const { refusalOf } = scene ?? await identityScene(keySetOf(signer));
  return await refusalOf(token);
}

Deno.test("a JWT of the issuer for the audience names its caller, with the issuer", async () => {
  const { nameOf } = await identityScene(keySetOf(signer));
  assert.equal(await nameOf(await signer.sign()), `u-1 (${ISSUER})`);
});

Deno.test("one common audience of the token and the configuration is enough", async () => {
  const scene = await identityScene(keySetOf(signer), {
    audience: ["other", "model-gateway"],
  });
  const claims = { ...GOOD_CLAIMS, aud: ["somewhere", "model-gateway"] };
  assert.equal(
    await scene.nameOf(await signer.sign(claims)),
    `u-1 (${ISSUER})`,
  );
});

Deno.test("every asymmetric algorithm is accepted", (t) =>
  steps(t, ["RS512", "PS256", "ES256", "ES384", "EdDSA"], async (alg) => {
    const own = await createSigner("k1", alg);
    const { nameOf } = await identityScene(keySetOf(own));
    assert.equal(await nameOf(await own.sign()), `u-1 (${ISSUER})`);
  }));

const STRANGE = "its issuer is not in the configuration";
const ELSEWHERE = "it is for another audience";
const ENDLESS = "it has no valid expiry";

/** Rejected claims, with the reason in the log. */
const BAD_CLAIMS: Readonly<Record<string, readonly [object, string]>> = {
  "of another issuer": [{ iss: "https://evil.example" }, STRANGE],
  "of an issuer with the same beginning": [{ iss: `${ISSUER}/` }, STRANGE],
  "without an issuer": [{ iss: undefined }, STRANGE],
  "for another audience": [{ aud: "other" }, ELSEWHERE],
  "without an audience": [{ aud: undefined }, ELSEWHERE],
  "without an expiry": [{ exp: undefined }, ENDLESS],
  "with an expiry that is text": [{ exp: "later" }, ENDLESS],
  "with an expiry that is a number in text": [
    { exp: String(NOW_SECONDS + 60) },
    ENDLESS,
  ],
  "with an expiry of null": [{ exp: null }, ENDLESS],
  "with an expiry that is a list": [{ exp: [NOW_SECONDS + 60] }, ENDLESS],
  "whose beginning is text": [{ nbf: "0" }, "it is not valid yet"],
  "for an audience that is an object": [
    { aud: { "model-gateway": true } },
    ELSEWHERE,
  ],
  "for a list in a list": [{ aud: [["model-gateway"]] }, ELSEWHERE],
  "for an audience with the same beginning": [
    { aud: "model-gateway2" },
    ELSEWHERE,
  ],
  "for an audience in another case": [{ aud: "Model-Gateway" }, ELSEWHERE],
  "of a list of issuers": [{ iss: [ISSUER] }, STRANGE],
  "that is not valid yet": [{ nbf: NOW_SECONDS + 61 }, "it is not valid yet"],
  "of the future": [{ iat: NOW_SECONDS + 61 }, "it was issued in the future"],
  "whose time of issue is text": [
    { iat: "now" },
    "its time of issue is invalid",
  ],
};

Deno.test("a JWT with wrong claims is a 401, and only the log has the reason", (t) =>
  steps(t, Object.entries(BAD_CLAIMS), async ([, [claims, reason]]) => {
    const token = await signer.sign({ ...GOOD_CLAIMS, ...claims });
    const error = await refusalOf(token);
    assert.equal(error.status, 401);
    assert.equal(error.reason, reason);
    assert.ok(!error.message.includes(reason));
    assert.match(error.headers["www-authenticate"] ?? "", /^Bearer/);
  }));

Deno.test("an expired JWT is a final 401 with its own code", async () => {
  const expired = await signer.sign({ ...GOOD_CLAIMS, exp: NOW_SECONDS - 60 });
  const error = await refusalOf(expired);
  assert.deepEqual([error.status, error.code], [401, "token_expired"]);
  assert.match(error.message, /it has expired\. Log in again/);
  assert.equal(error.isFinal, true);
  const other = await signer.sign({ ...GOOD_CLAIMS, aud: "other" });
  assert.equal((await refusalOf(other)).isFinal, true);
});

Deno.test("an expired JWT with a wrong signature is not reported as expired", async () => {
  const expired = { ...GOOD_CLAIMS, exp: NOW_SECONDS - 60 };
  const forged = await (await createSigner()).sign(expired);
  assert.equal((await refusalOf(forged)).code, "invalid_api_key");
});

Deno.test("clocks may differ by 60 seconds", async () => {
  const { nameOf } = await identityScene(keySetOf(signer));
  const token = await signer.sign({
    ...GOOD_CLAIMS,
    exp: NOW_SECONDS - 59,
    nbf: NOW_SECONDS + 60,
    iat: NOW_SECONDS + 60,
  });
  assert.equal(await nameOf(token), `u-1 (${ISSUER})`);
});

Deno.test("a JWT that another key has signed is a 401", async () => {
  const other = await createSigner();
  const error = await refusalOf(await other.sign());
  assert.equal(error.reason, "its signature is wrong");
});

Deno.test("a JWT whose claims were changed is a 401", async () => {
  const [header, , signature] = (await signer.sign()).split(".");
  const [, claims] = unsigned({}, { ...GOOD_CLAIMS, sub: "root" }).split(".");
  const error = await refusalOf(`${header}.${claims}.${signature}`);
  assert.equal(error.reason, "its signature is wrong");
});

Deno.test("a JWT without a signature or with a symmetric one is a 401, and no key is fetched", async (t) => {
  const pair = await generateKeyPair("RS256", { extractable: true });
  const publicPem = new TextEncoder().encode(await exportSPKI(pair.publicKey));
  const modulus = new TextEncoder().encode(String(signer.jwk.n));
  const hs256 = (secret: Uint8Array) =>
    new SignJWT(GOOD_CLAIMS).setProtectedHeader({ alg: "HS256", kid: "k1" })
      .sign(secret);
  const tokens = {
    "none": unsigned({ alg: "none" }),
    "none in another spelling": unsigned({ alg: "nOnE" }),
    "none with a signature": unsigned(
      { alg: "none", kid: "k1" },
      undefined,
      "AA",
    ),
    "no algorithm": unsigned({ typ: "JWT" }, undefined, "AA"),
    "HS256 with the public key": await hs256(publicPem),
    "HS256 with the modulus": await hs256(modulus),
  };
  await steps(t, Object.entries(tokens), async ([, token]) => {
    const scene = await identityScene(keySetOf(signer));
    const error = await refusalOf(token, scene);
    assert.equal(error.reason, "its algorithm is not asymmetric");
    assert.deepEqual(scene.requested, []);
  });
});

Deno.test("a key for another algorithm does not verify a JWT", async () => {
  const key = await createSigner("k1", "ES256");
  const error = await refusalOf(
    await signer.sign(),
    await identityScene(keySetOf(key)),
  );
  assert.equal(error.reason, "its issuer has no such key");
});

Deno.test("a JWT that does not name its key is accepted if only one key fits", async () => {
  const other = await createSigner("k2");
  const token = await signer.sign(GOOD_CLAIMS, { kid: undefined });
  const one = await identityScene(keySetOf(signer));
  assert.equal(await one.nameOf(token), `u-1 (${ISSUER})`);
  const two = await identityScene(keySetOf(signer, other));
  const error = await refusalOf(token, two);
  assert.equal(
    error.reason,
    "it does not name its key, and its issuer has several",
  );
});

Deno.test("a key or the URL of a key in the token itself is never used", async () => {
  const forger = await createSigner("k1");
  const headers = {
    "jwk": { jwk: forger.jwk },
    "jku": { jku: "https://evil.example/keys" },
    "x5u": { x5u: "https://evil.example/cert" },
    "x5c": { x5c: ["MIIB"] },
  };
  for (const [what, header] of Object.entries(headers)) {
    const scene = await identityScene(keySetOf(signer));
    const token = await forger.sign(GOOD_CLAIMS, header);
    const error = await refusalOf(token, scene);
    assert.equal(error.reason, "its signature is wrong", what);
    assert.deepEqual(scene.requested, [KEYS_URL], what);
  }
});

Deno.test("a JWT with a hostile key name is a 401, and causes no further request", async () => {
  const scene = await identityScene(keySetOf(signer));
  for (
    const kid of [
      "",
      "../../etc/passwd",
      "k1\u0000",
      "' OR 1",
      "x".repeat(5000),
    ]
  ) {
    const error = await refusalOf(
      await signer.sign(GOOD_CLAIMS, { kid }),
      scene,
    );
    assert.equal(error.reason, "its issuer has no such key");
  }
  const forged = await (await createSigner()).sign(GOOD_CLAIMS, { kid: 1 });
  assert.equal((await refusalOf(forged, scene)).status, 401);
  assert.equal(scene.requested.length, 1);
});

Deno.test("a JWT whose key name belongs to two keys is a 401", async () => {
  const other = await createSigner("k1");
  const scene = await identityScene(keySetOf(signer, other));
  const error = await refusalOf(await signer.sign(), scene);
  assert.equal(
    error.reason,
    "it does not name its key, and its issuer has several",
  );
});

Deno.test("a JWT may have fractional times and any late expiry", async () => {
  const { nameOf } = await identityScene(keySetOf(signer));
  for (const exp of [NOW_SECONDS + 0.5, Number.MAX_SAFE_INTEGER, 1e300]) {
    const iat = NOW_SECONDS - 0.5;
    const token = await signer.sign({ ...GOOD_CLAIMS, exp, iat });
    assert.equal(await nameOf(token), `u-1 (${ISSUER})`);
  }
});

Deno.test("a JWT with an unencoded payload (`b64` is false) is a 401", async () => {
  const token = unsigned(
    { alg: "RS256", kid: "k1", crit: ["b64"], b64: false },
    undefined,
    "AA",
  );
  assert.equal((await refusalOf(token)).status, 401);
});

Deno.test("a private key or an encryption key in the key set verifies no JWT", async (t) => {
  const pair = await generateKeyPair("RS256", { extractable: true });
  const secret = await exportJWK(pair.privateKey);
  const own = { kid: "k1", alg: "RS256" };
  const sets = {
    "a private key": { ...secret, ...own, key_ops: ["sign"] },
    "a key for other operations": {
      ...signer.jwk,
      use: undefined,
      key_ops: ["encrypt"],
    },
    "a key for HS256": { ...signer.jwk, alg: "HS256" },
  };
  await steps(t, Object.entries(sets), async ([, jwk]) => {
    const scene = await identityScene(() =>
      Promise.resolve(Response.json({ keys: [jwk] }))
    );
    const token = await new SignJWT(GOOD_CLAIMS)
      .setProtectedHeader(own).sign(pair.privateKey);
    assert.equal((await refusalOf(token, scene)).status, 401);
  });
});

Deno.test("an unknown critical header is a 401", async () => {
  const token = unsigned(
    { alg: "RS256", kid: "k1", crit: ["x"], x: 1 },
    undefined,
    "AA",
  );
  assert.equal((await refusalOf(token)).reason, "it is malformed");
});

Deno.test("a JWT that is longer than 16 KiB or not JSON is not read", async () => {
  const long = await signer.sign({ ...GOOD_CLAIMS, pad: "x".repeat(16_384) });
  assert.equal((await refusalOf(long)).reason, "it is too long");
  for (const token of ["a.b.c", "e30.e30", "e30.bnVsbA.AA"]) {
    assert.equal((await refusalOf(token)).status, 401);
  }
});

Deno.test("a JWT signed with a key that is too short is a 401", async () => {
  const short = await crypto.subtle.generateKey(
    {
      name: "RSASSA-PKCS1-v1_5",
      modulusLength: 1024,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: "SHA-256",
    },
    true,
    ["sign", "verify"],
  );
  const jwk = await crypto.subtle.exportKey("jwk", short.publicKey);
  const text = unsigned({ alg: "RS256", kid: "k1" });
  const signature = await crypto.subtle.sign(
    "RSASSA-PKCS1-v1_5",
    short.privateKey,
    new TextEncoder().encode(text.slice(0, -1)),
  );
  const scene = await identityScene(() =>
    Promise.resolve(
      Response.json({ keys: [{ kty: "RSA", n: jwk.n, e: jwk.e, kid: "k1" }] }),
    )
  );
  const token = text + base64url.encode(new Uint8Array(signature));
  const error = await refusalOf(token, scene);
  assert.equal(error.reason, "the key of its issuer is unusable");
});
