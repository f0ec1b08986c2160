import assert from "node:assert/strict";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  problemsOf,
} from "../../support/gateway/config.ts";

const connection = (overrides: Record<string, unknown>) =>
  minimalFile({ connections: [connectionFile(overrides)] });

async function loadKeyFile(text: string | Error) {
  const asked: string[] = [];
  const result = await loadFile(
    connection({ auth: { scheme: "bearer", key_file: "keys/zai" } }),
    {
      readFile: (path) => {
        asked.push(path);
        return typeof text === "string"
          ? Promise.resolve(text)
          : Promise.reject(text);
      },
    },
  );
  return { result, asked };
}

Deno.test("a key may come from a file, less the white space around it", async () => {
  const { result, asked } = await loadKeyFile("  sk-1\r\n");
  assert.deepEqual(configOf(result).connections[0]?.auth, {
    scheme: "bearer",
    key: "sk-1",
  });
  assert.deepEqual(asked, ["keys/zai"]);
});

Deno.test("`scheme: none` needs no key", async () => {
  const result = await loadFile(connection({ auth: { scheme: "none" } }));
  assert.deepEqual(configOf(result).connections[0]?.auth, { scheme: "none" });
});

Deno.test("a key without a scheme is a bearer's, where the service says nothing else", async () => {
  for (const service of ["custom", "anthropic"]) {
    const file = connection({ service, auth: { key: "k" } });
    assert.deepEqual(configOf(await loadFile(file)).connections[0]?.auth, {
      scheme: service === "custom" ? "bearer" : "x-api-key",
      key: "k",
    });
  }
  const file = connection({ auth: { key_file: "keys/one" } });
  const result = await loadFile(file, { readFile: () => Promise.resolve("k") });
  assert.deepEqual(configOf(result).connections[0]?.auth, {
    scheme: "bearer",
    key: "k",
  });
});

const HOW = "give a key, or `scheme: none` for an upstream without one";
const BAD_KEY =
  "must be a key of printable ASCII characters without spaces or line breaks";

const ROWS: readonly (readonly [Record<string, unknown>, string])[] = [
  [{ auth: undefined }, `connections[0].auth: is missing; ${HOW}`],
  [{ auth: {} }, `connections[0].auth.key: is missing; ${HOW}`],
  [
    { auth: { scheme: "bearer" } },
    `connections[0].auth.key: is missing; ${HOW}`,
  ],
  [
    { service: "zai", auth: undefined },
    `connections[0].auth.key: is missing; ${HOW}`,
  ],
  [
    { auth: { scheme: "none", key: "k" } },
    "connections[0].auth.key: must not stand beside `scheme: none`",
  ],
  [
    { auth: { scheme: "none", key_file: "k" } },
    "connections[0].auth.key_file: must not stand beside `scheme: none`",
  ],
  [
    { auth: { scheme: "bearer", key: "k", key_file: "k" } },
    "connections[0].auth.key_file: must not stand beside key",
  ],
  [
    { auth: { scheme: "bearer", key: "can\nary" } },
    `connections[0].auth.key: ${BAD_KEY}`,
  ],
  [
    { auth: { scheme: "bearer", key: "ключ" } },
    `connections[0].auth.key: ${BAD_KEY}`,
  ],
];

Deno.test("auth says", async (t) => {
  for (const [overrides, problem] of ROWS) {
    await t.step(problem, async () => {
      const result = await loadFile(connection(overrides));
      assert.deepEqual(problemsOf(result), [problem]);
    });
  }
});

Deno.test("a key file that holds no key is a problem of key_file", async () => {
  for (const text of ["", "\n", "two words", "two\nlines"]) {
    const { result } = await loadKeyFile(text);
    assert.deepEqual(problemsOf(result), [
      `connections[0].auth.key_file: ${BAD_KEY}`,
    ]);
  }
});

const REASONS: Readonly<Record<string, string>> = {
  NotFound: "does not exist",
  PermissionDenied: "may not be read by this user",
  NotCapable: "lies outside what this program is allowed to read",
  IsADirectory: "is a directory",
  TypeError: "is not UTF-8 text",
  Odd: "cannot be read",
};

Deno.test("a key file that cannot be read says why, in words of our own", async (t) => {
  for (const [name, reason] of Object.entries(REASONS)) {
    await t.step(name, async () => {
      const error = new Error("canary");
      error.name = name;
      const { result } = await loadKeyFile(error);
      assert.deepEqual(problemsOf(result), [
        `connections[0].auth.key_file: names a file that ${reason}`,
      ]);
    });
  }
});
