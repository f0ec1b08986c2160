import assert from "node:assert/strict";
import { SERVICE_NAMES, SERVICES } from "../../src/config/services.ts";
import { fillVariables, variablesOf } from "../../src/config/presets/preset.ts";
import { QUOTA_KINDS } from "../../src/config/quota_kinds.ts";
import {
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
} from "../support/gateway/config.ts";

Deno.test("every service with a preset needs a name, a key, its variables and its headers, and models only", async (t) => {
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

Deno.test("an own endpoint replaces all of the service's, so that no key goes elsewhere", async () => {
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

Deno.test("a connection may override everything of its service", async () => {
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

Deno.test("`kind: none` turns the reading of a quota off", async () => {
  const config = await minimalConfig({
    connections: [connectionFile({ service: "zai", quota: { kind: "none" } })],
  });
  assert.equal(config.connections[0]?.quota, undefined);
});

Deno.test("force and omit add to those of the service", async () => {
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

Deno.test("a service with only a kind of quota is a problem with an instruction", async (t) => {
  const services: readonly string[] = SERVICE_NAMES;
  const kinds = QUOTA_KINDS.filter((kind) => !services.includes(kind));
  assert.ok(kinds.includes("new-api") && kinds.includes("copilot"));
  for (const kind of kinds) {
    await t.step(kind, async () => {
      const connections = [connectionFile({ service: kind })];
      assert.deepEqual(
        problemsOf(await loadFile(minimalFile({ connections }))),
        [
          "connections[0].service: is a kind of quota, not a service. " +
          `Write \`service: custom\` with \`quota: { kind: ${kind} }\`.`,
        ],
      );
    });
  }
});
