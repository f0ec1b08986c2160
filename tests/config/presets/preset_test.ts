import assert from "node:assert/strict";
import { fillVariables } from "../../../src/config/presets/preset.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../../support/gateway/config.ts";

const BARE = { family: undefined, endpoints: undefined };

const load = (overrides: Readonly<Record<string, unknown>>) =>
  loadFile(
    minimalFile({ connections: [connectionFile({ ...BARE, ...overrides })] }),
  );

async function endpointsOf(overrides: Readonly<Record<string, unknown>>) {
  return configOf(await load(overrides)).connections[0]?.endpoints;
}

Deno.test("a variable becomes a part of every address of its service", async () => {
  assert.deepEqual(
    await endpointsOf({ service: "bedrock", region: "eu-central-1" }),
    { chat: "https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1" },
  );
});

Deno.test("the region global of Vertex is not a part of the host", async () => {
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

Deno.test("fillVariables() keeps variables without a value, and words that are no variable", () => {
  assert.equal(
    fillVariables("https://{region}.{other}.example", {}),
    "https://{region}.{other}.example",
  );
});

Deno.test("a preset's endpoints are those that the connection's family can use", async () => {
  assert.deepEqual(
    await endpointsOf({ service: "xai", family: "C" }),
    { responses: "https://api.x.ai/v1" },
  );
});

Deno.test("a self-hosted server needs no key, and gets one as a bearer token if there is one", async () => {
  const authOf = async (auth: unknown) =>
    configOf(await load({ service: "ollama", auth })).connections[0]?.auth;
  assert.deepEqual(await authOf(undefined), { scheme: "none" });
  assert.deepEqual(await authOf({ key: "k" }), { scheme: "bearer", key: "k" });
});

const LABEL =
  "must have only letters, digits and inner hyphens, such as eu-central-1.";
const LISTED =
  "must be one value of the list, of printable ASCII without spaces or commas.";

const PROBLEMS: readonly (readonly [Record<string, unknown>, string])[] = [
  [
    { service: "bedrock" },
    "region: is missing. `service: bedrock` needs it.",
  ],
  [
    { service: "zai", region: "eu" },
    "region: has no meaning for `service: zai`. Remove it.",
  ],
  // Each would lead the key to another host, or to another path.
  ...["evil.example/", "a.b", "a@b", "a#", "-a", "a?b", "a%2f", ""].map((
    region,
  ): [Record<string, unknown>, string] => [
    { service: "bedrock", region },
    `region: ${LABEL}`,
  ]),
  [
    { service: "aws-claude", region: "us-west-2" },
    "headers.anthropic-workspace-id: is missing. `service: aws-claude` needs it.",
  ],
  [
    { headers_drop: { "anthropic-beta": ["a,b"] } },
    `headers_drop.anthropic-beta[0]: ${LISTED}`,
  ],
  [
    { headers_drop: { "anthropic-beta": [] } },
    "headers_drop.anthropic-beta: must not be empty.",
  ],
  [
    { headers_drop: { "X-Beta": ["a"], "x-beta": ["b"] } },
    "headers_drop.x-beta: appears twice. Upper and lower case are the same.",
  ],
  [
    { headers: { "X-Beta": "a" }, headers_drop: { "x-beta": ["a"] } },
    "headers_drop.x-beta: is also in headers. Remove one of them.",
  ],
  [
    { headers_drop: { "authorization": ["a"] } },
    "headers_drop.authorization: holds the credential of auth. Remove it.",
  ],
  [
    { headers_drop: { "content-type": ["a"] } },
    "headers_drop.content-type: is a header that the gateway sets itself. Remove it.",
  ],
];

Deno.test("check reports problems of a preset's variables and of headers_drop", async (t) => {
  for (const [overrides, problem] of PROBLEMS) {
    await t.step(`${JSON.stringify(overrides)}: ${problem}`, async () => {
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
  }
});

Deno.test("check warns about a variable beside own addresses, which has no effect", async () => {
  const result = await load({
    service: "bedrock",
    region: "eu-central-1",
    endpoints: { chat: "https://vpce.example/openai/v1" },
  });
  assert.deepEqual(warningsOf(result), [
    "connections[0].region: has no effect: endpoints has whole addresses.",
  ]);
});
