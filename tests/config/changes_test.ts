import assert from "node:assert/strict";
import { configChanges } from "../../src/config/changes.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  tokenFile,
} from "../support/gateway/config.ts";

async function changesTo(
  file: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>> = {},
) {
  const load = async (one: Readonly<Record<string, unknown>>) =>
    configOf(await loadFile(minimalFile(one)));
  return configChanges(await load(before), await load(file));
}

const NONE = { added: [], removed: [], changed: [] };

Deno.test("configChanges() returns paths of names for what was added, removed and changed, and no values", async () => {
  const connection = connectionFile({ name: "GLM", models: ["a", "b"] });
  const base = {
    connections: [connection],
    tokens: [tokenFile({ name: "alice" })],
  };
  const cases: readonly (readonly [
    Record<string, unknown>,
    Partial<typeof NONE | Record<string, readonly string[]>>,
  ])[] = [
    [{}, {}],
    [{ messages_vendor: "other" }, { changed: ["messages_vendor"] }],
    [{
      connections: [connectionFile({ name: "GLM", models: ["a", "c"] })],
    }, {
      added: ["connections[GLM].models[c]"],
      removed: ["connections[GLM].models[b]"],
    }],
    [{
      connections: [{
        ...connection,
        auth: { scheme: "bearer", key: "sk-new" },
      }],
    }, { changed: ["connections[GLM].auth.key"] }],
    [{
      tokens: [
        tokenFile({ name: "alice" }),
        tokenFile({ name: "bob", sha256: "b".repeat(64) }),
      ],
    }, { added: ["tokens[bob]"] }],
    [{
      tokens: [tokenFile({ name: "alice", sha256: "c".repeat(64) })],
    }, { changed: ["tokens[alice].values"] }],
    [{
      tokens: [tokenFile({ name: "alice", max_concurrent: 3 })],
    }, { changed: ["tokens[alice].max_concurrent"] }],
  ];
  for (const [change, expected] of cases) {
    const found = await changesTo({ ...base, ...change }, base);
    assert.deepEqual(found, { ...NONE, ...expected });
    assert.doesNotMatch(JSON.stringify(found), /sk-new|ccc/);
  }
});

Deno.test("configChanges() returns a hundred paths of a kind at most, with the number of the others", async () => {
  const tokens = Array.from(
    { length: 120 },
    (_, index) =>
      tokenFile({
        name: `t-${index}`,
        sha256: String(index).padStart(64, "0"),
      }),
  );
  const { added } = await changesTo({ tokens }, { tokens: tokens.slice(0, 1) });
  assert.equal(added.length, 101);
  assert.equal(added.at(-1), "19 more");
});
