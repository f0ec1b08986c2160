import type { FaultsByFile } from "./fault.ts";

/** Faults of tokens that expire, of JWTs and of their keys. */
export const IDENTITY_FAULTS: FaultsByFile = {
  "gateway/relay/request/authenticate.ts": [
    {
      name: "an expired token is accepted",
      text: "expiresAtMs !== undefined && nowMs >= expiresAtMs",
      wrong: "expiresAtMs !== undefined && nowMs < 0",
    },
  ],
  "gateway/relay/identity/verify_jwt.ts": [
    {
      name: "a key that is new is not read",
      text: "    const renewed = await keySets.renewed(source, set);\n",
      wrong: "    const renewed = undefined as AnyKeySet | undefined;\n",
    },
    {
      name: "a JWT is valid for ever",
      text: "      clockTolerance: LEEWAY_SECONDS,\n",
      wrong: "      clockTolerance: 1e12,\n",
    },
    {
      name: "a JWT's audience is not checked",
      text: "      audience: [...audiences],\n",
      wrong: "",
    },
    {
      name: "a JWT from the future is accepted",
      text: "iat > nowMs / 1000 + LEEWAY_SECONDS",
      wrong: "iat > nowMs + LEEWAY_SECONDS",
    },
    {
      name: "any key signs",
      text: "    const { payload } = await jwtVerify(token, finderOf(set), {\n",
      wrong:
        "    if (Date.now() > 0) return decodeJwt(token);\n    const { payload } = await jwtVerify(token, finderOf(set), {\n",
    },
  ],
  "gateway/relay/identity/key_sets.ts": [
    {
      name: "each caller reads the keys",
      text: "    entry.reading ??= readNow(source, entry)",
      wrong: "    entry.reading = readNow(source, entry)",
    },
    {
      name: "keys are read once",
      text: "nowMs - keys.readAtMs < FRESH_MS",
      wrong: "nowMs - keys.readAtMs < Infinity",
    },
    {
      name: "unknown keys are read again at each request",
      text: "RENEW_MS = 30_000",
      wrong: "RENEW_MS = 0",
    },
    {
      name: "an issuer that is away is asked at each request",
      text: "FAILED_MS = 5000",
      wrong: "FAILED_MS = 0",
    },
    {
      name: "a silent issuer is waited for",
      text: "            late.abort();\n            throw",
      wrong: "            if (late.signal.aborted) throw",
    },
    {
      name: "a failed reading stays",
      text: "      entry.retryAtMs = undefined;\n",
      wrong: "",
    },
  ],
  "gateway/relay/identity/identity.ts": [
    {
      name: "a JWT that was verified is good for ever",
      text: "          clock.now() < remembered.endsAtMs\n",
      wrong: "          clock.now() < Infinity\n",
    },
    {
      name: "a JWT is not verified again",
      text: "clock.elapsedMs() - known.verifiedAtMs < FRESH_MS",
      wrong: "clock.elapsedMs() - known.verifiedAtMs < Infinity",
    },
    {
      name: "callers with known keys wait for an unavailable issuer",
      text: "      if (!(error instanceof NoKeys)) throw error;\n",
      wrong: "      if (error !== null) throw error;\n",
    },
  ],
};
