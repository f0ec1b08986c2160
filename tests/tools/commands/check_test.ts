import assert from "node:assert/strict";
import {
  identityFile,
  ISSUER,
  KEYS_URL,
} from "../../support/gateway/identity_scene.ts";
import { runCheck } from "../../../src/tools/commands/check.ts";
import {
  connectionFile,
  minimalFile,
  tokenFile,
  UPSTREAM_KEY,
} from "../../support/gateway/config.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { steps } from "../../support/steps.ts";
import { openTempFolder } from "../../support/temp_folder.ts";

type Upstream = (request: Request) => Promise<Response> | Response;

/** Runs `check` on a file with the given upstream. */
async function check(
  file: unknown,
  { args = [], upstream = () => new Response("{}") }: {
    readonly args?: readonly string[];
    readonly upstream?: Upstream;
  } = {},
) {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/gateway.yaml`;
  await Deno.writeTextFile(path, JSON.stringify(file));
  const io = createMemoryIo();
  const deadlines: number[] = [];
  const code = await runCheck(["--config", path, ...args], {
    ...io,
    fetch: async (input, init) => await upstream(new Request(input, init)),
    deadline: (ms) => {
      deadlines.push(ms);
      return new AbortController().signal;
    },
  });
  await Deno.remove(directory, { recursive: true });
  const [out, error] = [io.written(), io.complained()];
  return { code, path, deadlines, out, error };
}

Deno.test("check counts a model with aliases once", async () => {
  const models = [{ id: "model-1", aliases: ["small", "large"] }, "model-2"];
  const { out } = await check(
    minimalFile({ connections: [connectionFile({ models })] }),
  );
  assert.match(out, /is valid: 1 connection, 2 models, 1 token, /);
});

Deno.test("check --model prints what a model's provider takes, with the source of each value", async () => {
  const file = minimalFile({
    connections: [connectionFile({
      service: "zai",
      family: undefined,
      endpoints: undefined,
      ability: { limits: { most_stops: 2 } },
      models: [{ id: "glm-5.2", ability: { reasoning: { least: "high" } } }],
    })],
  });
  const { code, out } = await check(file, { args: ["--model", "glm-5.2"] });
  assert.equal(code, 0);
  for (
    const line of [
      /^\S.*, glm-5\.2, chat:$/m,
      /^ {2}schemas\.json: object \(protocol\)$/m,
      /^ {2}tools\.force: never \(service\)$/m,
      /^ {2}reasoning\.modes: \[adaptive, off\] \(model\)$/m,
      /^ {2}reasoning\.least: high \(file\)$/m,
      /^ {2}limits\.most_stops: 2 \(file\)$/m,
      /^ {2}limits\.most_output_tokens: no limit \(protocol\)$/m,
    ]
  ) assert.match(out, line);
  const near = await check(file, { args: ["--model", "glm-5.3"] });
  assert.equal(near.code, 1);
  assert.match(near.error, /Cannot check the model "glm-5\.3".*glm-5\.2/);
});

Deno.test("check prints a summary of a valid file", async () => {
  const { code, path, out, error } = await check(minimalFile());
  assert.equal(code, 0);
  assert.equal(
    out,
    `${path} is valid: 1 connection, 1 model, 1 token, 0 groups, 0 limits, 0 warnings
Listens on http://127.0.0.1:8787
All resolved values: --print
`,
  );
  assert.equal(error, "");
});

Deno.test("check counts each group and limit once, prints each listener, and prints the warnings", async () => {
  const limits = [{ window: "day", tokens: 5 }];
  const { path, out, error } = await check({
    ...minimalFile({
      server: { host: "::1", admin: {} },
      groups: {
        team: { limits: [...limits, { window: "hour", requests: 5 }] },
        empty: {},
      },
      defaults: { limits },
      tokens: ["alice", "bob"].map((name, index) =>
        tokenFile({ name, group: "team", sha256: `${index}`.repeat(64) })
      ),
    }),
    identity: [identityFile()],
  });
  assert.equal(
    out.replace(/ \d+ models?,/, ""),
    `${path} is valid: 1 connection, 2 tokens, 1 identity provider, 1 group, 3 limits, 1 warning
Listens on http://[::1]:8787; metrics on 127.0.0.1, port 9090
All resolved values: --print
`,
  );
  assert.match(error, /^Warnings:\n {2}groups\.empty: has no members\.\n$/);
});

Deno.test("check --print prints the resolved configuration after the summary, as YAML", async () => {
  const { code, path, out } = await check(minimalFile(), { args: ["--print"] });
  assert.equal(code, 0);
  assert.ok(out.startsWith(`# ${path} is valid: 1 connection, `), out);
  assert.match(out, /\n# Listens on \S+\nserver:\n {2}host: 127\.0\.0\.1\n/);
  assert.match(out, /\nconnections:\n {2}- name: main\n/);
  assert.ok(!out.includes(UPSTREAM_KEY));
  const quiet = await check(minimalFile(), { args: ["--print", "--quiet"] });
  assert.equal(quiet.out, "");
});

Deno.test("check prints warnings after the summary", async () => {
  const { code, error } = await check(minimalFile({ tokens: [] }));
  assert.equal(code, 0);
  assert.equal(
    error,
    "Warnings:\n  tokens: is empty: nobody can call the gateway.\n",
  );
});

Deno.test("check reports a certificate that the platform rejects", async () => {
  await using folder = await openTempFolder();
  const { path: directory } = folder;
  const tls = { cert: `${directory}/cert.pem`, key: `${directory}/key.pem` };
  await Deno.writeTextFile(tls.cert, testCertificate.cert);
  await Deno.writeTextFile(
    tls.key,
    "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n",
  );
  const { code, path, out, error } = await check(
    minimalFile({ server: { tls } }),
  );
  assert.equal(code, 2);
  assert.equal(out, "");
  assert.ok(
    error.startsWith(
      `Cannot use ${path}: it has 1 problem.\n  server.tls.key: holds no`,
    ),
    error,
  );
  await Deno.writeTextFile(tls.key, testCertificate.key);
  assert.equal((await check(minimalFile({ server: { tls } }))).code, 0);
});

Deno.test("check --quiet prints nothing for a valid file", async () => {
  const { code, out, error } = await check(minimalFile(), {
    args: ["--quiet"],
  });
  assert.deepEqual({ code, out, error }, { code: 0, out: "", error: "" });
});

Deno.test("check --quiet prints warnings, problems, and failing providers", async () => {
  const args = ["--quiet"];
  const warned = await check(minimalFile({ tokens: [] }), { args });
  assert.deepEqual([warned.code, warned.out], [0, ""]);
  assert.match(warned.error, /^Warnings:\n {2}tokens: is empty/);
  const refused = await check(minimalFile({ timeouts: { idel: 1 } }), { args });
  assert.deepEqual([refused.code, refused.out], [2, ""]);
  assert.match(refused.error, /^Cannot use .*\n {2}timeouts\.idel: /);
  const connections = [connectionFile(), connectionFile({ name: "down" })];
  let status = 200;
  const live = await check(minimalFile({ connections }), {
    args: ["--quiet", "--live"],
    upstream: () => {
      const response = new Response(null, { status });
      status = 503;
      return response;
    },
  });
  assert.equal(live.code, 1);
  assert.match(live.out, /^\w+: failing \(HTTP 503\)\n$/);
});

Deno.test("check prints every problem of an invalid file", async () => {
  const { code, path, out, error } = await check(
    minimalFile({ server: { port: -1 }, timeouts: { idel: 1 } }),
  );
  assert.equal(code, 2);
  assert.equal(out, "");
  assert.equal(
    error,
    `Cannot use ${path}: it has 2 problems.\n  server.port: must be at least 0.\n` +
      '  timeouts.idel: is not a known key. Did you mean "idle"?\n',
  );
});

Deno.test("check reports a missing file", async () => {
  const io = createMemoryIo({ MODEL_GATEWAY_CONFIG: "/no/such/gateway.yaml" });
  const code = await runCheck([], {
    ...io,
    fetch,
    deadline: () => new AbortController().signal,
  });
  assert.equal(code, 2);
  assert.equal(
    io.complained(),
    "Cannot use /no/such/gateway.yaml: it has 1 problem.\n  file: does not exist.\n" +
      "Create /no/such/gateway.yaml or use --config.\n" +
      "`model-gateway init SERVICE...` prints a first file; `model-gateway demo` needs none.\n",
  );
});

Deno.test("check prints its usage after bad arguments", async () => {
  const cases = [
    [["--lvie"], 'there is no option --lvie. Did you mean "--live"?'],
    [["--live=1"], "--live takes no value."],
    [["extra"], "it takes options only."],
    [["--config", ""], "--config needs a value (FILE)."],
  ] as const;
  for (const [args, fault] of cases) {
    const { code, error } = await check(minimalFile(), { args });
    assert.equal(code, 2);
    assert.equal(
      error,
      `Cannot run check: ${fault}\nusage: model-gateway check [--config FILE] [--live] [--try] [--model ID] [--demo]\n       [--json] [--print] [--quiet]\n` +
        "Run model-gateway check --help for more.\n",
    );
  }
});

Deno.test("check --live requests the models of each enabled connection, with the connection's credential", async () => {
  const requests: Request[] = [];
  const file = minimalFile({
    connections: [
      connectionFile({ headers: { "X-Team": "a" } }),
      connectionFile({
        name: "messages",
        service: "anthropic",
        family: undefined,
        endpoints: undefined,
        auth: { key: "key-2" },
      }),
      connectionFile({ name: "off", enabled: false }),
      connectionFile({
        name: "open",
        family: "C",
        endpoints: { responses: "http://127.0.0.1:9/r" },
        auth: { scheme: "none" },
      }),
      connectionFile({
        name: "azure",
        service: "azure-chat",
        resource: "contoso",
        family: undefined,
        endpoints: undefined,
        auth: { key: "key-3" },
      }),
    ],
  });
  const { code, out, deadlines } = await check(file, {
    args: ["--live"],
    upstream: (request) => {
      requests.push(request);
      return new Response("{}");
    },
  });
  assert.equal(code, 0);
  assert.match(
    out,
    /\nmain: reachable \(HTTP 200\)\nmessages: reachable \(HTTP 200\)\nopen: reachable \(HTTP 200\)\nazure: reachable \(HTTP 200\)\n$/,
  );
  assert.deepEqual(deadlines, [10_000, 10_000, 10_000, 10_000]);
  assert.deepEqual(
    requests.map(({ url, method, redirect, headers }) => ({
      url,
      method,
      redirect,
      headers: Object.fromEntries(headers),
    })),
    [
      {
        url: "http://127.0.0.1:9/v1/models",
        method: "GET",
        redirect: "manual",
        headers: {
          accept: "application/json",
          authorization: `Bearer ${UPSTREAM_KEY}`,
          "x-team": "a",
        },
      },
      {
        url: "https://api.anthropic.com/v1/models",
        method: "GET",
        redirect: "manual",
        headers: {
          accept: "application/json",
          "anthropic-version": "2023-06-01",
          "x-api-key": "key-2",
        },
      },
      {
        url: "http://127.0.0.1:9/r/models",
        method: "GET",
        redirect: "manual",
        headers: { accept: "application/json" },
      },
      {
        url: "https://contoso.openai.azure.com/openai/v1/models",
        method: "GET",
        redirect: "manual",
        headers: { accept: "application/json", "api-key": "key-3" },
      },
    ],
  );
});

const refuse = (message: string, name = "TypeError"): Upstream => () => {
  const error = new Error(message);
  error.name = name;
  throw error;
};

const FINDINGS: readonly (readonly [string, Upstream, number])[] = [
  ["reachable (HTTP 404)", () => new Response(null, { status: 404 }), 0],
  ["reachable (HTTP 429)", () => new Response(null, { status: 429 }), 0],
  ["key refused (HTTP 401)", () => new Response(null, { status: 401 }), 1],
  ["key refused (HTTP 403)", () => new Response(null, { status: 403 }), 1],
  [
    "redirects elsewhere (HTTP 302)",
    () => Response.redirect("https://elsewhere.example"),
    1,
  ],
  ["failing (HTTP 503)", () => new Response(null, { status: 503 }), 1],
  ["unreachable: no answer in 10000 ms", refuse("signal", "TimeoutError"), 1],
  [
    "unreachable: Connection refused (os error 111)",
    refuse("Connection refused (os error 111)\n  at x"),
    1,
  ],
  [
    "unreachable: getaddrinfo ENOTFOUND a.example",
    () =>
      Promise.reject(
        new Error("no connection could be opened", {
          cause: new Error("getaddrinfo ENOTFOUND a.example"),
        }),
      ),
    1,
  ],
  [
    "unreachable: its certificate has expired",
    refuse("invalid peer certificate: Expired"),
    1,
  ],
  ["unreachable: unknown error", () => Promise.reject("canary"), 1],
  [
    "unreachable: unknown error",
    refuse(`invalid header value: Bearer ${UPSTREAM_KEY}`),
    1,
  ],
];

Deno.test("check --live reports", (t) =>
  steps(t, FINDINGS, async ([finding, upstream, expectedCode]) => {
    const { code, out } = await check(minimalFile(), {
      args: ["--live"],
      upstream,
    });
    assert.ok(out.endsWith(`\nmain: ${finding}\n`), out);
    assert.equal(code, expectedCode);
  }));

Deno.test("check --live reports the upstream's answer, even if it breaks off", async () => {
  const { code, out } = await check(minimalFile(), {
    args: ["--live"],
    upstream: () =>
      new Response(
        new ReadableStream({
          cancel: () => Promise.reject(new Error("connection reset")),
        }),
      ),
  });
  assert.match(out, /\nmain: reachable \(HTTP 200\)\n$/);
  assert.equal(code, 0);
});

Deno.test("check --live does not read the upstream's body", async () => {
  let cancelled = false;
  await check(minimalFile(), {
    args: ["--live"],
    upstream: () =>
      new Response(
        new ReadableStream({
          cancel: () => {
            cancelled = true;
          },
        }),
      ),
  });
  assert.ok(cancelled);
});

/** Responses of an issuer, with the line that `check` prints. */
const ISSUERS: Readonly<
  Record<string, readonly [() => Response, string, number]>
> = {
  "with keys": [
    () =>
      Response.json({ keys: [{ kty: "RSA" }, { kty: "EC" }, { kty: "oct" }] }),
    "2 keys",
    0,
  ],
  "without keys": [
    () => Response.json({ keys: [] }),
    "no keys: its key set has no public key for signatures",
    1,
  ],
  "failing": [
    () => new Response("secret page", { status: 500 }),
    "no keys: it answered with status 500",
    1,
  ],
  "away": [
    () => {
      throw new TypeError("error sending request (url): refused");
    },
    "no keys: ",
    1,
  ],
};

Deno.test("check --live reads the keys of each issuer", async (t) => {
  const file = minimalFile({ identity: [identityFile()] });
  await steps(
    t,
    Object.entries(ISSUERS),
    async ([, [answer, finding, exit]]) => {
      const { code, out } = await check(file, {
        args: ["--live"],
        upstream: ({ url }) => url === KEYS_URL ? answer() : new Response("{}"),
      });
      const [, line = ""] = out.split(`\n${ISSUER}: `);
      assert.ok(line.startsWith(finding), out);
      assert.ok(!out.includes("secret page"));
      assert.equal(code, exit);
    },
  );
});

const KEYLESS = connectionFile({
  auth: {
    exchange: {
      kind: "openai",
      subject: { file: "token" },
      identity_provider: "idp_1",
      service_account: "sa_1",
    },
  },
});

Deno.test("check names a missing platform token, and sends no request", async () => {
  const { code, error } = await check(minimalFile({ connections: [KEYLESS] }), {
    upstream: () => assert.fail("a request"),
  });
  assert.equal(code, 2);
  assert.match(
    error,
    /connections\[0\] "main"\.auth\.exchange\.subject\.file.*: names a file that does not exist\./,
  );
});

Deno.test("check --live makes one token exchange, and prints the token's lifetime and the long-lived secrets", async () => {
  const subject = await Deno.makeTempFile();
  await Deno.writeTextFile(subject, "subject.of.platform");
  const connection = {
    ...KEYLESS,
    auth: {
      exchange: {
        ...Object(KEYLESS.auth).exchange,
        subject: { file: subject },
      },
    },
  };
  const other = connectionFile({
    ...{ name: "other", models: ["b"] },
    auth: { keys: [{ key: "key-one" }, { name: "b", key: "key-two" }] },
  });
  const urls: string[] = [];
  const run = (upstream: Upstream) =>
    check(minimalFile({ connections: [connection, other] }), {
      args: ["--live"],
      upstream,
    });
  const good = await run((request) => {
    urls.push(request.url);
    return request.url.endsWith("/oauth/token")
      ? Response.json({ access_token: "short-lived", expires_in: 3600 })
      : new Response("{}");
  });
  assert.equal(good.code, 0);
  assert.match(good.out, /^main: a token for 60 min, reachable \(HTTP 200\)$/m);
  assert.match(
    good.out,
    /^Long-lived secrets: 2, the key of other#1, the key of other#b$/m,
  );
  assert.doesNotMatch(
    good.out + good.error,
    /short-lived"|subject\.of|key-(one|two)/,
  );
  const exchanges = urls.filter((url) => url.endsWith("/oauth/token"));
  assert.deepEqual(exchanges, ["https://auth.openai.com/oauth/token"]);

  const bad = await run((request) =>
    request.url.endsWith("/oauth/token")
      ? Response.json({ error: "invalid_grant" }, { status: 400 })
      : new Response("{}")
  );
  assert.equal(bad.code, 1);
  assert.match(
    bad.error,
    /gives no token now: auth\.openai\.com answered with status 400, invalid_grant\./,
  );
  assert.match(bad.out, /^main: its token exchange gave no token$/m);
  await Deno.remove(subject);
});

Deno.test("check --live sends a test alert, and prints no secret of the receiver", async () => {
  for (const status of [200, 404]) {
    const bodies: unknown[] = [];
    const { code, out } = await check(
      minimalFile({ alerts: { webhook: "https://chat.example/secret-path" } }),
      {
        args: ["--live"],
        upstream: async (request) => {
          if (new URL(request.url).hostname !== "chat.example") {
            return new Response("{}");
          }
          bodies.push(await request.json());
          return new Response(null, { status });
        },
      },
    );
    assert.equal(code, status === 200 ? 0 : 1);
    assert.match(
      out,
      status === 200
        ? /^alerts: a test was accepted$/m
        : /^alerts: chat.example answered with 404$/m,
    );
    assert.doesNotMatch(out, /secret/);
    assert.deepEqual(bodies, [{
      text: "This is a test of model-gateway check. Alerts arrive here.",
      kind: "test",
    }]);
  }
});
