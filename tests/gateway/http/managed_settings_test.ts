import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";

// The settings that Claude Code reads after a sign-in, as in npm's `@anthropic-ai/claude-code` 2.1.332.

const BOB = "bob-token";
const CAROL = "carol-token";

const file = () =>
  minimalFile({
    connections: [
      connectionFile({
        name: "one",
        models: [
          { id: "small", context_window: 131_072, display_name: "The small" },
          { id: "large", context_window: 1_000_000 },
        ],
      }),
      connectionFile({
        name: "two",
        family: "C",
        endpoints: { responses: "http://127.0.0.1:9/v1" },
      }),
    ],
    tokens: [
      tokenFile({ connections: ["one"] }),
      tokenFile({
        name: "bob",
        sha256: sha256Hex(BOB),
        models: ["large"],
      }),
      tokenFile({
        name: "carol",
        sha256: sha256Hex(CAROL),
        connections: ["two"],
      }),
    ],
  });

const of = (token: string, headers: Record<string, string> = {}) => ({
  headers: { authorization: `Bearer ${token}`, ...headers },
});

/** Returns the checksum that the client computes: of all keys sorted, without white space. */
function checksumOf(settings: unknown): string {
  const sorted = JSON.stringify(
    settings,
    (_, value) =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.fromEntries(
          Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1),
        )
        : value,
  );
  return `sha256:${createHash("sha256").update(sorted).digest("hex")}`;
}

Deno.test("managed settings have the caller's models and their context windows", async () => {
  await using gateway = await startGateway(file());
  const response = await gateway.call("/managed/settings", of(ALICE_TOKEN));
  assert.equal(response.status, 200);
  const body = await response.json();
  assert.deepEqual(Object.keys(body).sort(), ["checksum", "settings", "uuid"]);
  assert.deepEqual(body.settings, {
    availableModels: ["small", "large"],
    modelPicker: {
      options: [
        {
          model: "small",
          label: "The small",
          behavesAs: "claude-sonnet-4-6",
        },
        { model: "large" },
      ],
      replaceBuiltInOptions: true,
    },
    env: {
      ANTHROPIC_DEFAULT_MODEL: "small",
      ANTHROPIC_DEFAULT_OPUS_MODEL: "small",
      ANTHROPIC_DEFAULT_HAIKU_MODEL: "small",
      ANTHROPIC_DEFAULT_FABLE_MODEL: "small",
      CLAUDE_CODE_AUTO_COMPACT_WINDOW: "131072",
      CLAUDE_CODE_AUTO_MODE_SERVER: "0",
    },
  });
  const bob = await gateway.call("/managed/settings", of(BOB));
  const { settings } = await bob.json();
  assert.deepEqual(settings.modelPicker.options, [{ model: "large" }]);
  assert.equal(settings.env.ANTHROPIC_DEFAULT_MODEL, "large");
});

Deno.test("managed settings have the client's own checksum, and are not sent again while it matches", async () => {
  await using gateway = await startGateway(file());
  const path = "/managed/settings";
  const first = await gateway.call(path, of(ALICE_TOKEN));
  const { checksum, settings } = await first.json();
  assert.equal(checksum, checksumOf(settings));
  assert.equal(first.headers.get("etag"), `"${checksum}"`);
  const known = { "if-none-match": `"${checksum}"` };
  const again = await gateway.call(path, of(ALICE_TOKEN, known));
  assert.equal(again.status, 304);
  assert.equal(await again.text(), "");
  for (
    const other of [of(ALICE_TOKEN, { "if-none-match": "*" }), of(BOB, known)]
  ) {
    const response = await gateway.call(path, other);
    assert.equal(response.status, 200);
    await response.body?.cancel();
  }
});

Deno.test("managed settings need a token, and do not exist for a caller without models", async () => {
  await using gateway = await startGateway(file());
  for (const [init, status] of [[{}, 401], [of(CAROL), 404]] as const) {
    const response = await gateway.call("/managed/settings", init);
    assert.equal(response.status, status);
    await response.body?.cancel();
  }
});
