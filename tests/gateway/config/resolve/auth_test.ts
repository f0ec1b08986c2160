import assert from "node:assert/strict";
import { isCredential } from "../../../../src/gateway/config/resolve/auth.ts";
import {
  headerNameFault,
  isHeaderValue,
} from "../../../../src/gateway/config/resolve/headers.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../../../support/gateway/config.ts";
import { steps } from "../../../support/steps.ts";
import { yamlTable } from "../../../support/yaml_table.ts";

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

Deno.test("a key may come from a file, without the white space around it", async () => {
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

Deno.test("a key without a scheme is a bearer token unless its service has another default", async () => {
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

const HOW = "Give a key, or `scheme: none` for a provider without keys.";
const BAD_KEY =
  "must be a key of printable ASCII characters without spaces or line breaks.";

const BAD_FILE =
  "names a file that must hold one key of printable ASCII characters without spaces or line breaks.";
const QUOTED_FILE =
  "names a file with a key in quotation marks, which would be sent as a part of it. Remove them.";

const ROWS = yamlTable(`
{ auth: <absent> } → connections[0].auth: is missing. ${HOW}
{ auth: {} } → connections[0].auth.key: is missing. ${HOW}
{ auth: { scheme: bearer } } → connections[0].auth.key: is missing. ${HOW}
{ service: zai, auth: <absent> } → connections[0].auth.key: is missing. ${HOW}
{ auth: { scheme: none, key: k } } → connections[0].auth.key: must not be set with \`scheme: none\`.
{ auth: { scheme: none, key_file: k } } → connections[0].auth.key_file: must not be set with
  \`scheme: none\`.
{ auth: { scheme: bearer, key: k, key_file: k } } → connections[0].auth.key_file: must not be set
  with key.
{ auth: { scheme: bearer, key: "can\\nary" } } → connections[0].auth.key: ${BAD_KEY}
{ auth: { scheme: bearer, key: "ключ" } } → connections[0].auth.key: ${BAD_KEY}
`);

Deno.test("auth reports", (t) =>
  steps(t, ROWS, async ([, overrides, problem]) => {
    const result = await loadFile(connection(overrides));
    assert.deepEqual(problemsOf(result), [problem]);
  }));

Deno.test("a key file without a key is a problem of key_file", async () => {
  const cases: readonly (readonly [text: string, message: string])[] = [
    ["", "names a file that is empty. Write the key into it."],
    ["\n", "names a file that is empty. Write the key into it."],
    ["two words", BAD_FILE],
    ["two\nlines", BAD_FILE],
    ['"canary"\n', QUOTED_FILE],
    ["'canary'", QUOTED_FILE],
  ];
  for (const [text, message] of cases) {
    const { result } = await loadKeyFile(text);
    assert.deepEqual(problemsOf(result), [
      `connections[0].auth.key_file: ${message}`,
    ]);
  }
});

Deno.test("a quoted key is a problem, from any source", async () => {
  for (const written of ['"canary"', "'canary'", "`canary`", "${KEY}"]) {
    const file = connection({ auth: { scheme: "bearer", key: written } });
    const result = await loadFile(file, { env: () => "'canary'" });
    assert.deepEqual(problemsOf(result), [
      "connections[0].auth.key: is a key in literal quotation marks, which would be sent as a part of it. Remove them.",
    ]);
  }
});

Deno.test("an OAuth token of Anthropic is a problem in x-api-key, and a warning about plans as a bearer token", async () => {
  const key = "sk-ant-oat01-canary";
  const load = (auth: Record<string, unknown>) =>
    loadFile(
      connection({
        service: "anthropic",
        family: undefined,
        endpoints: undefined,
        auth,
      }),
      { readFile: () => Promise.resolve(key) },
    );
  const remedy =
    "is an OAuth token, which Anthropic refuses in x-api-key. Use an API key. A token of workload identity federation needs `scheme: bearer`.";
  assert.deepEqual(problemsOf(await load({ key })), [
    `connections[0].auth.key: ${remedy}`,
  ]);
  assert.deepEqual(problemsOf(await load({ key_file: "keys/claude" })), [
    `connections[0].auth.key_file: ${remedy}`,
  ]);
  assert.deepEqual(warningsOf(await load({ scheme: "bearer", key })), [
    "connections[0].auth.key: is an OAuth token. If it is of a Claude plan, Anthropic forbids serving others with it, and closes accounts for that. Use an API key, workload identity federation or a cloud.",
  ]);
});

Deno.test("a connection to ChatGPT plans is a warning, an API key of OpenAI or Anthropic is not", async () => {
  const warningsFor = async (service: string, key_file: string) =>
    warningsOf(
      await loadFile(
        connection({
          service,
          family: undefined,
          endpoints: undefined,
          auth: { key_file },
        }),
        { readFile: () => Promise.resolve("sk-ant-api03-canary") },
      ),
    );
  assert.deepEqual(await warningsFor("codex", "keys/codex"), [
    "connections[0].auth.key_file: serves every caller with one ChatGPT account. OpenAI forbids sharing the account of a person. Use a service account of your workspace, or `service: openai` with an API key.",
  ]);
  assert.deepEqual(await warningsFor("openai", "keys/openai"), []);
  assert.deepEqual(await warningsFor("anthropic", "keys/anthropic"), []);
});

const REASONS: Readonly<Record<string, string>> = {
  NotFound: "does not exist",
  PermissionDenied: "may not be read by this user",
  NotCapable: "lies outside what this program is allowed to read",
  IsADirectory: "is a directory",
  TypeError: "is not UTF-8 text",
  Odd: "cannot be read",
};

const EXAMPLE =
  " Create it, or name another: a path such as keys/anthropic begins at the folder of this file.";

Deno.test("an unreadable key file is reported without the system's message", (t) =>
  steps(t, Object.entries(REASONS), async ([name, reason]) => {
    const error = new Error("canary");
    error.name = name;
    const { result } = await loadKeyFile(error);
    assert.deepEqual(problemsOf(result), [
      `connections[0].auth.key_file: names a file that ${reason}.${EXAMPLE}`,
    ]);
  }));

Deno.test("headerNameFault() accepts headers that only the upstream reads", () => {
  for (
    const name of [
      "x-team",
      "openai-organization",
      "user-agent",
      "cookie",
      "x-api-key",
    ]
  ) {
    assert.equal(headerNameFault(name, "bearer"), undefined);
  }
});

Deno.test("headerNameFault() rejects an invalid header name", () => {
  for (const name of ["", "a b", "a:b", "a\n", "é", "(a)"]) {
    assert.equal(headerNameFault(name, "none"), "is not a valid header name.");
  }
});

Deno.test("headerNameFault() rejects headers of a single hop and of the gateway", () => {
  const names = ["host", "connection", "transfer-encoding", "te", "upgrade"];
  for (const name of [...names, "content-length", "accept-encoding"]) {
    assert.equal(
      headerNameFault(name, "none"),
      "is a header that the gateway sets itself. Remove it.",
    );
  }
});

Deno.test("headerNameFault() rejects a header that replaces the connection's credential", () => {
  const fault =
    "would replace the credential of auth. Remove it, or use `scheme: none`.";
  assert.equal(headerNameFault("authorization", "bearer"), fault);
  assert.equal(headerNameFault("x-api-key", "x-api-key"), fault);
  assert.equal(headerNameFault("api-key", "api-key"), fault);
  assert.equal(headerNameFault("authorization", "none"), undefined);
  assert.equal(headerNameFault("authorization", undefined), undefined);
});

Deno.test("isHeaderValue() accepts printable ASCII only", () => {
  for (const value of ["", "a", "a b\tc", "~!"]) {
    assert.ok(isHeaderValue(value));
  }
  for (const value of [" a", "a ", "a\r\nb: c", "a\u0000", "ü", "\u007f"]) {
    assert.ok(!isHeaderValue(value), JSON.stringify(value));
  }
});

Deno.test("isCredential() accepts printable ASCII without spaces, up to 16 KiB", () => {
  assert.ok(isCredential("sk-ABC_123.~+/="));
  assert.ok(isCredential("x".repeat(16_384)));
  for (const value of ["", "a b", "a\n", "a\r", "é", "x".repeat(16_385)]) {
    assert.ok(!isCredential(value), JSON.stringify(value.slice(0, 9)));
  }
});

Deno.test("a connection with a token exchange has no key, and sends the token only over TLS", async () => {
  const exchange = { kind: "google_metadata" };
  const problems = async (auth: Record<string, unknown>) =>
    problemsOf(await loadFile(connection({ auth })));
  const both =
    "connections[0].auth.exchange: must not be set with key, key_file or `scheme: none`. Keep one of them.";
  assert.deepEqual(await problems({ exchange, key: "k" }), [both]);
  assert.deepEqual(await problems({ exchange, scheme: "none" }), [both]);
  const openai = {
    kind: "openai",
    subject: { google_metadata: "a" },
    identity_provider: "i",
    service_account: "s",
    token_url: "http://elsewhere.example/token",
  };
  assert.deepEqual(await problems({ exchange: openai }), [
    "connections[0].auth.exchange.token_url: must be a URL with https:, because a token is sent to it.",
  ]);
  const instance = { kind: "aws_instance", region: "eu-central-1" };
  assert.deepEqual(
    await problems({ exchange: instance, scheme: "x-api-key" }),
    [
      "connections[0].auth.scheme: must not be set: requests to AWS are signed. Remove it.",
    ],
  );
  const container = {
    kind: "aws_container",
    region: "eu-central-1",
    url: "http://elsewhere.example/keys",
    token_file: "missing",
  };
  assert.deepEqual(await problems({ exchange: container }), [
    "connections[0].auth.exchange.url: must be a URL with https:, or one of the container's own metadata service.",
  ]);
  const ecs = { ...container, url: "http://169.254.170.2/v2/x" };
  assert.match(
    (await problems({ exchange: ecs })).join("\n"),
    /^connections\[0\]\.auth\.exchange\.token_file: names a file that /,
  );
  const local = { ...openai, token_url: "http://127.0.0.1:9/token" };
  const result = await loadFile(
    connection({ service: "anthropic", auth: { exchange: local } }),
  );
  const [{ auth } = assert.fail()] = configOf(result).connections;
  assert.equal(auth.scheme, "bearer");
});

Deno.test("the problems of several keys are reported at once", async () => {
  const keys = [
    { name: "one", key: "two words" },
    { name: "one", key: "sk-2" },
    {},
    { key: "sk-4" },
  ];
  const auth = { scheme: "bearer", key: "sk-0", keys };
  const problems = problemsOf(await loadFile(connection({ auth })));
  const expected = [
    /^connections\[0\]\.auth\.keys: must not be set with key/,
    /^connections\[0\]\.auth\.keys\[0\]\.key: /,
    /^connections\[0\]\.auth\.keys\[1\]\.name: is also the name of another key: one\.$/,
    /^connections\[0\]\.auth\.keys\[2\]\.key: /,
  ];
  assert.equal(problems.length, expected.length, problems.join("\n"));
  for (const [index, line] of expected.entries()) {
    assert.match(problems[index] ?? "", line);
  }
});

Deno.test("a duplicate name of a connection with several keys is a single problem", async () => {
  const auth = { scheme: "bearer", keys: [{ key: "sk-1" }, { key: "sk-2" }] };
  const other = { id: undefined, auth: { scheme: "bearer", key: "sk-3" } };
  const file = minimalFile({
    connections: [connectionFile({ auth }), connectionFile(other)],
  });
  const same = problemsOf(await loadFile(file)).filter((problem) =>
    problem.includes("is also the name of")
  );
  assert.equal(same.length, 1, same.join("\n"));
});
