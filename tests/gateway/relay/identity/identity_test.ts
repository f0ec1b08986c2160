import assert from "node:assert/strict";
import {
  configOf,
  loadFile,
  minimalFile,
} from "../../../support/gateway/config.ts";
import {
  createSigner,
  GOOD_CLAIMS,
  identityFile,
  identityScene,
  ISSUER,
  KEYS_URL,
  keySetOf,
  NOW_SECONDS,
} from "../../../support/gateway/identity_scene.ts";
import { steps } from "../../../support/steps.ts";

const signer = await createSigner();

type Fields = Readonly<Record<string, unknown>>;

/** Returns the configuration of a reload. */
async function configWith(...entries: readonly Fields[]) {
  return configOf(await loadFile(minimalFile({ identity: entries })));
}

Deno.test("a JWT that no rule applies to is a 403, and the log names the caller", async () => {
  const scene = await identityScene(keySetOf(signer), {
    rules: [{ when: { groups: "finance" }, connections: ["*"] }],
  });
  const error = await scene.refusalOf(await signer.sign());
  assert.deepEqual([error.status, error.code], [403, "no_access"]);
  assert.equal(error.isFinal, true);
  assert.equal(error.reason, `no rule applies to u-1 (${ISSUER})`);
});

Deno.test("the log names the groups that an issuer left out because a person has too many", async (t) => {
  // https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference
  const overages: Readonly<Record<string, Fields>> = {
    "of the code flow": {
      _claim_names: { groups: "src1" },
      _claim_sources: { src1: { endpoint: "https://graph.example/secret" } },
    },
    "of the implicit flow": { hasgroups: true },
  };
  await steps(t, Object.entries(overages), async ([, overage]) => {
    const scene = await identityScene(keySetOf(signer), {
      rules: [{ when: { groups: "platform" }, connections: ["*"] }],
    });
    const claims = { ...GOOD_CLAIMS, groups: undefined, ...overage };
    const error = await scene.refusalOf(await signer.sign(claims));
    assert.equal(error.status, 403);
    assert.equal(
      error.reason,
      `no rule applies to u-1 (${ISSUER}); its issuer left out groups: too many values`,
    );
  });
});

Deno.test("a JWT without the claim for the caller's name is a 403", async () => {
  const scene = await identityScene(keySetOf(signer), { name: "upn" });
  const error = await scene.refusalOf(await signer.sign());
  assert.deepEqual([error.status, error.code], [403, "no_access"]);
});

Deno.test("callers with the same name at two issuers are different", async () => {
  const second = "https://other.example.com";
  const scene = await identityScene(keySetOf(signer));
  const config = await configWith(
    identityFile(),
    identityFile({ issuer: second }),
  );
  const [one, other] = await Promise.all([
    scene.identity.callerOf(await signer.sign(), config),
    scene.identity.callerOf(
      await signer.sign({ ...GOOD_CLAIMS, iss: second }),
      config,
    ),
  ]);
  assert.equal(one.name, `u-1 (${ISSUER})`);
  assert.equal(other.name, `u-1 (${second})`);
  assert.notEqual(one.sha256, other.sha256);
});

Deno.test("one issuer's key verifies no token of another issuer, even if their keys share a name", async () => {
  const second = "https://other.example.com";
  const others = await createSigner("k1");
  const scene = await identityScene((url, signal) =>
    keySetOf(url === KEYS_URL ? signer : others)(url, signal)
  );
  scene.liveConfig.swap(
    await configWith(
      identityFile(),
      identityFile({ issuer: second, jwks_url: `${second}/keys` }),
    ),
  );
  const claims = { ...GOOD_CLAIMS, iss: second };
  assert.equal(
    await scene.nameOf(await others.sign(claims)),
    `u-1 (${second})`,
  );
  for (
    const token of [await signer.sign(claims), await others.sign()]
  ) {
    const error = await scene.refusalOf(token);
    assert.equal(error.reason, "its signature is wrong");
  }
});

Deno.test("two tokens of a person belong to one caller", async () => {
  const scene = await identityScene(keySetOf(signer));
  const config = scene.liveConfig.current();
  const first = await signer.sign();
  const second = await signer.sign({ ...GOOD_CLAIMS, exp: NOW_SECONDS + 60 });
  const one = await scene.identity.callerOf(first, config);
  assert.equal(await scene.identity.callerOf(second, config), one);
});

Deno.test("a remembered token is accepted until a minute after its expiry", async () => {
  const scene = await identityScene(keySetOf(signer));
  const token = await signer.sign({ ...GOOD_CLAIMS, exp: NOW_SECONDS + 10 });
  await scene.nameOf(token);
  scene.advance(69_999);
  await scene.nameOf(token);
  scene.advance(1);
  assert.equal((await scene.refusalOf(token)).reason, "it has expired");
});

Deno.test("a reload applies its rules to remembered tokens, and keeps the keys", async () => {
  const scene = await identityScene(keySetOf(signer));
  const token = await signer.sign();
  const before = await scene.identity.callerOf(
    token,
    scene.liveConfig.current(),
  );
  scene.liveConfig.swap(
    await configWith(
      identityFile({ rules: [{ connections: [], max_concurrent: 7 }] }),
    ),
  );
  const after = await scene.identity.callerOf(
    token,
    scene.liveConfig.current(),
  );
  assert.equal(after.maxConcurrent, 7);
  assert.equal(after.sha256, before.sha256);
  assert.equal(scene.identity.current(before), after);
  assert.deepEqual(scene.requested, [KEYS_URL]);
});

Deno.test("a reload that removes an issuer or changes its audience forgets the issuer's tokens", async (t) => {
  const entries: Readonly<Record<string, readonly Fields[]>> = {
    "no issuer": [],
    "another issuer": [identityFile({ issuer: "https://new.example" })],
    "another audience": [identityFile({ audience: "new" })],
  };
  await steps(t, Object.entries(entries), async ([what, identity]) => {
    const scene = await identityScene(keySetOf(signer));
    const token = await signer.sign();
    const caller = await scene.identity
      .callerOf(token, scene.liveConfig.current());
    scene.liveConfig.swap(await configWith(...identity));
    assert.equal((await scene.refusalOf(token)).status, 401);
    // A request that is running keeps its limits to its end.
    if (what !== "another audience") {
      assert.equal(scene.identity.current(caller), caller);
    }
  });
});

Deno.test("a reload with other keys reads the new keys, and rejects tokens of the old keys", async () => {
  const scene = await identityScene(keySetOf(signer));
  const token = await signer.sign();
  await scene.nameOf(token);
  scene.serve(keySetOf(await createSigner("k2")));
  const url = "https://login.example.com/new-keys";
  scene.liveConfig.swap(await configWith(identityFile({ jwks_url: url })));
  assert.equal((await scene.refusalOf(token)).status, 401);
  assert.deepEqual(scene.requested, [KEYS_URL, url]);
});

Deno.test("keys in a file need no request", async () => {
  const scene = await identityScene(() => assert.fail("it was requested"));
  const file = identityFile({ jwks_url: undefined, jwks_file: "keys.json" });
  const text = JSON.stringify({ keys: [signer.jwk] });
  const config = configOf(
    await loadFile(minimalFile({ identity: [file] }), {
      readFile: () => Promise.resolve(text),
    }),
  );
  scene.liveConfig.swap(config);
  assert.equal(await scene.nameOf(await signer.sign()), `u-1 (${ISSUER})`);
  const other = await createSigner("k2");
  assert.equal((await scene.refusalOf(await other.sign())).status, 401);
});

Deno.test("neither errors nor the log hold any part of a token", async () => {
  const away = await identityScene(() => Promise.reject(new Error("away")));
  const found = await identityScene(keySetOf(signer), {
    rules: [{ when: { groups: "finance" }, connections: ["*"] }],
  });
  const token = await signer.sign();
  const wrong = await signer.sign({ ...GOOD_CLAIMS, aud: "other" });
  const errors = [
    await away.refusalOf(token),
    await found.refusalOf(token),
    await found.refusalOf(wrong),
  ];
  const text = Deno.inspect([errors, away.log.entries, found.log.entries], {
    depth: 20,
    strAbbreviateSize: Infinity,
  });
  for (const part of [...token.split("."), ...wrong.split(".")]) {
    assert.ok(!text.includes(part));
  }
});

Deno.test("a remembered token whose key the issuer has withdrawn is rejected within two hours", async () => {
  const next = await createSigner("k2");
  const scene = await identityScene(keySetOf(signer));
  const exp = NOW_SECONDS + 10 * 365 * 86_400;
  const stolen = await signer.sign({ ...GOOD_CLAIMS, exp });
  await scene.nameOf(stolen);
  scene.serve(keySetOf(next));
  scene.advance(3_600_000 - 1);
  await scene.nameOf(stolen);
  assert.equal(scene.requested.length, 1);
  scene.advance(1);
  assert.equal(
    (await scene.refusalOf(stolen)).reason,
    "its issuer has no such key",
  );
  assert.equal(scene.requested.length, 2);
});

Deno.test("a remembered token stays valid while the keys cannot be read, and is verified once an hour", async () => {
  const scene = await identityScene(keySetOf(signer));
  const exp = NOW_SECONDS + 86_400;
  const token = await signer.sign({ ...GOOD_CLAIMS, exp });
  await scene.nameOf(token);
  scene.serve(() => Promise.reject(new Error("away")));
  scene.advance(3_600_000);
  for (let minute = 0; minute < 59; minute++) {
    await scene.nameOf(token);
    scene.advance(60_000);
  }
  assert.equal(scene.requested.length, 2);
});
