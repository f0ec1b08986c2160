import assert from "node:assert/strict";
import {
  listen,
  ListenError,
  tlsFault,
  tryTls,
} from "../../../src/cli/server/listen.ts";
import { formatProblem } from "../../../src/config/problems.ts";
import {
  nextTestCertificate,
  testCertificate,
} from "../../support/upstream/test_certificate.ts";

const pem = (label: string) =>
  `-----BEGIN ${label}-----\nAA==\n-----END ${label}-----\n`;

const NO_KEY =
  "server.tls.key: holds no private key that can be used: it must be RSA, ECDSA or Ed25519, in PEM, without a password";
const NO_CERTIFICATE =
  "server.tls.cert: holds no certificate that can be read: it must be X.509 in PEM";

const { cert, key } = testCertificate;

const PAIRS: Readonly<
  Record<string, readonly [{ cert: string; key: string }, string]>
> = {
  "a key of another certificate": [
    { cert, key: nextTestCertificate.key },
    "server.tls.key: is not the key of the certificate",
  ],
  "a certificate that is none": [
    { cert: pem("CERTIFICATE"), key },
    NO_CERTIFICATE,
  ],
  "half a certificate": [
    { cert: cert.slice(0, 200), key },
    NO_CERTIFICATE,
  ],
  "a key that is none": [{ cert, key: pem("EC PRIVATE KEY") }, NO_KEY],
  "a key with a password": [
    { cert, key: pem("ENCRYPTED PRIVATE KEY") },
    NO_KEY,
  ],
};

Deno.test("what the platform does not listen with is told in words of our own, by whoever tries and whoever serves", async (t) => {
  for (const [name, [tls, problem]] of Object.entries(PAIRS)) {
    await t.step(name, () => {
      const fault = tryTls(tls);
      assert.equal(fault === undefined ? "" : formatProblem(fault), problem);
      const place = { host: "127.0.0.1", port: 0, tls };
      assert.throws(
        () => listen(place, () => Promise.resolve(new Response())),
        (error) =>
          error instanceof ListenError &&
          error.message === `Cannot listen on 127.0.0.1:0: ${problem}`,
      );
    });
  }
});

Deno.test("a good certificate and key pass, and so does listening without", () => {
  assert.equal(tryTls(testCertificate), undefined);
  assert.equal(tryTls(undefined), undefined);
});

Deno.test("a fault of TLS that nobody foresaw is told without the platform's words", () => {
  for (const error of [new Error("canary"), "canary"]) {
    assert.equal(
      formatProblem(tlsFault(error)),
      "server.tls: is no certificate and key that can be listened with",
    );
  }
});
