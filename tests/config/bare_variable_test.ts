import assert from "node:assert/strict";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../support/gateway/config.ts";

const connection = (overrides: Record<string, unknown>) =>
  minimalFile({ connections: [connectionFile(overrides)] });

const MEANT = "only ${NAME} is replaced by an environment variable";
const IS = `is the name of a variable without braces; ${MEANT}`;
const HOLDS = `holds the name of a variable without braces; ${MEANT}`;

Deno.test("a text that is the name of a variable without braces is a problem", async (t) => {
  const cases: readonly (readonly [string, Record<string, unknown>])[] = [
    ["auth.key", { auth: { scheme: "bearer", key: "$ZAI_API_KEY" } }],
    ["auth.key", { auth: { scheme: "bearer", key: "$zai_key" } }],
    ["auth.key", { auth: { scheme: "bearer", key: "$(ZAI_API_KEY)" } }],
    ["quota.key", { quota: { kind: "litellm", key: "$KEY" } }],
    ["headers.x-team", { headers: { "x-team": "$TEAM" } }],
    ["name", { name: "$NAME" }],
  ];
  for (const [place, overrides] of cases) {
    await t.step(`${place} ${JSON.stringify(overrides)}`, async () => {
      const result = await loadFile(connection(overrides), {
        env: () => "value",
      });
      assert.deepEqual(problemsOf(result), [`connections[0].${place}: ${IS}`]);
    });
  }
});

Deno.test("within a text, and where a text may be anything, it is a warning", async (t) => {
  const cases: readonly (readonly [string, string, Record<string, unknown>])[] =
    [
      ["headers.x-a", HOLDS, { headers: { "x-a": "Bearer $TEAM_KEY" } }],
      ["endpoints.chat", HOLDS, {
        endpoints: { chat: "http://127.0.0.1:9/$REGION/v1" },
      }],
      ["force.user", IS, { force: { user: "$USER" } }],
    ];
  for (const [place, message, overrides] of cases) {
    await t.step(place, async () => {
      const result = await loadFile(connection(overrides));
      assert.deepEqual(warningsOf(result), [
        `connections[0].${place}: ${message}`,
      ]);
    });
  }
});

Deno.test("a dollar sign that names nothing passes, and so does what a variable holds", async (t) => {
  const keys: readonly (readonly [written: string, key: string])[] = [
    ["$2b$12$abc", "$2b$12$abc"],
    ["sk$KEY", "sk$KEY"],
    ["$$KEY", "$$KEY"],
    ["key$", "key$"],
    ["${KEY}", "$VALUE"],
  ];
  for (const [written, key] of keys) {
    await t.step(written, async () => {
      const file = connection({ auth: { scheme: "bearer", key: written } });
      const result = await loadFile(file, { env: () => "$VALUE" });
      assert.deepEqual(configOf(result).connections[0]?.auth, {
        scheme: "bearer",
        key,
      });
      assert.deepEqual(warningsOf(result), []);
    });
  }
});
