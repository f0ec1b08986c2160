import assert from "node:assert/strict";
import { describeConfig } from "../../../src/config/describe.ts";
import {
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../../support/gateway/config.ts";

const FILES: Readonly<Record<string, string>> = {
  "password.txt": "from a file\n",
  "empty.txt": "\n",
  "ca.pem": "-----BEGIN CERTIFICATE-----\n",
};

const readFile = (path: string) => Promise.resolve(FILES[path] ?? "canary");

async function resolved(shared: Record<string, unknown>) {
  return (await minimalConfig({ shared }, { readFile })).shared;
}

async function problems(shared: Record<string, unknown>): Promise<string[]> {
  const file = minimalFile({ shared });
  return [...problemsOf(await loadFile(file, { readFile }))];
}

Deno.test("a store needs only its URL", async () => {
  assert.deepEqual(
    await resolved({ url: "rediss://us%65r:p%40ss@store.example:7000/12" }),
    {
      host: "store.example",
      port: 7000,
      tls: true,
      ca: undefined,
      username: "user",
      password: "p@ss",
      database: 12,
      prefix: "model-gateway:",
    },
  );
  const short = await resolved({ url: "redis://[::1]", prefix: "team:" });
  assert.deepEqual([short?.host, short?.port, short?.database], [
    "::1",
    6379,
    0,
  ]);
  assert.deepEqual([short?.username, short?.password], [undefined, undefined]);
  assert.equal(short?.prefix, "team:");
  assert.equal((await minimalConfig()).shared, undefined);
});

Deno.test("the password of a store may be apart from its URL, and in a file", async () => {
  const url = "rediss://user@store.example";
  const plain = await resolved({ url, password: "p@s/s" });
  assert.equal(plain?.password, "p@s/s");
  assert.equal(plain?.username, "user");
  const file = await resolved({ url, password_file: "password.txt" });
  assert.equal(file?.password, "from a file");
  const ca = await resolved({ url, ca: "ca.pem" });
  assert.equal(ca?.ca, FILES["ca.pem"]);
});

Deno.test("problems of a store are reported without its password", async () => {
  const url = "rediss://:canary@store.example";
  const cases: readonly (readonly [Record<string, unknown>, string])[] = [
    [
      { url, password: "canary" },
      "shared.password: must not be set with the password in url.",
    ],
    [
      {
        url: "rediss://a.example",
        password: "canary",
        password_file: "password.txt",
      },
      "shared.password_file: must not be set with the password in password.",
    ],
    [
      { url: "rediss://a.example", password_file: "empty.txt" },
      "shared.password_file: must name a file that holds the password.",
    ],
    [
      { url: "rediss://a.example", ca: "password.txt" },
      "shared.ca: must name a PEM file that holds certificates.",
    ],
    [
      { url: "redis://127.0.0.1", ca: "ca.pem" },
      "shared.ca: needs a url with rediss:.",
    ],
    [
      { url, prefix: "a b" },
      "shared.prefix: must be 1 to 64 printable ASCII characters without spaces.",
    ],
    ...[
      "http://canary@a.example",
      "redis://a.example/canary",
      "redis://a.example?canary=1",
      "redis://a.example#canary",
      "canary",
      "redis://",
    ].map((bad) =>
      [
        { url: bad },
        "shared.url: must be the URL of a Valkey or Redis server, such as rediss://gateway@valkey.example:6379/0.",
      ] as const
    ),
  ];
  for (const [shared, problem] of cases) {
    assert.deepEqual(await problems(shared), [problem]);
  }
});

Deno.test("a store on another machine without TLS is a warning", async () => {
  const warnings = async (url: string) =>
    warningsOf(await loadFile(minimalFile({ shared: { url } })));
  const [warning, ...others] = await warnings("redis://store.example");
  assert.match(
    warning ?? "",
    /^shared\.url: reaches another machine without TLS/,
  );
  assert.deepEqual(others, []);
  for (
    const url of ["redis://127.0.0.1", "redis://[::1]", "rediss://a.example"]
  ) {
    assert.deepEqual(await warnings(url), []);
  }
});

Deno.test("check shows a store without its password", async () => {
  const url = "rediss://user:canary@store.example/2";
  const text = describeConfig(await minimalConfig({ shared: { url } }));
  assert.match(text, /store: 'store\.example, port 6379, database 2'/);
  assert.match(text, /user: user\n {2}password: set\n/);
  assert.doesNotMatch(text, /canary/);
});
