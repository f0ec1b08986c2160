import assert from "node:assert/strict";
import { describeConfig } from "../../src/config/describe.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  loadText,
  minimalFile,
  tokenFile,
} from "../support/gateway/config.ts";
import { identityFile } from "../support/gateway/identity_scene.ts";

const CANARY = "sk-CANARY-0123456789";

/** A key that has landed in the wrong place. */
const MISPLACED: Readonly<Record<string, unknown>> = {
  "the host": minimalFile({ server: { host: `${CANARY} x` } }),
  "the port": minimalFile({ server: { port: CANARY } }),
  "a deadline": minimalFile({ timeouts: { idle: CANARY } }),
  "the vendor": minimalFile({ messages_vendor: CANARY }),
  "a connection": minimalFile({ connections: [CANARY] }),
  ...Object.fromEntries(
    [
      "id",
      "service",
      "family",
      "enabled",
      "endpoints",
      "auth",
      "headers",
      "stream_only",
      "force",
      "omit",
      "strict",
      "quota",
      "max_concurrent",
      "timeouts",
      "models",
    ].map((key) => [
      key,
      minimalFile({ connections: [connectionFile({ [key]: CANARY })] }),
    ]),
  ),
  "an endpoint": minimalFile({
    connections: [connectionFile({ endpoints: { chat: CANARY } })],
  }),
  "credentials of a URL": minimalFile({
    connections: [
      connectionFile({ endpoints: { chat: `https://u:${CANARY}@a.example` } }),
    ],
  }),
  "the scheme": minimalFile({
    connections: [connectionFile({ auth: { scheme: CANARY } })],
  }),
  "a key with a line break": minimalFile({
    connections: [
      connectionFile({ auth: { scheme: "bearer", key: `${CANARY}\nx` } }),
    ],
  }),
  "a header value": minimalFile({
    connections: [connectionFile({ headers: { "x-a": `${CANARY}\n` } })],
  }),
  "a fallback": minimalFile({
    connections: [
      connectionFile({ models: [{ id: "a", fallbacks: [CANARY] }] }),
    ],
  }),
  "a hash": minimalFile({ tokens: [tokenFile({ sha256: CANARY })] }),
  "an expiry": minimalFile({ tokens: [tokenFile({ expires_at: CANARY })] }),
  "a token's connection": minimalFile({
    tokens: [tokenFile({ connections: [CANARY] })],
  }),
  "a token's model": minimalFile({ tokens: [tokenFile({ models: [CANARY] })] }),
};

Deno.test("no problem quotes a key in", async (t) => {
  for (const [place, file] of Object.entries(MISPLACED)) {
    await t.step(place, async () => {
      const result = await loadFile(file);
      assert.ok("problems" in result);
      assert.ok(result.problems.length > 0);
      assert.doesNotMatch(JSON.stringify(result), /CANARY/);
    });
  }
});

Deno.test("no problem quotes a line that is not YAML", async () => {
  const result = await loadText(
    `connections:\n  - auth: { key: "${CANARY} }\n`,
  );
  assert.ok("problems" in result);
  assert.doesNotMatch(JSON.stringify(result), /CANARY/);
});

Deno.test("describeConfig() shows no key, no header value and no forced value", async () => {
  const config = configOf(
    await loadFile(minimalFile({
      connections: [connectionFile({
        auth: { scheme: "bearer", key: CANARY },
        headers: { "x-key": CANARY },
        force: { safety_identifier: CANARY },
        quota: { kind: "litellm", url: `https://a.example/q?key=${CANARY}` },
      })],
      identity: [
        identityFile({
          jwks_url: `https://me:${CANARY}@a.example/k?${CANARY}`,
        }),
      ],
    })),
  );
  const description = describeConfig(config);
  assert.doesNotMatch(description, /CANARY/);
  assert.match(description, /auth: 'bearer, key set'/);
  assert.match(description, /- x-key/);
  assert.match(description, /- safety_identifier/);
  assert.match(description, /url: 'https:\/\/a\.example\/q'/);
  assert.match(description, /keys: 'https:\/\/a\.example\/k'/);
});
