import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { variablesOf } from "../../../src/config/presets/preset.ts";
import type { QuotaKind } from "../../../src/config/quota_kinds.ts";
import {
  SERVICE_NAMES,
  type ServiceName,
  SERVICES,
} from "../../../src/config/services.ts";
import { starterFile } from "../../../src/config/starter.ts";
import {
  configOf,
  loadFile,
  minimalFile,
  warningsOf,
} from "../../support/gateway/config.ts";
import { schemaFaults } from "../../support/gateway/config_schema.ts";
import { parseYaml } from "../../support/yaml.ts";

const PAGE = await Deno.readTextFile(
  new URL("../../../docs/providers.md", import.meta.url),
);

const ENTRIES = [...PAGE.matchAll(/^```yaml\n([^]*?)^```$/gm)]
  .map(([, text = ""]) => text);

const WORDS = {
  chat: "Chat",
  messages: "Messages",
  responses: "Responses",
  completions: "completions",
} as const;

const QUOTAS: Readonly<Partial<Record<QuotaKind, string>>> = {
  none: "nothing",
  headers: "its response headers",
  openai: "its response headers",
  groq: "its response headers",
  anthropic: "its endpoint or headers",
};

/** The cells of a service behind its name and its provider. */
function cellsOf(service: ServiceName): string[] {
  const preset = SERVICES[service];
  const { family, endpoints, authScheme, isKeyOptional, quotaKind } = preset;
  const words = Object.entries(WORDS)
    .filter(([endpoint]) => endpoint in endpoints)
    .map(([, word]) => word);
  const scheme = authScheme && `\`${authScheme}\``;
  return [
    family ?? "as configured",
    words.join(", ") || "as configured",
    isKeyOptional ? `none, or ${scheme}` : scheme ?? "as configured",
    [...variablesOf(preset), ...preset.requiredHeaders]
      .map((name) => `\`${name}\``).join(", "),
    QUOTAS[quotaKind] ?? "its endpoint",
  ];
}

Deno.test("the page of providers has a row for each service, with the facts of its preset", () => {
  const rows = [...PAGE.matchAll(/^\| (`.*) \|$/gm)].map(([, row = ""]) => {
    const [service, provider, ...cells] = row.split("|")
      .map((cell) => cell.trim());
    assert.notEqual(provider, "");
    return [service, ...cells];
  });
  assert.deepEqual(
    rows,
    SERVICE_NAMES.map((service) => [`\`${service}\``, ...cellsOf(service)]),
  );
});

Deno.test("each entry on the page of providers is valid as pasted, without a warning except that of plans", async (t) => {
  const found = new Set<unknown>();
  for (const text of ENTRIES) {
    const connections = parseYaml(text, { schema: "core" });
    assert.ok(Array.isArray(connections) && connections.length === 1);
    const file = minimalFile({ connections });
    await t.step(String(connections[0]?.name), async () => {
      const result = await loadFile(file, {
        env: () => "key",
        readFile: () => Promise.resolve("key"),
      });
      const [connection] = configOf(result).connections;
      assert.match(
        warningsOf(result).join(),
        connection?.service === "codex" ? /^\S+ serves every caller/ : /^$/,
      );
      assert.deepEqual(schemaFaults(file), []);
      found.add(connection?.service);
    });
  }
  assert.deepEqual(SERVICE_NAMES.filter((name) => !found.has(name)), []);
});

Deno.test("the page has the entry that init prints for each service, with the key in a file", () => {
  const entries = ENTRIES.map((text) => parseYaml(text, { schema: "core" }));
  for (const service of SERVICE_NAMES) {
    const { connections } = Object(
      parseYaml(starterFile([service]), { schema: "core" }),
    );
    const found = entries.some((entry) =>
      isDeepStrictEqual(entry, connections)
    );
    assert.ok(found, `Paste this: ${JSON.stringify(connections)}`);
  }
  for (const text of ENTRIES) assert.doesNotMatch(text, /\$\{/);
});
