// The gateway imports this late; virtual time does not wait for files.
import "../../../src/gateway/relay/identity/verify_jwt.ts";
import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import {
  createSigner,
  ISSUER,
  KEYS_URL,
  type Signer,
} from "../../support/gateway/identity_scene.ts";
import type { VirtualTime } from "./time.ts";

const DISCOVERY = {
  ...{ issuer: ISSUER, jwks_uri: KEYS_URL, token_endpoint: `${ISSUER}/token` },
  device_authorization_endpoint: `${ISSUER}/device`,
};

/** An issuer of JWTs with published keys and a sign-in, which may be unavailable. */
export class SimulatedIssuer {
  /** How it answers. */
  mood: "keys" | "refused" | "silent" | "garbage" = "keys";
  /** The keys that it publishes. */
  published: readonly Signer[];
  /** The number of times that its keys were read. */
  readings = 0;
  /** The refresh tokens of its logins. Each is valid for one renewal. */
  readonly logins = new Set<string>();
  /** The number of sign-in requests. */
  signIns = 0;
  readonly signers: readonly [Signer, Signer, Signer];
  readonly #time: VirtualTime;

  private constructor(
    time: VirtualTime,
    signers: readonly [Signer, Signer, Signer],
  ) {
    this.#time = time;
    this.signers = signers;
    this.published = [signers[0]];
  }

  /** Creates an issuer with its keys, which takes real time. */
  static async create(time: VirtualTime): Promise<SimulatedIssuer> {
    return new SimulatedIssuer(
      time,
      await Promise.all([
        createSigner("first", "EdDSA"),
        createSigner("second", "EdDSA"),
        createSigner("third", "EdDSA"),
      ]),
    );
  }

  /** Responds to a request of a gateway. */
  readonly fetch: Fetch = async (url, { signal, body }) => {
    if (url.endsWith("/openid-configuration")) return Response.json(DISCOVERY);
    if (url === `${ISSUER}/token` || url === `${ISSUER}/device`) {
      return await this.#signIn(
        new URLSearchParams(await new Response(body).text()),
      );
    }
    if (url !== KEYS_URL) return new Response(null, { status: 404 });
    this.readings++;
    await this.#time.sleep(50);
    signal?.throwIfAborted();
    if (this.mood === "refused") throw new TypeError("error sending request");
    if (this.mood === "silent") {
      await new Promise((_, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason))
      );
    }
    if (this.mood === "garbage") return new Response("<html>Try later</html>");
    return Response.json({ keys: this.published.map(({ jwk }) => jwk) });
  };

  /** Begins any login, and renews the logins that it knows. */
  async #signIn(form: URLSearchParams): Promise<Response> {
    this.signIns++;
    await this.#time.sleep(50);
    const token = form.get("refresh_token");
    if (token === null) {
      return form.has("device_code")
        ? Response.json({ error: "authorization_pending" }, { status: 400 })
        : Response.json({ device_code: "code", interval: 5 });
    }
    if (!this.logins.delete(token)) {
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    }
    this.logins.add(`${token}+`);
    return Response.json({ access_token: "a", refresh_token: `${token}+` });
  }
}
