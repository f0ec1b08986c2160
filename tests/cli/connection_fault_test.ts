import assert from "node:assert/strict";
import {
  connectionFault,
  innermostMessage,
} from "../../src/cli/gateway_client.ts";
import { testCertificate } from "../support/upstream/test_certificate.ts";

/** Why a real request to a server gets no answer. */
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
    await fetch(`${scheme}://127.0.0.1:${server.addr.port}/`);
    return "it was answered";
  } catch (error) {
    return connectionFault(error);
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

Deno.test("connectionFault() names a server without TLS, and one that needs TLS", async () => {
  assert.match(await faultAt("https", {}) ?? "", /^it does not use TLS/);
  assert.match(
    await faultAt("http", testCertificate) ?? "",
    /only over TLS\. Try https/,
  );
});

Deno.test("connectionFault() names a certificate that has expired or is for another name", () => {
  const said = (text: string) =>
    connectionFault(
      new TypeError("fetch failed", { cause: new Error(text) }),
    );
  assert.equal(
    said("client error (Connect): invalid peer certificate: Expired"),
    "its certificate has expired",
  );
  assert.equal(
    said("client error (Connect): invalid peer certificate: NotValidForName"),
    "its certificate is for another name",
  );
  assert.equal(said("tcp connect error: Connection refused"), undefined);
  assert.equal(connectionFault("canary"), undefined);
});

Deno.test("what an error says is what its first cause says, in one line", () => {
  const cause = new Error("dns error\n at x");
  const error = new TypeError("fetch failed", {
    cause: new Error("middle", { cause }),
  });
  assert.equal(innermostMessage(error), "dns error");
  assert.equal(innermostMessage("canary"), "unknown error");
});
