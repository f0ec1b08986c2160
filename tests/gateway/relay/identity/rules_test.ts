import assert from "node:assert/strict";
import {
  callerOf,
  nameIn,
  ruleFor,
} from "../../../../src/gateway/relay/identity/rules.ts";
import { minimalConfig } from "../../../support/gateway/config.ts";
import {
  identityFile,
  ISSUER,
} from "../../../support/gateway/identity_scene.ts";

type Fields = Readonly<Record<string, unknown>>;

async function providerOf(entry: Fields) {
  const config = await minimalConfig({ identity: [identityFile(entry)] });
  const [provider] = config.identity;
  assert.ok(provider);
  return provider;
}

const KEYCLOAK = {
  realm_access: { roles: ["staff", "platform"] },
  resource_access: { "model-gateway": { roles: ["user"] } },
  "https://example.com/roles": ["admin"],
  email_verified: true,
  level: 3,
};

/** Conditions, and whether the claims above meet them. */
const CONDITIONS: readonly (readonly [Fields | undefined, boolean])[] = [
  [undefined, true],
  [{ "resource_access.model-gateway.roles": "user" }, true],
  [{ "realm_access.": "staff" }, false],
  [{ ".roles": "staff" }, false],
  [{ "level.x": 3 }, false],
  [{ "constructor.name": "Object" }, false],
  [{ level: 3 }, true],
  [{ level: "3" }, false],
  [{ email_verified: true }, true],
  [{ email_verified: "true" }, false],
  [{ "realm_access.roles": "platform" }, true],
  [{ "realm_access.roles": "plat" }, false],
  [{ "realm_access.roles": "staff,platform" }, false],
  [{ "https://example.com/roles": "admin" }, true],
  [{ "realm_access.roles": "platform", level: 3 }, true],
  [{ "realm_access.roles": "platform", level: 4 }, false],
  [{ missing: "x" }, false],
  [{ realm_access: "[object Object]" }, false],
];

Deno.test("a rule applies when each claim equals the rule's value, or is a list with this value", async () => {
  for (const [when, applies] of CONDITIONS) {
    const { rules } = await providerOf({
      rules: [{ ...(when && { when }), connections: ["*"] }],
    });
    const rule = ruleFor(KEYCLOAK, rules);
    assert.equal(rule !== undefined, applies, JSON.stringify(when));
  }
});

Deno.test("the first rule that applies counts", async () => {
  const { rules } = await providerOf({
    rules: [
      { when: { level: 4 }, connections: ["*"], max_concurrent: 1 },
      { when: { level: 3 }, connections: ["*"], max_concurrent: 2 },
      { connections: ["*"], max_concurrent: 3 },
    ],
  });
  const most = (claims: Fields) => ruleFor(claims, rules)?.maxConcurrent;
  assert.equal(most({ level: 4 }), 1);
  assert.equal(most({ level: 3 }), 2);
  assert.equal(most({}), 3);
});

Deno.test("a caller's name is the configured claim, followed by the issuer", async () => {
  const byMail = await providerOf({ name: "email" });
  const email = "alice@example.com";
  assert.equal(nameIn({ email }, byMail), `${email} (${ISSUER})`);
  const within = await providerOf({ name: "person.email" });
  assert.equal(nameIn({ person: { email } }, within), `${email} (${ISSUER})`);
});

/** Characters that do not show, look like a space, or reorder text: one of each kind and block. */
const HIDDEN: readonly string[] = [
  ...["\u00ad", "\u034f", "\u061c", "\u115f", "\u17b4", "\u180b", "\u180e"],
  ...["\u200b", "\u200d", "\u200e", "\u202e", "\u2060", "\u2065", "\u206a"],
  ...["\u2800", "\u3164", "\ufe0f", "\ufeff", "\uffa0", "\ufff9", "\u{1d173}"],
  ...["\u{1bca0}", "\u{e0041}", "\u{e0100}", "\u{e0fff}"],
  ...["\u00a0", "\u1680", "\u2003", "\u2007", "\u202f", "\u205f", "\u3000"],
  ...["\t", "\u0085", "\u2028"],
];

Deno.test("a name with hidden or ambiguous characters is rejected", async () => {
  const provider = await providerOf({ name: "who" });
  for (
    const sub of [
      undefined,
      "",
      " ",
      7,
      true,
      null,
      ["a"],
      {},
      "a\nb",
      "\u2028",
      "ali\u202eec",
      "alice\u2066",
      "\ud800",
      "a\udc00b",
      "x".repeat(257),
      ...HIDDEN.flatMap((one) => [`ali${one}ce`, `alice${one}`, `${one}alice`]),
      ...[" alice", "alice "],
    ]
  ) {
    assert.equal(nameIn({ who: sub }, provider), undefined);
  }
});

Deno.test("names that look alike belong to different callers", async () => {
  const provider = await providerOf({ name: "who" });
  const { rules: [rule] } = provider;
  assert.ok(rule);
  const alike = ["zoë", "zoe\u0308", "Zoë", "zоë", "zoë."];
  const hashes = alike.map((who) =>
    callerOf(rule, nameIn({ who }, provider) ?? "").sha256
  );
  assert.equal(new Set(hashes).size, alike.length);
});

Deno.test("callerOf() returns the rights of the rule, and the same object for each request of a caller", async () => {
  const { rules: [rule] } = await providerOf({
    rules: [{ connections: ["main"], models: ["model-a"], max_concurrent: 2 }],
  });
  assert.ok(rule);
  const caller = callerOf(rule, "u-1");
  assert.equal(caller.maxConcurrent, 2);
  assert.deepEqual(caller.models, new Set(["model-a"]));
  assert.equal(caller.connectionIds.size, 1);
  assert.match(caller.sha256, /^[0-9a-f]{64}$/);
  assert.equal(callerOf(rule, "u-1"), caller);
  assert.notEqual(callerOf(rule, "u-2").sha256, caller.sha256);
});
