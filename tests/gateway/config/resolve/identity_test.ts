import assert from "node:assert/strict";
import {
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
  tokenFile,
  warningsOf,
} from "../../../support/gateway/config.ts";
import {
  identityFile,
  ISSUER,
} from "../../../support/gateway/identity_scene.ts";
import { steps } from "../../../support/steps.ts";
import { yamlTable } from "../../../support/yaml_table.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Returns a file with one identity provider. */
const fileWith = (entry: Fields, rest: Fields = {}) =>
  minimalFile({ identity: [identityFile(entry)], ...rest });

/** Returns the problems of a file with one identity provider. Default: its files are empty key sets. */
async function problemsWith(
  entry: Fields,
  rest: Fields = {},
  text = '{"keys":[]}',
): Promise<readonly string[]> {
  return problemsOf(
    await loadFile(fileWith(entry, rest), {
      readFile: () => Promise.resolve(text),
    }),
  );
}

Deno.test("an identity provider is resolved with its audiences, its keys and its rules", async () => {
  const { identity, connections } = await minimalConfig({
    groups: { platform: { limits: [{ window: "day", tokens: 9 }] } },
    identity: [identityFile({
      rules: [
        {
          when: { groups: "platform", level: 3, email_verified: true },
          connections: ["main"],
          models: ["model-a"],
          group: "platform",
          max_concurrent: 2,
          limits: [{ window: "hour", requests: 5 }],
        },
        { connections: ["*"] },
      ],
    })],
  });
  const [provider] = identity;
  assert.ok(provider);
  const { rules, ...rest } = provider;
  assert.deepEqual(rest, {
    issuer: ISSUER,
    audiences: ["model-gateway"],
    keys: { kind: "url", url: "https://login.example.com/keys" },
    signIn: undefined,
    nameClaim: "sub",
  });
  const [first, second] = rules;
  assert.deepEqual(first?.when, {
    groups: "platform",
    level: 3,
    email_verified: true,
  });
  assert.deepEqual(first.connectionIds, new Set([connections[0]?.id]));
  assert.equal(first.groups[0]?.name, "platform");
  assert.equal(first.limits.length, 1);
  assert.equal(first.maxConcurrent, 2);
  assert.deepEqual(second?.when, {});
  assert.equal(second.maxConcurrent, 256);
});

Deno.test("a rule without limits has the default limits", async () => {
  const { identity: [provider] } = await minimalConfig({
    defaults: { limits: [{ window: "day", tokens: 7 }] },
    identity: [identityFile()],
  });
  assert.equal(provider?.rules[0]?.limits.length, 1);
});

Deno.test("the keys come from the issuer's address, a URL or a file", async () => {
  const keysOf = async (entry: Fields) => {
    const { identity: [provider] } = await minimalConfig({
      identity: [identityFile({ jwks_url: undefined, ...entry })],
    }, {
      readFile: () =>
        Promise.resolve('{"keys":[{"kty":"oct"},{"kty":"EC","kid":"k1"}]}'),
    });
    return provider?.keys;
  };
  assert.deepEqual(await keysOf({ issuer: "https://a.example/" }), {
    kind: "discovery",
    url: "https://a.example/.well-known/openid-configuration",
  });
  assert.deepEqual(await keysOf({ jwks_file: "keys.json" }), {
    kind: "file",
    keys: [{ kty: "EC", kid: "k1" }],
  });
});

/** Entries with a problem. */
const PROBLEMS = yamlTable(`
no issuer: { issuer: <absent> } → identity[0].issuer: is missing.
an issuer with a space: { issuer: "https://a.example (b)" } →
  identity[0].issuer: must be the issuer's URL, without spaces and parentheses.
no audience: { audience: <absent> } → identity[0].audience: is missing.
an empty audience: { audience: [] } → identity[0].audience: must not be empty.
no rules: { rules: <absent> } → identity[0].rules: is missing.
an empty list of rules: { rules: [] } → identity[0].rules: must not be empty: without a rule,
  nobody may use anything.
a rule without connections: { rules: [{}] } → identity[0].rules[0].connections: is missing.
an unknown connection: { rules: [{ connections: [mian] }] } →
  identity[0].rules[0].connections[0]: is neither the name nor the id of a connection. Did you mean
  "main"?
an unknown group: { rules: [{ connections: ["*"], group: x }] } →
  identity[0].rules[0].group: is not a name in \`groups\`.
a condition that is a list: { rules: [{ connections: ["*"], when: { groups: [a] } }] } →
  identity[0].rules[0].when.groups: must be a text, a number, true or false.
a condition without a claim: { rules: [{ connections: ["*"], when: {} }] } →
  identity[0].rules[0].when: must name a claim. Leave it out for a rule that holds for everybody.
a condition with an empty claim: { rules: [{ connections: ["*"], when: { groups: "" } }] } →
  identity[0].rules[0].when.groups: must not be empty.
a condition that is left empty: { rules: [{ connections: ["*"], when: }] } →
  identity[0].rules[0].when: has no value. Give one, or remove the key.
an unknown key: { jwks_uri: "https://a.example" } → identity[0].jwks_uri: is not a known key. Did
  you mean "jwks_url"?
a URL of keys that is none: { jwks_url: "file:///keys.json" } →
  identity[0].jwks_url: must be a URL that begins with https:// or http://.
two sources of keys: { jwks_file: keys.json } → identity[0].jwks_file: must not be set with
  jwks_url. Keep one of them.
a file without a key: { jwks_url: <absent>, jwks_file: keys.json } →
  identity[0].jwks_file: names a file without a public key for signatures.
an issuer without a URL: { issuer: accounts, jwks_url: <absent> } →
  identity[0].jwks_url: is missing. The issuer is no URL, so its keys cannot be found.
`);

Deno.test("each problem of an identity provider names its path", (t) =>
  steps(t, PROBLEMS, async ([, entry, problem]) => {
    assert.deepEqual(await problemsWith(entry), [problem]);
  }));

Deno.test("a file of keys that is invalid or unreadable is a problem", async () => {
  const entry = { jwks_url: undefined, jwks_file: "keys.json" };
  assert.deepEqual(await problemsWith(entry, {}, "-----BEGIN"), [
    "identity[0].jwks_file: must name a file with a JSON Web Key Set.",
  ]);
  assert.deepEqual(problemsOf(await loadFile(fileWith(entry))), [
    "identity[0].jwks_file: names a file that cannot be read. Create it, or name another: a path such as keys/anthropic begins at the folder of this file.",
  ]);
});

Deno.test("two entries with the same issuer are a problem", async () => {
  const identity = [identityFile(), identityFile()];
  assert.deepEqual(problemsOf(await loadFile(minimalFile({ identity }))), [
    "identity[1].issuer: is also the issuer of identity[0]. Write one entry, with a list of audiences.",
  ]);
});

Deno.test("a token whose name a caller of an identity provider could have is a problem", async () => {
  const tokens = [tokenFile({ name: `alice (${ISSUER})` })];
  assert.deepEqual(await problemsWith({}, { tokens }), [
    "tokens[0].name: ends with an issuer in parentheses, as the names of that issuer's callers do. Choose another.",
  ]);
});

Deno.test("a cost limit needs the prices of all models that a rule allows", async () => {
  const [problem] = await problemsWith({
    rules: [{ connections: ["*"], limits: [{ window: "day", cost: 1 }] }],
  });
  assert.match(problem ?? "", /^identity\[0\]\.rules\[0\]\.limits: limit the/);
});

Deno.test("a group that only a rule names is not empty", async () => {
  const file = fileWith({
    rules: [{ connections: ["*"], group: "platform" }],
  }, { groups: { platform: {} } });
  assert.deepEqual(warningsOf(await loadFile(file)), []);
});

Deno.test("a file with an identity provider needs no tokens", async () => {
  for (const tokens of [[], undefined]) {
    const file = fileWith({}, { tokens });
    assert.deepEqual(warningsOf(await loadFile(file)), []);
  }
});

Deno.test("a rule after a rule for all callers is a warning, and so are keys that are read without TLS", async () => {
  const file = fileWith({
    jwks_url: "http://login.example.com/keys",
    rules: [{ connections: ["*"] }, { when: { a: 1 }, connections: [] }],
  }, { connections: [connectionFile()] });
  assert.deepEqual(warningsOf(await loadFile(file)), [
    "identity[0].rules[1]: is never used: rules[0] before it is for everybody.",
    "identity[0].jwks_url: fetches keys without TLS, so that the network could replace them. Use https:.",
  ]);
  for (const host of ["127.0.0.1", "[::1]", "localhost"]) {
    const local = fileWith({ jwks_url: `http://${host}:9/keys` });
    assert.deepEqual(warningsOf(await loadFile(local)), []);
  }
});
