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
  "server.tls.key: holds no usable private key. It must be RSA, ECDSA or Ed25519, in PEM, without a password.";
const NO_CERTIFICATE =
  "server.tls.cert: holds no readable certificate. It must be X.509 in PEM.";

const { cert, key } = testCertificate;

const PAIRS: Readonly<
  Record<string, readonly [{ cert: string; key: string }, string]>
> = {
  "a key of another certificate": [
    { cert, key: nextTestCertificate.key },
    "server.tls.key: is not the key of the certificate.",
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

Deno.test("tryTls() and listen() report an unusable certificate or key in the gateway's words", async (t) => {
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

Deno.test("a valid certificate and key pass, and so does a listener without TLS", () => {
  assert.equal(tryTls(testCertificate), undefined);
  assert.equal(tryTls(undefined), undefined);
});

Deno.test("tlsFault() reports an unknown error without the platform's message", () => {
  for (const error of [new Error("canary"), "canary"]) {
    assert.equal(
      formatProblem(tlsFault(error)),
      "server.tls: is not a usable pair of certificate and key.",
    );
  }
});
