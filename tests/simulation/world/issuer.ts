import type { Fetch } from "../../../src/upstream/call.ts";
import {
  createSigner,
  KEYS_URL,
  type Signer,
} from "../../support/gateway/identity_scene.ts";
import type { VirtualTime } from "./time.ts";

/** An issuer of JWTs, which publishes some of its keys, and goes away. */
export class SimulatedIssuer {
  /** How it answers. */
  mood: "keys" | "refused" | "silent" | "garbage" = "keys";
  /** The keys that it publishes. */
  published: readonly Signer[];
  /** The number of times that its keys were read. */
  readings = 0;
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

  /** Creates it with its keys, which takes real time. */
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

  /** Answers a request of a gateway. */
  readonly fetch: Fetch = async (url, { signal }) => {
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
}
