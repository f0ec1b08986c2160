import type { ServerConfig } from "../config/config.ts";
import type { Problem } from "../config/problems.ts";

/** What the platform says of a pair, and what that means; the first match wins. */
const FAULTS: readonly (readonly [pattern: RegExp, fault: Problem])[] = [
  [/mismatch/i, {
    path: "server.tls.key",
    message: "is not the key of the certificate",
  }],
  [/key/i, {
    path: "server.tls.key",
    message:
      "holds no private key that can be used: it must be RSA, ECDSA or Ed25519, in PEM, without a password",
  }],
  [/cert/i, {
    path: "server.tls.cert",
    message: "holds no certificate that can be read: it must be X.509 in PEM",
  }],
];

const UNKNOWN: Problem = {
  path: "server.tls",
  message: "is no certificate and key that can be listened with",
};

/** What is wrong with a certificate and key that the platform does not listen with, in words of our own. */
export function tlsFault(error: unknown): Problem {
  const message = error instanceof Error ? error.message : "";
  return FAULTS.find(([pattern]) => pattern.test(message))?.[1] ?? UNKNOWN;
}

/**
 * Tries to listen with a certificate and key, at a free port of this machine that is given up at once.
 *
 * @returns What is wrong with them, if anything is.
 */
export function tryTls(tls: ServerConfig["tls"]): Problem | undefined {
  if (tls === undefined) return undefined;
  try {
    Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...tls }).close();
    return undefined;
  } catch (error) {
    return tlsFault(error);
  }
}
