import assert from "node:assert/strict";
import {
  connectionFile,
  describedFile,
  loadFile,
  loadText,
  minimalConfig,
  minimalFile,
  problemsOf,
  tokenFile,
} from "../../support/gateway/config.ts";
import { identityFile } from "../../support/gateway/identity_scene.ts";
import { SERVICE_NAMES, SERVICES } from "../../../src/services/services.ts";
import { fillVariables, variablesOf } from "../../../src/services/preset.ts";
import { QUOTA_KINDS } from "../../../src/services/quota_kinds.ts";
import { steps } from "../../support/steps.ts";

const CANARY = "sk-CANARY-0123456789";

/** A key in the wrong place of the file. */
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

Deno.test("no problem quotes a key in", (t) =>
  steps(t, Object.entries(MISPLACED), async ([, file]) => {
    const result = await loadFile(file);
    assert.ok("problems" in result);
    assert.ok(result.problems.length > 0);
    assert.doesNotMatch(JSON.stringify(result), /CANARY/);
  }));

Deno.test("no problem quotes an invalid line of YAML", async () => {
  const result = await loadText(
    `connections:\n  - auth: { key: "${CANARY} }\n`,
  );
  assert.ok("problems" in result);
  assert.doesNotMatch(JSON.stringify(result), /CANARY/);
});

Deno.test("check hides keys, header values and forced values", async () => {
  const description = await describedFile({
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
  });
  assert.doesNotMatch(description, /CANARY/);
  assert.match(description, /auth:\n +scheme: bearer\n +key: hidden\n/);
  assert.match(description, /x-key: hidden/);
  assert.match(description, /safety_identifier: hidden/);
  assert.match(description, /url: https:\/\/a\.example\/q$/m);
  assert.match(description, /jwks_url: https:\/\/a\.example\/k$/m);
});

Deno.test("a connection of a preset needs only a name, a key, models, and the service's variables and headers", async (t) => {
  for (const service of SERVICE_NAMES) {
    if (service === "custom" || service === "gateway") continue;
    await t.step(service, async () => {
      const preset = SERVICES[service];
      const variables = Object.fromEntries(
        variablesOf(preset).map((name) => [name, `my-${name}`]),
      );
      const config = await minimalConfig({
        connections: [{
          name: "main",
          service,
          ...variables,
          headers: Object.fromEntries(
            preset.requiredHeaders.map((name) => [name, "1"]),
          ),
          auth: { key: "k" },
          models: ["m"],
        }],
      });
      const [connection] = config.connections;
      assert.equal(connection?.family, preset.family);
      assert.deepEqual(
        connection?.endpoints,
        Object.fromEntries(
          Object.entries(preset.endpoints).map(([endpoint, url]) => [
            endpoint,
            fillVariables(url, variables),
          ]),
        ),
      );
      assert.equal(connection?.auth.scheme, preset.authScheme);
      assert.equal(
        connection?.quota?.kind,
        preset.quotaKind === "none" ? undefined : preset.quotaKind,
      );
      assert.equal(connection?.streamOnly, service === "codex");
    });
  }
});

Deno.test("a configured endpoint replaces all endpoints of the service", async () => {
  const config = await minimalConfig({
    connections: [connectionFile({
      service: "zai",
      endpoints: { chat: "https://proxy.example/v4" },
    })],
  });
  assert.deepEqual(config.connections[0]?.endpoints, {
    chat: "https://proxy.example/v4",
  });
});

Deno.test("a connection may override every setting of its service", async () => {
  const config = await minimalConfig({
    connections: [connectionFile({
      service: "openrouter",
      family: "B",
      endpoints: { messages: "https://openrouter.ai/api/v1" },
      auth: { scheme: "x-api-key", key: "k" },
      stream_only: true,
      quota: { kind: "litellm", url: "https://a.example/q?x=1" },
    })],
  });
  const [connection] = config.connections;
  assert.equal(connection?.family, "B");
  assert.deepEqual(connection?.auth, { scheme: "x-api-key", key: "k" });
  assert.equal(connection?.streamOnly, true);
  assert.deepEqual(connection?.quota, {
    kind: "litellm",
    plan: "personal",
    organization: undefined,
    project: undefined,
    url: "https://a.example/q?x=1",
    key: undefined,
    json: undefined,
  });
});

Deno.test("`kind: none` disables the reading of a quota", async () => {
  const config = await minimalConfig({
    connections: [connectionFile({ service: "zai", quota: { kind: "none" } })],
  });
  assert.equal(config.connections[0]?.quota, undefined);
});

Deno.test("a connection's force and omit add to its service's force and omit", async () => {
  const config = await minimalConfig({
    connections: [{
      name: "main",
      service: "codex",
      auth: { key: "k" },
      force: { store: true, service_tier: "priority" },
      omit: ["temperature", "verbosity"],
      models: ["m"],
    }],
  });
  const [connection] = config.connections;
  assert.deepEqual(connection?.force, {
    store: true,
    service_tier: "priority",
  });
  assert.deepEqual(connection?.omit, [...SERVICES.codex.omit, "verbosity"]);
});

Deno.test("a service without a preset is a problem with an instruction, even if its quota has a reader", async (t) => {
  const services: readonly string[] = SERVICE_NAMES;
  const kinds = QUOTA_KINDS.filter((kind) => !services.includes(kind));
  assert.ok(kinds.includes("new-api") && kinds.includes("copilot"));
  await steps(t, kinds, async (kind) => {
    const connections = [connectionFile({ service: kind })];
    assert.deepEqual(
      problemsOf(await loadFile(minimalFile({ connections }))),
      [
        "connections[0].service: is a kind of quota, not a service. " +
        `Write \`service: custom\` with \`quota: { kind: ${kind} }\`.`,
      ],
    );
  });
});
