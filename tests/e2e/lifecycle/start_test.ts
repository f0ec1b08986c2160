import type { HttpClient } from "../../../src/http1/message.ts";
import assert from "node:assert/strict";
import manifest from "../../../deno.json" with { type: "json" };
import { ask, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalFile,
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
import { runCli } from "../../../src/tools/mod.ts";
import type { HeaderFields } from "../../../src/base/header_fields.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { steps } from "../../support/steps.ts";
import { openTempFolder, type TempFolder } from "../../support/temp_folder.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** Creates a folder with one file, and returns the path of the file. */
async function fileOf(text: string): Promise<TempFolder> {
  const folder = await openTempFolder();
  const path = `${folder.path}/gateway.yaml`;
  await Deno.writeTextFile(path, text);
  return { ...folder, path };
}

Deno.test("serve starts without write permission, upstream and second listener, and port 0 means any free port", async () => {
  const file = familiesFile("http://127.0.0.1:9", { server: { port: 0 } });
  await using gateway = await serveFile(file);
  assert.match(gateway.output(), /^listening on http:\/\/127\.0\.0\.1:\d+\n/m);
  assert.notEqual(new URL(gateway.url).port, "0");
  assert.equal((await askOnce(`${gateway.url}/readyz`)).status, 200);
  assert.equal(gateway.adminUrl, "");
  assert.ok(!gateway.output().includes("metrics"));
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
  await steps(t, Object.entries(STARTS), async ([name, argsOf]) => {
    const audit = `${file.path}.${name}.jsonl`;
    const gateway = await startProcess(Deno.execPath(), {
      args: [
        ...["run", "--no-prompt", "--allow-net=127.0.0.1:0"],
        ...["--allow-read", "--allow-env", "src/tools/main.ts"],
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
  await using folder = await openTempFolder();
  const { path: directory } = folder;
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
});

Deno.test("serve reports a taken port and exits with 1", async () => {
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

Deno.test("serve prints every problem of a file without a stack, and exits with 2", async () => {
  await using file = await fileOf(
    JSON.stringify(
      minimalFile({
        server: { prot: 1 },
        limits: { budget: "${UNSET_IN_THE_TEST}" },
        timeouts: { idle: -1 },
      }),
    ),
  );
  const ran = await runProgram(["serve", "--config", file.path]);
  assert.equal(ran.code, 2);
  assert.equal(ran.stdout, "");
  for (const problem of [/prot.*port/, /UNSET_IN_THE_TEST/, /timeouts\.idle/]) {
    assert.match(ran.stderr, problem);
  }
  assert.doesNotMatch(ran.stderr, /\n\s+at /);
});

Deno.test("a token of `token new` is accepted by a gateway with the printed entry", async () => {
  const io = createMemoryIo();
  assert.equal(await runCli(["token", "new", "carol"], io), 0);
  const made = io.written();
  const token = made.match(/mg_[\w-]+/)?.[0] ?? "";
  const sha256 = made.match(/[0-9a-f]{64}/)?.[0];
  assert.ok(!made.slice(made.indexOf("`tokens:`")).includes(token));
  const tokens = [{ name: "carol", sha256, connections: ["*"] }];
  await using gateway = await startGateway(minimalFile({ tokens }));
  const statusOf = async (shown: string) => {
    const headers = { authorization: `Bearer ${shown}` };
    const response = await gateway.call("/v1/models", { headers });
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await statusOf(token), 200);
  assert.equal(await statusOf(ALICE_TOKEN), 401);
});

Deno.test("the program exits with 0 after --version, and with 2 after an unknown option", async () => {
  const version = await runProgram(["--version"]);
  assert.deepEqual([version.code, version.stderr], [0, ""]);
  assert.ok(version.stdout.startsWith(`model-gateway ${manifest.version}\n`));
  const unknown = await runProgram(["serve", "--prot", "1"]);
  assert.deepEqual([unknown.code, unknown.stdout], [2, ""]);
  assert.ok(
    unknown.stderr.startsWith(
      'Cannot run serve: there is no option --prot. Did you mean "--port"?\nusage: ',
    ),
    unknown.stderr,
  );
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

Deno.test("an unexpected exception is 500 in the caller's protocol, and frees the request's slot", async (t) => {
  const client: HttpClient = {
    send: () =>
      Promise.resolve({
        status: 200,
        get headers(): HeaderFields {
          throw new OddError(CANARY);
        },
        body: null,
      }),
  };
  const file = familiesFile("http://127.0.0.1:9");
  await using gateway = await startGateway(file, { client });
  await steps(t, PROTOCOLS, async (protocol) => {
    const response = await gateway.ask(protocol);
    const error = await readError(response, protocol);
    assert.equal(error.status, 500);
    assert.doesNotMatch(error.message, /canary|Odd/);
    const line = await gateway.lines.of(response);
    assert.equal(line.status, 500);
    assert.equal(line.ended, "error");
    assert.equal(line.error, "internal");
    assert.equal(gateway.admission.active, 0);
    const unforeseen = await gateway.lines.others.next();
    assert.equal(unforeseen.level, "error");
    assert.equal(unforeseen.event, "unforeseen");
    assert.equal(unforeseen.request_id, response.headers.get("x-request-id"));
    assert.equal(unforeseen.exception, "OddError");
    assert.ok(Array.isArray(unforeseen.stack));
    assert.match(String(unforeseen.stack[0]), /^at .*start_test\.ts/);
  });
  assert.ok(!gateway.lines.text().includes(CANARY));
});
