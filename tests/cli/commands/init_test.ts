import assert from "node:assert/strict";
import { runInit } from "../../../src/cli/commands/init.ts";
import { SERVICE_NAMES, SERVICES } from "../../../src/config/services.ts";
import { parseYaml } from "../../../src/core/std.ts";
import { schemaFaults } from "../../support/gateway/config_schema.ts";
import { configOf, loadText } from "../../support/gateway/config.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";

function init(...services: readonly string[]) {
  const io = createMemoryIo();
  const code = runInit(services, io);
  return { code, written: io.written(), complained: io.complained() };
}

/** Every variable has a value that could stand there. */
const env = (name: string) => name.endsWith("SHA256") ? "a".repeat(64) : "key";

Deno.test("init prints a file for each service, which is valid once its variables are set", async (t) => {
  for (const service of SERVICE_NAMES) {
    await t.step(service, async () => {
      const { code, written, complained } = init(service);
      assert.equal(code, 0);
      assert.equal(complained, "");
      const result = await loadText(written, { env });
      assert.ok(!("warnings" in result) || result.warnings.length === 0);
      const [connection, ...others] = configOf(result).connections;
      assert.equal(connection?.service, service);
      assert.equal(connection.models.length, 1);
      assert.deepEqual(others, []);
      assert.deepEqual(schemaFaults(parseYaml(written)), []);
    });
  }
});

Deno.test("init prints one file for all services, whose variables differ", async () => {
  const { written } = init(...SERVICE_NAMES);
  const config = configOf(await loadText(written, { env }));
  assert.deepEqual(
    config.connections.map(({ service }) => service),
    SERVICE_NAMES,
  );
  const named = [...written.matchAll(/^ {4}auth: \{ key: "\$\{(\w+)\}"/gm)].map(
    ([, name]) => name,
  );
  const withKeys = SERVICE_NAMES.filter((service) =>
    !SERVICES[service].isKeyOptional || service === "litellm"
  );
  assert.equal(named.length, new Set(named).size);
  assert.equal(named.length, withKeys.length);
});

Deno.test("a file of init says which variables it lacks, before they are set", async () => {
  const result = await loadText(init("zai").written);
  assert.ok("problems" in result);
  assert.deepEqual(result.problems.map(({ message }) => message), [
    "needs the environment variable ZAI_API_KEY, which is not set.",
    "needs the environment variable ALICE_SHA256, which is not set.",
  ]);
});

Deno.test("init refuses", async (t) => {
  const cases = [
    [[], /: no service is named\.\nThe services are zai, .*custom\.\n/s],
    [["zia"], /: there is no service zia\. Did you mean "zai"\?\n/],
    [["copilot"], /: there is no service copilot\.\n/],
    [["zai", "zai"], /: zai is named twice\. Name it once and copy its conn/],
    [["--force"], /: there is no option --force\.\n/],
  ] as const;
  for (const [services, complaint] of cases) {
    await t.step(services.join(" ") || "nothing", () => {
      const { code, written, complained } = init(...services);
      assert.equal(code, 2);
      assert.equal(written, "");
      assert.match(complained, complaint);
    });
  }
});
