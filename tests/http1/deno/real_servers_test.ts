import { createDial } from "../../../src/http1/deno/dial.ts";
import type { HttpClient, HttpResponse } from "../../../src/http1/message.ts";
import { createHttp1Client } from "../../../src/http1/client/client.ts";
import { Http1Failure } from "../../../src/http1/failure.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { needing, testNeeding } from "../../support/ignored.ts";
import { hasCaddy, startCaddy } from "../../support/program/caddy.ts";
import { freePort } from "../../support/program/free_port.ts";
import { hasProgram } from "../../support/program/has_program.ts";
import { hasNginx, startNginx } from "../../support/program/nginx.ts";
import { fromFileUrl } from "../../support/program/paths.ts";
import { startProcess } from "../../support/program/process.ts";
import { testCertificate } from "../../support/upstream/test_certificate.ts";
import { within } from "../../support/within.ts";
import { bodyOf } from "../client/examine.ts";
import { openTempFolder } from "../../support/temp_folder.ts";

const FIXTURES = fromFileUrl(new URL("../../fixtures/", import.meta.url));
const CERTIFICATE = [
  `${FIXTURES}tls/cert.pem`,
  `${FIXTURES}tls/key.pem`,
] as const;

/** Opens a client that trusts the tests' own certificate. */
function open(): HttpClient & Disposable {
  return createHttp1Client({
    dial: createDial(() => ({ kind: "direct" }), [testCertificate.cert]),
    deadlines: createDeadlines(),
  });
}

let lastId = 0;

/** Sends a request with an id, so that the server can count it. */
function post(
  client: HttpClient,
  url: string,
  bytes = 1000,
): Promise<HttpResponse> {
  const sent = client.send({
    url,
    headers: [["x-id", String(lastId++)]],
    body: new Uint8Array(bytes),
    connectMs: 0,
    signal: new AbortController().signal,
  });
  return within(sent, "the response");
}

/** Requests a file, again if the server closed the connection under the request. */
async function get(client: HttpClient, url: string): Promise<HttpResponse> {
  const { signal } = new AbortController();
  const request = { url, headers: [], connectMs: 0, signal };
  for (;;) {
    try {
      return await within(client.send({ ...request, method: "GET" }), "a file");
    } catch (cause) {
      if (!isRace(cause)) throw cause;
    }
  }
}

/** Returns true for the failure of a connection that its server closed while the request was on its way. */
function isRace(cause: unknown): boolean {
  return cause instanceof Http1Failure && cause.kind === "closed" &&
    cause.progress.isReused && !cause.progress.hasAnswer;
}

/** Sends a request, and another one if the server closed the connection under it. */
async function ask(
  client: HttpClient,
  url: string,
  bytes?: number,
): Promise<{ readonly status: number; readonly body: string }> {
  for (;;) {
    try {
      const response = await post(client, url, bytes);
      const times = response.headers.get("x-times") ?? "1";
      assert.equal(times, "1", "the request was sent twice");
      const body = await within(bodyOf(response), "the body");
      return { status: response.status, body };
    } catch (cause) {
      if (!isRace(cause)) throw cause;
    }
  }
}

const EARLY = "an answer before the body is sent";
const DROP = "a close after each answer that nothing announces";

/** The requests to a server of `tests/fixtures/servers`. */
const EXAM: Readonly<
  Record<string, (client: HttpClient, base: string) => Promise<void>>
> = {
  "one request after another, and several at once": async (client, base) => {
    const sizes = [0, 1, 1000, 300_000];
    for (const bytes of [...sizes, ...sizes, ...sizes]) {
      const { body } = await ask(client, `${base}/echo`, bytes);
      assert.equal(body, String(bytes));
    }
    const all = sizes.map((bytes) => ask(client, `${base}/echo`, bytes));
    for (const { status } of await Promise.all(all)) assert.equal(status, 200);
  },
  "chunks": async (client, base) => {
    for (let count = 0; count < 5; count++) {
      const { body } = await ask(client, `${base}/chunks`);
      assert.equal(body, "x".repeat(19_000));
    }
  },
  "a body that breaks off": async (client, base) => {
    for (let count = 0; count < 5; count++) {
      await assert.rejects(
        ask(client, `${base}/broken`),
        (cause) => cause instanceof Http1Failure && cause.progress.hasAnswer,
      );
    }
  },
  [DROP]: async (client, base) => {
    for (let count = 0; count < 20; count++) {
      const { body } = await ask(client, `${base}/drop`);
      assert.ok(["ok", "1000"].includes(body));
    }
  },
  [EARLY]: async (client, base) => {
    const sizes = [100 * 1024, 1024 ** 2, 3 * 1024 ** 2, 30 * 1024 ** 2];
    for (let count = 0; count < 20; count++) {
      const bytes = sizes[count % sizes.length];
      const { status } = await ask(client, `${base}/early`, bytes);
      assert.equal(status, 413);
    }
  },
};

/** Returns the addresses of a server by its ports, plain and with TLS. */
function basesOf([plain = "", secure = ""]: readonly string[]): string[] {
  return [`http://127.0.0.1:${plain}`, `https://127.0.0.1:${secure}`];
}

/** Examines a server, plain and over TLS. */
async function examine(
  t: Deno.TestContext,
  ports: readonly string[],
  parts: readonly string[] = Object.keys(EXAM),
): Promise<void> {
  for (const base of basesOf(ports)) {
    for (const part of parts) {
      await t.step(`${part}, ${base.split(":")[0]}`, async () => {
        using client = open();
        await EXAM[part]?.(client, base);
      });
    }
  }
}

/** Starts a program that prints its two ports, and examines it. */
async function examineProgram(
  t: Deno.TestContext,
  program: readonly string[],
  parts?: readonly string[],
): Promise<void> {
  await using server = await startServer(program);
  await examine(t, server.ports, parts);
}

async function startServer([path = "", ...args]: readonly string[]) {
  const server = await startProcess(path, { args: [...args, ...CERTIFICATE] });
  return {
    ports: server.url.split("/"),
    async [Symbol.asyncDispose]() {
      server.kill("SIGKILL");
      await server.ended;
    },
  };
}

const SERVERS = `${FIXTURES}servers/`;
const NODE_SERVER = ["node", `${SERVERS}server.mjs`];
const LACKS_NODE = !await hasProgram("node") && "there is no Node here";

Deno.test({
  ...needing("our client understands Node", LACKS_NODE),
  fn: (t) => examineProgram(t, NODE_SERVER),
});

const hasPython = await hasProgram("python3");

Deno.test({
  ...needing(
    "our client understands Python's http.server",
    !hasPython && "there is no Python here",
  ),
  fn: (t) => examineProgram(t, ["python3", `${SERVERS}server.py`]),
});

Deno.test({
  ...needing(
    "our client understands uvicorn with h11",
    !(hasPython &&
      await hasProgram("python3", ["-c", "import uvicorn, h11"])) &&
      "there is no uvicorn with h11 here",
  ),
  // It may reset the connection before an early response has left completely: even a bare socket loses one of a
  // hundred.
  fn: (t) =>
    examineProgram(
      t,
      ["python3", `${SERVERS}server_uvicorn.py`],
      Object.keys(EXAM).filter((part) => part !== EARLY),
    ),
});

/** Set to try Go's server even if its library must be compiled first, which takes a minute. */
const GO_VARIABLE = "TEST_GO_SERVER";

/** Returns true when Go has compiled the server's library already: then the server takes a second. */
async function hasCompiledGo(): Promise<boolean> {
  if (!await hasProgram("go", ["version"])) return false;
  const { stdout } = await new Deno.Command("go", {
    args: ["list", "-f", "{{.Stale}}", "net/http"],
    stderr: "null",
  }).output();
  return new TextDecoder().decode(stdout).trim() === "false";
}

testNeeding(
  "our client understands Go's net/http",
  Deno.env.get(GO_VARIABLE) === undefined && !await hasCompiledGo() &&
    `Go has not compiled its library here: set ${GO_VARIABLE}=1`,
  async (t) => {
    await using folder = await openTempFolder();
    const { path: directory } = folder;
    const program = `${directory}/server`;
    const source = `${SERVERS}server.go`;
    const { success } = await new Deno.Command("go", {
      args: ["build", "-o", program, source],
      signal: AbortSignal.timeout(120_000),
    }).output();
    assert.ok(success);
    await examineProgram(t, [program]);
  },
);

testNeeding(
  "our client understands nginx",
  !await hasNginx() && "there is no nginx here",
  async (t) => {
    const ports = [freePort(), freePort()] as const;
    const [certificate, key] = CERTIFICATE;
    const site = `server {
      listen 127.0.0.1:${ports[0]};
      listen 127.0.0.1:${ports[1]} ssl;
      ssl_certificate ${certificate};
      ssl_certificate_key ${key};
      client_max_body_size 90k;
      keepalive_requests 3;
      location / { return 200 ok; }
    }`;
    await using _server = await startNginx(site, ports[0]);
    await examine(t, ports.map(String), [DROP, EARLY]);
  },
);

testNeeding("our client understands Caddy, in front of Node and alone", [
  !await hasCaddy() && "there is no Caddy here",
  LACKS_NODE,
], async (t) => {
  await using node = await startServer(NODE_SERVER);
  const [plain, secure] = [freePort(), freePort()];
  const site = `
  bind 127.0.0.1
  root * ${FIXTURES}tls
  respond /early "too large" 413 {
    close
  }
  handle /cert.pem {
    file_server
  }
  reverse_proxy 127.0.0.1:${node.ports[0]}`;
  const sites = `http://127.0.0.1:${plain} {${site}
}
https://127.0.0.1:${secure} {
  tls ${CERTIFICATE.join(" ")}${site}
}`;
  await using _server = await startCaddy(sites, plain);
  const ports = [plain, secure].map(String);
  // Caddy answers 502 where Node closes a connection that Caddy has just used again.
  await examine(t, ports, Object.keys(EXAM).filter((part) => part !== DROP));
  const file = await Deno.readTextFile(CERTIFICATE[0]);
  for (const base of basesOf(ports)) {
    await t.step(`a file, ${base.split(":")[0]}`, async () => {
      using client = open();
      for (let count = 0; count < 5; count++) {
        const response = await get(client, `${base}/cert.pem`);
        assert.equal(await within(bodyOf(response), "the body"), file);
      }
    });
  }
});
