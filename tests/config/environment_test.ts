import assert from "node:assert/strict";
import { expandVariables } from "../../src/config/environment.ts";
import {
  loadFile,
  minimalFile,
  problemsOf,
} from "../support/gateway/config.ts";
import { connectionFile, minimalConfig } from "../support/gateway/config.ts";

const VARIABLES: Readonly<Record<string, string>> = {
  KEY: "secret",
  EMPTY: "",
  NESTED: "${KEY}",
  PORT: "9000",
  OFF: "false",
};

function expand(text: string): { text: string; messages: string[] } {
  const messages: string[] = [];
  const expanded = expandVariables(text, {
    env: (name) => VARIABLES[name],
    report: (message) => messages.push(message),
  });
  return { text: expanded, messages };
}

const EXPANSIONS: Readonly<Record<string, string>> = {
  "${KEY}": "secret",
  "a-${KEY}-b-${PORT}": "a-secret-b-9000",
  "$${KEY}": "${KEY}",
  "$$${KEY}": "$${KEY}",
  "$KEY {KEY} $ $$": "$KEY {KEY} $ $$",
  "${NESTED}": "${KEY}",
  "": "",
};

Deno.test("expandVariables() makes", async (t) => {
  for (const [text, expected] of Object.entries(EXPANSIONS)) {
    await t.step(`${text} into ${expected}`, () => {
      assert.deepEqual(expand(text), { text: expected, messages: [] });
    });
  }
});

Deno.test("expandVariables() names each variable that is unset or empty", () => {
  assert.deepEqual(expand("${NO_ONE}/${EMPTY}"), {
    text: "${NO_ONE}/${EMPTY}",
    messages: [
      "needs the environment variable NO_ONE, which is not set.",
      "needs the environment variable EMPTY, which is empty.",
    ],
  });
});

Deno.test("expandVariables() rejects a reference that is no name, without quoting it", async (t) => {
  for (const text of ["${}", "${A-B}", "${KEY:-x}", "${1A}", "${KEY", "x${"]) {
    await t.step(text, () => {
      const { messages } = expand(text);
      assert.deepEqual(messages, [
        "holds a ${ that names no environment variable. Write ${NAME}, or $${ for the characters themselves.",
      ]);
    });
  }
});

Deno.test("loadConfig() accepts variables for numbers and booleans", async () => {
  const config = await minimalConfig({
    server: { port: "${PORT}" },
    connections: [connectionFile({ enabled: "${OFF}" })],
  }, { env: (name) => VARIABLES[name] });
  assert.equal(config.server.port, 9000);
  assert.equal(config.connections[0]?.enabled, false);
});

Deno.test("loadConfig() reports an unset variable once, and no consequence of it", async () => {
  const file = minimalFile({
    server: { port: "${UNSET}", host: "${UNSET}" },
    connections: [
      connectionFile({
        id: "${UNSET}",
        endpoints: { chat: "${UNSET}" },
        headers: { "x-a": "${UNSET}" },
      }),
    ],
  });
  assert.deepEqual(
    problemsOf(await loadFile(file)).map((problem) => problem.split(":")[0]),
    [
      "connections[0].endpoints.chat",
      "connections[0].id",
      "connections[0].headers.x-a",
      "server.port",
      "server.host",
    ],
  );
});
