import assert from "node:assert/strict";
import manifest from "../../../deno.json" with { type: "json" };
import { ask, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalFile,
  UPSTREAM_KEY,
} from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { startProcess } from "../../support/program/process.ts";
import {
  programCommand,
  runProgram,
} from "../../support/program/run_program.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import type { HeaderFields } from "../../../src/core/header_fields.ts";
import type { UpstreamClient } from "../../../src/upstream/call.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { startGateway } from "../../support/gateway/gateway.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** Creates a directory with one file; the test removes it. */
async function fileOf(text: string): Promise<
  AsyncDisposable & {
    readonly path: string;
  }
> {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/gateway.yaml`;
  await Deno.writeTextFile(path, text);
  return {
    path,
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

Deno.test("serve starts without write permission and without an upstream; port 0 is a free one", async () => {
  const file = familiesFile("http://127.0.0.1:9", { server: { port: 0 } });
  await using gateway = await serveFile(file);
  assert.match(gateway.output(), /^listening on http:\/\/127\.0\.0\.1:\d+\n/m);
  assert.notEqual(new URL(gateway.url).port, "0");
  assert.equal((await askOnce(`${gateway.url}/readyz`)).status, 200);
});

const STARTS: Readonly<Record<string, (path: string) => readonly string[]>> = {
  demo: () => ["demo", "--port", "0"],
  serve: (path) => ["serve", "--config", path],
};

Deno.test("the start uses the network only for its listeners, and waits for no other host", async (t) => {
  const url = "https://provider.test/v1";
  const used = { type: "USAGE_LIMIT", unit: "requests", used: "/used" };
  const quota = { kind: "json", url, windows: [{ ...used, limit: "/limit" }] };
  await using file = await fileOf(JSON.stringify(minimalFile({
    server: { port: 0, admin: { port: 0 } },
    connections: [connectionFile({ endpoints: { chat: url }, quota })],
  })));
  for (const [name, argsOf] of Object.entries(STARTS)) {
    await t.step(name, async () => {
      const audit = `${file.path}.${name}.jsonl`;
      const gateway = await startProcess(Deno.execPath(), {
        args: [
          ...["run", "--no-prompt", "--allow-net=127.0.0.1:0"],
          ...["--allow-read", "--allow-env", "src/main.ts"],
          ...argsOf(file.path),
        ],
        cwd: ROOT,
        env: { DENO_AUDIT_PERMISSIONS: audit },
      });
      try {
        assert.equal((await askOnce(`${gateway.url}/readyz`)).status, 200);
        assert.deepEqual(await askedOfNetwork(audit), new Set(["127.0.0.1:0"]));
      } finally {
        gateway.kill("SIGTERM");
        assert.equal((await gateway.ended).code, 0);
      }
    });
  }
});

/**
 * Returns the addresses and names that a process wanted to reach or to listen on, from the
 * platform's audit log.
 */
async function askedOfNetwork(audit: string): Promise<Set<string>> {
  const lines = (await Deno.readTextFile(audit)).trim().split("\n");
  return new Set(
    lines.map((line): Record<string, string> => JSON.parse(line))
      .filter(({ permission }) => permission === "net")
      .map(({ value = "" }) => value),
  );
}

Deno.test("serve speaks TLS with its certificate", async () => {
  await using upstream = startUpstream();
  const directory = await Deno.makeTempDir();
  try {
    const tls = { cert: `${directory}/cert.pem`, key: `${directory}/key.pem` };
    await Deno.writeTextFile(tls.cert, testCertificate.cert);
    await Deno.writeTextFile(tls.key, testCertificate.key);
    await using gateway = await serveFile(
      familiesFile(upstream.url, { server: { port: 0, tls } }),
    );
    assert.match(gateway.url, /^https:/);
    using client = Deno.createHttpClient({ caCerts: [testCertificate.cert] });
    const answer = await fetch(gateway.url + PATHS.chat, {
      ...ask("chat"),
      client,
    });
    assert.equal(answer.status, 200);
    assert.equal(await answer.text(), "{}");
    const plain = gateway.url.replace("https:", "http:");
    await assert.rejects(askOnce(plain));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("serve on a taken port reports it and ends with 1", async () => {
  await using taken = startUpstream();
  const port = Number(new URL(taken.url).port);
  await using file = await fileOf(
    JSON.stringify(minimalFile({ server: { port } })),
  );
  const ran = await runProgram(["serve", "--config", file.path]);
  assert.equal(ran.code, 1);
  assert.equal(
    ran.stderr,
    `Cannot listen on 127.0.0.1:${port}: another program listens there. Stop it, or choose another port with --port.\n`,
  );
});

Deno.test("serve and check print every problem of a file without a stack, and exit with 2", async (t) => {
  await using file = await fileOf(
    JSON.stringify(
      minimalFile({
        server: { prot: 1 },
        limits: { budget: "${UNSET_IN_THE_TEST}" },
        timeouts: { idle: -1 },
      }),
    ),
  );
  for (const command of ["serve", "check"]) {
    await t.step(command, async () => {
      const ran = await runProgram([command, "--config", file.path]);
      assert.equal(ran.code, 2);
      assert.equal(ran.stdout, "");
      for (
        const problem of [/prot.*port/, /UNSET_IN_THE_TEST/, /timeouts\.idle/]
      ) {
        assert.match(ran.stderr, problem);
      }
      assert.doesNotMatch(ran.stderr, /\n\s+at /);
    });
    await t.step(`${command}, no file`, async () => {
      const missing = `${file.path}.none`;
      const ran = await runProgram([command], {
        MODEL_GATEWAY_CONFIG: missing,
      });
      assert.equal(ran.code, 2);
      assert.ok(ran.stderr.includes(missing), ran.stderr);
      assert.doesNotMatch(ran.stderr, /\n\s+at /);
    });
  }
});

Deno.test("check prints a valid file without its secrets and ends with 0", async () => {
  await using file = await fileOf(JSON.stringify(minimalFile()));
  const ran = await runProgram(["check", "--config", file.path]);
  assert.equal(ran.code, 0, ran.stderr);
  assert.match(ran.stdout, /model-a/);
  assert.doesNotMatch(ran.stdout + ran.stderr, new RegExp(UPSTREAM_KEY));
});

Deno.test("a token of `token new` is accepted by a gateway with the printed entry", async () => {
  const made = await runProgram(["token", "new", "carol"]);
  assert.equal(made.code, 0);
  const token = made.stdout.match(/mg_[\w-]+/)?.[0] ?? "";
  const sha256 = made.stdout.match(/[0-9a-f]{64}/)?.[0];
  assert.ok(
    !made.stdout.slice(made.stdout.indexOf("`tokens:`")).includes(token),
  );
  const tokens = [{ name: "carol", sha256, connections: ["*"] }];
  await using gateway = await serveFile(
    minimalFile({ server: { port: 0 }, tokens }),
  );
  const statusOf = async (shown: string) =>
    (await askOnce(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${shown}` },
    })).status;
  assert.equal(await statusOf(token), 200);
  assert.equal(await statusOf(ALICE_TOKEN), 401);
});

Deno.test("the exit code of help and version is 0, that of unknown arguments is 2", async (t) => {
  const cases = [
    [["--version"], 0, `model-gateway ${manifest.version}\n`],
    [["--help"], 0, "usage:\n"],
    [["serve", "--help"], 0, "usage: model-gateway serve [--config FILE]"],
    [["check", "-h"], 0, "usage: model-gateway check [--config FILE]"],
    [
      ["serv"],
      2,
      'Cannot start: there is no command serv. Did you mean "serve"?\nusage:\n',
    ],
    [
      ["serve", "--prot", "1"],
      2,
      'Cannot run serve: there is no option --prot. Did you mean "--port"?\nusage: ',
    ],
  ] as const;
  for (const [args, code, begin] of cases) {
    await t.step(args.join(" "), async () => {
      const ran = await runProgram(args);
      assert.equal(ran.code, code);
      const [said, silent] = code === 0
        ? [ran.stdout, ran.stderr]
        : [ran.stderr, ran.stdout];
      assert.ok(said.startsWith(begin), said);
      assert.equal(silent, "");
    });
  }
});

Deno.test("a closed output pipe prints no stack", async () => {
  const child = programCommand(["--help"]).spawn();
  await child.stdout.cancel();
  const complaint = await new Response(child.stderr).text();
  const { code } = await child.status;
  assert.deepEqual({ code, complaint }, { code: 0, complaint: "" });
});

const CANARY = "canary-7d21 of a prompt";

class OddError extends Error {
  override readonly name = "OddError";
  readonly secret = CANARY;
}

/** A client whose responses fail in a way that the gateway does not expect. */
function failingClient(thrown: () => unknown): UpstreamClient {
  return {
    send: () =>
      Promise.resolve({
        status: 200,
        get headers(): HeaderFields {
          throw thrown();
        },
        body: null,
      }),
  };
}

const THROWN: Readonly<Record<string, unknown>> = {
  "an error": new OddError(CANARY),
  "an error with a cause": new Error(CANARY, { cause: new OddError(CANARY) }),
  "an error whose message looks like a stack": new Error(`x\n    at ${CANARY}`),
  "an error with another message later": changedError(),
  "an aggregate": new AggregateError([new OddError(CANARY)], CANARY),
  "a text": CANARY,
  "nothing": undefined,
};

function changedError(): Error {
  const error = new Error(`x\n    at ${CANARY}`);
  error.message = "another";
  return error;
}

Deno.test("an unforeseen exception is 500 in the caller's protocol, without its message", async (t) => {
  let thrown: unknown;
  const client = failingClient(() => thrown);
  const file = familiesFile("http://127.0.0.1:9");
  await using gateway = await startGateway(file, { client });
  for (const protocol of PROTOCOLS) {
    for (const [name, value] of Object.entries(THROWN)) {
      await t.step(`${protocol}: ${name}`, async () => {
        thrown = value;
        const response = await gateway.call(PATHS[protocol], ask(protocol));
        const text = await response.clone().text();
        assert.doesNotMatch(text, /canary|Odd/);
        const error = await readError(response, protocol);
        assert.equal(error.status, 500);
        assert.equal(
          error.type,
          protocol === "messages" ? "api_error" : "server_error",
        );
        const line = await gateway.lines.of(response);
        assert.equal(line.status, 500);
        assert.equal(line.ended, "error");
        assert.equal(line.error, "internal");
        assert.equal(gateway.admission.active, 0);
      });
    }
  }
  assert.ok(!gateway.lines.text().includes(CANARY));
});

Deno.test("an unforeseen exception is logged with its class, its stack and the request's id", async () => {
  const client = failingClient(() => new OddError(CANARY));
  const file = familiesFile("http://127.0.0.1:9");
  await using gateway = await startGateway(file, { client });
  const response = await gateway.call(PATHS.chat, ask("chat"));
  await response.body?.cancel();
  const line = await gateway.lines.others.next();
  assert.equal(line.level, "error");
  assert.equal(line.event, "unforeseen");
  assert.equal(line.request_id, response.headers.get("x-request-id"));
  assert.equal(line.exception, "OddError");
  assert.ok(Array.isArray(line.stack) && line.stack.length > 0);
  assert.match(String(line.stack[0]), /^at .*start_test\.ts/);
});
