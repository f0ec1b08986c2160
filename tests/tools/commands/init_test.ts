import assert from "node:assert/strict";
import { z } from "zod";
import { runInit } from "../../../src/tools/commands/init.ts";
import { SERVICE_NAMES, SERVICES } from "../../../src/services/services.ts";
import { schemaFaults } from "../../support/gateway/config_schema.ts";
import type { loadConfig } from "../../../src/gateway/config/load.ts";
import {
  configOf,
  connectionFile,
  loadText,
  minimalFile,
  problemsOf,
  tokenFile,
  warningsOf,
} from "../../support/gateway/config.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { readPages } from "../../support/program/pages.ts";
import { parseYaml } from "../../support/yaml.ts";
import { steps } from "../../support/steps.ts";

type LoadContext = Parameters<typeof loadConfig>[1];

async function init(...services: readonly string[]) {
  const io = createMemoryIo();
  const code = await runInit(services, io);
  return { code, written: io.written(), complained: io.complained() };
}

const pricesSchema = z.object({
  models: z.array(z.object({
    id: z.string(),
    price: z.record(z.string(), z.unknown()),
  })),
});

/** Returns the models in the text of a configuration. */
function listed(yaml: unknown) {
  return pricesSchema.parse(yaml).models;
}

/** A file system in which every key file has a key, and the token file a token. */
const FILES: Partial<LoadContext> = {
  readFile: (path) =>
    Promise.resolve(
      path.startsWith("keys/")
        ? "key\n"
        : JSON.stringify({ tokens: [tokenFile()] }),
    ),
  listFiles: (pattern) => Promise.resolve([pattern.replace("*", "staff")]),
};

Deno.test("init prints a file for each service, which is valid once its key files are written", (t) =>
  steps(t, SERVICE_NAMES, async (service) => {
    const { code, written, complained } = await init(service);
    assert.equal(code, 0);
    assert.equal(complained, "");
    const result = await loadText(written, FILES);
    const warnings = warningsOf(result);
    assert.equal(warnings.length, service === "codex" ? 1 : 0);
    assert.match(warnings.join(), service === "codex" ? /ChatGPT/ : /^$/);
    const [connection, ...others] = configOf(result).connections;
    assert.equal(connection?.service, service);
    assert.equal(connection.models.length, 1);
    assert.deepEqual(others, []);
    assert.deepEqual(schemaFaults(parseYaml(written)), []);
  }));

Deno.test("init prints the list prices of docs/reference/prices.md as comments", async () => {
  const page = (await readPages()).get("docs/reference/prices.md") ?? "";
  const blocks = [...page.matchAll(/^```yaml\n([^]*?)^```$/gm)]
    .map(([, yaml = ""]) => yaml);
  const dates = new Map(
    [...page.matchAll(/^ {2}# .*?(\d{4}-\d\d-\d\d).*\n {2}- id: (.*)$/gm)]
      .map(([, date, id]) => [id, date]),
  );
  const models = blocks.flatMap((yaml) => listed(parseYaml(yaml)));
  assert.equal(dates.size, models.length);
  const connections = [connectionFile({ models })];
  configOf(await loadText(JSON.stringify(minimalFile({ connections }))));
  const { written } = await init(...SERVICE_NAMES);
  const comments = [
    ...written.matchAll(/price of (.*?)\. .*\n +# - (\{ id: .*\})$/gm),
  ];
  assert.ok(comments.length > 4);
  for (const [, date, yaml = ""] of comments) {
    const [printed] = listed({ models: [parseYaml(yaml)] });
    const { rates: _, ...price } = models.find(({ id }) => id === printed?.id)
      ?.price ?? {};
    assert.deepEqual(printed?.price, price);
    assert.equal(dates.get(printed?.id), date);
  }
});

Deno.test("init prints the variables in the addresses of a service", async () => {
  const { written } = await init("vertex");
  assert.match(written, /# chat at https:\/\/\{region\}-aiplatform\.google/);
});

Deno.test("init prints one file for all services, each with its own key file and variables", async () => {
  const { written } = await init(...SERVICE_NAMES);
  const config = configOf(await loadText(written, FILES));
  assert.deepEqual(
    config.connections.map(({ service }) => service),
    SERVICE_NAMES,
  );
  const withKeys = SERVICE_NAMES.filter((service) =>
    !SERVICES[service].isKeyOptional || service === "litellm"
  );
  for (
    const form of [/key: "\$\{(\w+)\}"/g, /^ {4}auth: \{ key_file: (\S+)/gm]
  ) {
    const named = [...written.matchAll(form)].map(([, name]) => name);
    assert.equal(named.length, new Set(named).size);
    assert.equal(named.length, withKeys.length);
  }
});

Deno.test("a file of init has one clear problem each for a missing key file and a missing folder", async () => {
  const absent = () => Promise.reject(new Deno.errors.NotFound());
  const result = await loadText((await init("zai")).written, {
    readFile: absent,
    listFiles: absent,
  });
  assert.deepEqual(problemsOf(result), [
    "include[0]: names a folder that does not exist.",
    "connections[0].auth.key_file: names a file that does not exist. Create it, or name another: a path such as keys/anthropic begins at the folder of this file.",
  ]);
});

Deno.test("init rejects", async (t) => {
  const cases = [
    [
      [],
      /: no service is named\.\nThe services are:\n {2}model makers:\n {4}zai, .* {2}clouds:\n {4}azure, .* {2}others:\n {4}gateway, custom\.?\n/s,
    ],
    [["zia"], /: there is no service zia\. Did you mean "zai"\?\n/],
    [["copilot"], /: there is no service copilot\.\n/],
    [["zai", "zai"], /: zai is named twice\. Name it once and copy its conn/],
    [["--force"], /: there is no option --force\.\n/],
  ] as const;
  for (const [services, complaint] of cases) {
    await t.step(services.join(" ") || "nothing", async () => {
      const { code, written, complained } = await init(...services);
      assert.equal(code, 2);
      assert.equal(written, "");
      assert.match(complained, complaint);
    });
  }
});
