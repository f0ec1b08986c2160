import assert from "node:assert/strict";
import type { Connection } from "../../src/config/config.ts";
import { secretsOf } from "../../src/upstream/secrets.ts";
import { minimalConfig } from "../support/gateway/config.ts";

const KEY = "sk-upstream/0123456789-abcdef";

const escaped = [...KEY].map((one) =>
  `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`
).join("");

/** Ways in which an upstream may repeat a key. */
const REPEATED: Readonly<Record<string, string>> = {
  plain: `the key ${KEY} is wrong`,
  "its beginning": `the key ${KEY.slice(0, 16)}... is wrong`,
  "escaped for JSON": `"${escaped}"`,
  "with escaped slashes": `"${KEY.replace("/", "\\/")}"`,
  "escaped for an address": `?key=${encodeURIComponent(KEY)}`,
  "in base64": btoa(KEY),
  "in base64 behind one byte": btoa(`:${KEY}`),
  "in base64 behind two": btoa(`u:${KEY}`),
  "in base64 among others": btoa(`user:${KEY}@host`),
};

async function connectionWith(
  overrides: Partial<Connection>,
): Promise<Connection> {
  const { connections: [first] } = await minimalConfig();
  assert.ok(first);
  return { ...first, ...overrides };
}

const secrets = secretsOf(
  await connectionWith({ auth: { scheme: "bearer", key: KEY }, headers: {} }),
);

for (const [how, text] of Object.entries(REPEATED)) {
  Deno.test(`Secrets are found in a text ${how}`, () => {
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

Deno.test("Secrets are not found in other texts, which stay as they are", () => {
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

Deno.test("secretsOf() recognizes the key of a connection and the credentials among its headers", async () => {
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
