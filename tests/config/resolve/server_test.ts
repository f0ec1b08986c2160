import assert from "node:assert/strict";
import { adminPort } from "../../../src/config/resolve/server.ts";
import {
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../../support/gateway/config.ts";
import {
  nextTestCertificate,
  testCertificate,
} from "../../support/upstream/test_certificate.ts";

const FILES: Readonly<Record<string, string>> = {
  "cert.pem": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
  "key.pem":
    "-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----\n",
};
const readFile = (path: string) => Promise.resolve(FILES[path] ?? "canary");

Deno.test("a certificate and its key are read", async () => {
  const tls = { cert: "cert.pem", key: "key.pem" };
  const config = await minimalConfig({ server: { tls } }, { readFile });
  assert.deepEqual(config.server.tls, {
    cert: FILES["cert.pem"],
    key: FILES["key.pem"],
  });
});

Deno.test("an exchanged certificate and key are problems", async () => {
  const tls = { cert: "key.pem", key: "cert.pem" };
  const file = minimalFile({ server: { tls } });
  assert.deepEqual(problemsOf(await loadFile(file, { readFile })), [
    "server.tls.cert: must name a PEM file that holds a certificate.",
    "server.tls.key: must name a PEM file that holds a private key.",
  ]);
});

Deno.test("a key of another certificate is a problem, and the certificate's own passes", async () => {
  const files: Readonly<Record<string, string>> = {
    "cert.pem": testCertificate.cert,
    "key.pem": testCertificate.key,
    "other.pem": nextTestCertificate.key,
  };
  const context = {
    readFile: (path: string) => Promise.resolve(files[path] ?? "canary"),
  };
  const withKey = (key: string) =>
    minimalFile({ server: { tls: { cert: "cert.pem", key } } });
  const good = await loadFile(withKey("key.pem"), context);
  assert.ok("config" in good);
  const bad = await loadFile(withKey("other.pem"), context);
  assert.deepEqual(problemsOf(bad), [
    "server.tls.key: is not the key of the certificate.",
  ]);
});

Deno.test("a certificate that cannot be read is a problem", async () => {
  const file = minimalFile({ server: { tls: { cert: "a", key: "key.pem" } } });
  const result = await loadFile(file, {
    readFile: (path) =>
      path === "a" ? Promise.reject(new Error("canary")) : readFile(path),
  });
  assert.deepEqual(problemsOf(result), [
    "server.tls.cert: names a file that cannot be read.",
  ]);
});

Deno.test("a listener that lets other machines in without TLS is a warning", async (t) => {
  const warning =
    "server.host: lets other machines in without TLS, so that tokens can be read on the network. " +
    "Set server.tls, or let only a proxy with TLS reach it.";
  for (
    const host of ["0.0.0.0", "::", "192.0.2.1", "gateway.example", "127x"]
  ) {
    await t.step(host, async () => {
      const file = minimalFile({ server: { host } });
      assert.deepEqual(warningsOf(await loadFile(file)), [warning]);
      const tls = { cert: "cert.pem", key: "key.pem" };
      const safe = minimalFile({ server: { host, tls } });
      assert.deepEqual(warningsOf(await loadFile(safe, { readFile })), []);
    });
  }
  for (const host of ["127.0.0.1", "127.9.9.9", "::1", "localhost"]) {
    await t.step(host, async () => {
      const file = minimalFile({ server: { host } });
      assert.deepEqual(warningsOf(await loadFile(file)), []);
    });
  }
});

Deno.test("the listener for metrics has defaults and an address of its own", async () => {
  const config = await minimalConfig({ server: { admin: {} } });
  assert.deepEqual(config.server.admin, { host: "127.0.0.1", port: 9090 });
  const same = minimalFile({ server: { port: 9090, admin: {} } });
  assert.deepEqual(problemsOf(await loadFile(same)), [
    "server.admin.port: must differ from server.port.",
  ]);
  const free = await minimalConfig({ server: { port: 0, admin: { port: 0 } } });
  assert.deepEqual(free.server.admin, { host: "127.0.0.1", port: 0 });
});

Deno.test("the listener for metrics may follow the port of the gateway, up to the last port", async () => {
  const admin = { port_offset: 1000 };
  const config = await minimalConfig({ server: { port: 8787, admin } });
  const place = { host: "127.0.0.1", portOffset: 1000 };
  assert.deepEqual(config.server.admin, place);
  assert.equal(adminPort(place, 8788), 9788);
  assert.equal(adminPort({ host: "127.0.0.1", port: 9090 }, 8788), 9090);
  const last = minimalFile({ server: { port: 64_536, admin } });
  assert.deepEqual(problemsOf(await loadFile(last)), [
    "server.admin.port_offset: must leave a port: server.port is 64536, and the largest port is 65535.",
  ]);
});
