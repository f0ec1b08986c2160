import { openNetwork } from "../../src/gateway/process/network.ts";
import assert from "node:assert/strict";
import {
  innermostMessage,
  networkFault,
  requestGateway,
} from "../../src/tools/gateway_client.ts";
import { endless } from "../support/wire/answers.ts";
import { testNeeding } from "../support/ignored.ts";
import { hasProgram } from "../support/program/has_program.ts";
import {
  authorityCertificate,
  testCertificate,
} from "../support/upstream/test_certificate.ts";
import { alignColumns } from "../../src/tools/table.ts";
import { openTempFolder } from "../support/temp_folder.ts";

function ask(answer: Response) {
  return requestGateway({ url: "http://127.0.0.1:8787/v1/models" }, {
    fetch: () => Promise.resolve(answer),
    deadline: () => new AbortController().signal,
  });
}

Deno.test("requestGateway() returns the body of any response", async () => {
  assert.equal((await ask(new Response("Grüße"))).text, "Grüße");
  assert.equal((await ask(new Response(""))).text, "");
  assert.equal((await ask(new Response(null))).text, "");
  assert.deepEqual((await ask(Response.json({ a: 1 }))).body, { a: 1 });
});

Deno.test("requestGateway() discards a body that is too long for a gateway's response", async () => {
  const { body, cancelled } = endless();
  assert.equal((await ask(new Response(body))).text, "");
  await cancelled;
});

/** Returns the fault of a real request to a server. */
async function faultAt(
  scheme: string,
  options: { cert: string; key: string } | Record<never, never>,
): Promise<string | undefined> {
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen() {},
    ...options,
  }, () => new Response());
  try {
    using network = openNetwork(() => undefined);
    await network.fetch(`${scheme}://127.0.0.1:${server.addr.port}/`, {});
    return "it was answered";
  } catch (error) {
    return networkFault(error);
  } finally {
    await server.shutdown();
  }
}

Deno.test("connectionFault() names a certificate that is not trusted", async () => {
  assert.equal(
    await faultAt("https", testCertificate),
    "its certificate is not trusted here. Set DENO_CERT to the PEM file of its authority",
  );
});

Deno.test("connectionFault() explains that a server uses an authority's certificate, and how to make a server's certificate", async () => {
  assert.equal(
    await faultAt("https", authorityCertificate),
    `its certificate is one of an authority (CA:TRUE), which no server may use. Make one with openssl's option -addext ${EXTENSION}, and set DENO_CERT to it`,
  );
});

/** The option of `openssl req -x509` for a server's certificate. */
const EXTENSION = "basicConstraints=critical,CA:FALSE";

testNeeding(
  "a client that trusts the documented openssl certificate accepts it",
  !await hasProgram("openssl", ["version"]) && "there is no openssl here",
  async () => {
    const page = await Deno.readTextFile(
      new URL("../../docs/clients.md", import.meta.url),
    );
    const [command = ""] = /^openssl req [^`]+/m.exec(page) ?? [];
    assert.ok(command.includes(EXTENSION), command);
    await using temp = await openTempFolder();
    const { path: folder } = temp;
    const { success } = await new Deno.Command("sh", {
      args: ["-c", command],
      cwd: folder,
      stdout: "null",
      stderr: "null",
    }).output();
    assert.ok(success);
    const pem = await Deno.readTextFile(`${folder}/cert.pem`);
    const server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      onListen() {},
      cert: pem,
      key: await Deno.readTextFile(`${folder}/key.pem`),
    }, () => new Response("trusted"));
    using client = Deno.createHttpClient({ caCerts: [pem] });
    const url = `https://127.0.0.1:${server.addr.port}/`;
    const answer = await fetch(url, { client });
    assert.equal(await answer.text(), "trusted");
    await server.shutdown();
  },
);

Deno.test("connectionFault() names a server without TLS, and a server that needs TLS", async () => {
  assert.match(await faultAt("https", {}) ?? "", /^it does not use TLS/);
  assert.match(
    await faultAt("http", testCertificate) ?? "",
    /only over TLS\. Try https/,
  );
});

Deno.test("connectionFault() names a certificate that has expired or is for another name", () => {
  const said = (text: string) =>
    networkFault(new TypeError("fetch failed", { cause: new Error(text) }));
  assert.equal(
    said("client error (Connect): invalid peer certificate: Expired"),
    "its certificate has expired",
  );
  assert.equal(
    said("client error (Connect): invalid peer certificate: NotValidForName"),
    "its certificate is for another name",
  );
  assert.equal(said("tcp connect error: Connection refused"), undefined);
  assert.equal(networkFault("canary"), undefined);
});

Deno.test("an error's reason is the message of its innermost cause, in one line", () => {
  const cause = new Error("dns error\n at x");
  const error = new TypeError("fetch failed", {
    cause: new Error("middle", { cause }),
  });
  assert.equal(innermostMessage(error), "dns error");
  assert.equal(innermostMessage("canary"), "unknown error");
});

Deno.test("alignColumns() aligns 300,000 rows", () => {
  const rows = Array.from({ length: 300_000 }, () => ["alice", "1"]);
  rows.push(["bob", "1000"]);
  const lines = alignColumns(rows, {
    columns: 80,
    isLeft: (index) => index === 0,
  });
  assert.equal(lines?.length, 300_001);
  assert.match(lines?.[0] ?? "", /^alice +1$/);
  assert.equal(lines?.at(-1)?.length, lines?.[0]?.length);
});
