import assert from "node:assert/strict";
import { fillVariables } from "../../src/services/preset.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../support/gateway/config.ts";
import { SERVICE_NAMES } from "../../src/services/services.ts";
import { starterFile } from "../../src/services/starter.ts";
import { serviceEntries } from "../reference/services.ts";
import { schemaFaults } from "../support/gateway/config_schema.ts";
import { parseYaml } from "../support/yaml.ts";
import { steps } from "../support/steps.ts";
import { yamlTable } from "../support/yaml_table.ts";

const BARE = { family: undefined, endpoints: undefined };

const load = (overrides: Readonly<Record<string, unknown>>) =>
  loadFile(
    minimalFile({ connections: [connectionFile({ ...BARE, ...overrides })] }),
  );

async function endpointsOf(overrides: Readonly<Record<string, unknown>>) {
  return configOf(await load(overrides)).connections[0]?.endpoints;
}

Deno.test("a variable is inserted into every address of its service", async () => {
  assert.deepEqual(
    await endpointsOf({ service: "bedrock", region: "eu-central-1" }),
    { chat: "https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1" },
  );
});

Deno.test("the region global of Vertex does not appear in the host", async () => {
  const host = async (region: string) =>
    (await endpointsOf({ service: "vertex", project: "p1", region }))?.chat;
  assert.equal(
    await host("global"),
    "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/endpoints/openapi",
  );
  assert.equal(
    await host("us-central1"),
    "https://us-central1-aiplatform.googleapis.com/v1/projects/p1/locations/us-central1/endpoints/openapi",
  );
});

// The hosts of npm `@anthropic-ai/vertex-sdk` 1.1.3, client.mjs.
Deno.test("each multi-region of Vertex has its own host", async () => {
  for (
    const [region, host] of [
      ["global", "aiplatform.googleapis.com"],
      ["us", "aiplatform.us.rep.googleapis.com"],
      ["eu", "aiplatform.eu.rep.googleapis.com"],
      ["us-east5", "us-east5-aiplatform.googleapis.com"],
    ] as const
  ) {
    const found = await endpointsOf({
      ...{ service: "vertex-claude", family: undefined, auth: { key: "k" } },
      ...{ project: "p1", region },
    });
    assert.equal(
      found?.messages,
      `https://${host}/v1/projects/p1/locations/${region}/publishers/anthropic/models`,
    );
  }
});

Deno.test("fillVariables() keeps variables without a value, and other words in braces", () => {
  assert.equal(
    fillVariables("https://{region}.{other}.example", {}),
    "https://{region}.{other}.example",
  );
});

Deno.test("a preset has only endpoints that its connection's family can use", async () => {
  assert.deepEqual(
    await endpointsOf({ service: "xai", family: "C" }),
    { responses: "https://api.x.ai/v1" },
  );
});

Deno.test("a self-hosted server needs no key, and gets a configured key as a bearer token", async () => {
  const authOf = async (auth: unknown) =>
    configOf(await load({ service: "ollama", auth })).connections[0]?.auth;
  assert.deepEqual(await authOf(undefined), { scheme: "none" });
  assert.deepEqual(await authOf({ key: "k" }), { scheme: "bearer", key: "k" });
});

/** Values that would send the key to another host or path. */
const REGIONS = ["evil.example/", "a.b", "a@b", "a#", "-a", "a?b", "a%2f", ""];
const LABEL =
  "must have only letters, digits and inner hyphens, such as eu-central-1.";
const LISTED =
  "must be one value of the header's list: printable ASCII without spaces or commas.";

const PROBLEMS = yamlTable(`
{ service: bedrock } → region: is missing. \`service: bedrock\` needs it.
{ service: zai, project: eu } → project: has no meaning for \`service: zai\`. Remove it.
{ service: aws-claude, region: us-west-2 } → headers.anthropic-workspace-id: is missing. \`service:
  aws-claude\` needs it.
{ headers_drop: { anthropic-beta: ["a,b"] } } → headers_drop.anthropic-beta[0]: ${LISTED}
{ headers_drop: { anthropic-beta: [] } } → headers_drop.anthropic-beta: must not be empty.
{ headers_drop: { X-Beta: [a], x-beta: [b] } } → headers_drop.x-beta: appears twice. Upper and lower
  case are the same.
{ headers: { X-Beta: a }, headers_drop: { x-beta: [a] } } → headers_drop.x-beta: is also in headers.
  Remove one of them.
{ headers_drop: { authorization: [a] } } → headers_drop.authorization: holds the credential of auth.
  Remove it.
{ headers_drop: { content-type: [a] } } → headers_drop.content-type: is a header that the gateway
  sets itself. Remove it.
${
  REGIONS.map((region) =>
    `{ service: bedrock, region: "${region}" } → region: ${LABEL}`
  ).join("\n")
}
`);

Deno.test("check reports problems of a preset's variables and of headers_drop", async (t) => {
  await steps(t, PROBLEMS, async ([, overrides, problem]) => {
    const own = overrides.service === undefined
      ? {
        family: "A",
        endpoints: { chat: "http://127.0.0.1:9/v1" },
        ...overrides,
      }
      : overrides;
    assert.deepEqual(problemsOf(await load(own)), [
      `connections[0].${problem}`,
    ]);
  });
});

Deno.test("check warns that a variable has no effect beside the connection's own addresses", async () => {
  const result = await load({
    service: "azure",
    resource: "my-resource",
    endpoints: { responses: "https://azure.example/openai/v1" },
  });
  assert.deepEqual(warningsOf(result), [
    "connections[0].resource: has no effect: the addresses in endpoints are complete.",
  ]);
  const labelled = await load({
    service: "bedrock",
    region: "EU",
    endpoints: { chat: "https://vpce.example/openai/v1" },
  });
  assert.deepEqual(warningsOf(labelled), []);
});

const PAGES = await Promise.all(
  ["docs/providers.md", "docs/reference/services.md"].map((path) =>
    Deno.readTextFile(new URL(`../../${path}`, import.meta.url))
  ),
);

const ENTRIES = PAGES.flatMap((page) =>
  [...page.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, text = ""]) => text)
);

Deno.test("each entry on the pages of providers is valid as pasted, and only plans cause a warning", async (t) => {
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

Deno.test("the reference has each service's entry as init prints it, with the key in a file", () => {
  const entries = serviceEntries();
  for (const service of SERVICE_NAMES) {
    const { connections } = Object(
      parseYaml(starterFile([service]), { schema: "core" }),
    );
    const entry = parseYaml(entries.get(service) ?? "", { schema: "core" });
    assert.deepEqual(entry, connections);
  }
  for (const text of ENTRIES) assert.doesNotMatch(text, /\$\{/);
});
