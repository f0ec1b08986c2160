import { createFetchClient } from "../../../src/gateway/upstream/fetch_client.ts";
import type { Log } from "../../../src/gateway/observe/log.ts";
import {
  createTokenBook,
  type TokenBook,
} from "../../../src/gateway/upstream/token_exchange/token_book.ts";
import type { VirtualTime } from "./time.ts";

/** The `auth` entry of a connection that exchanges the platform's token. */
export const EXCHANGED = {
  scheme: "bearer",
  exchange: {
    kind: "openai",
    subject: { file: "subject" },
    identity_provider: "idp_1",
    service_account: "sa_1",
    token_url: "https://issuer.example/token",
  },
} as const;

/** The platform's token. */
const SUBJECT = "subject-of-the-platform";

/** Issues short-lived tokens of a provider, used in place of its key. It may be unavailable. */
export class SimulatedTokenIssuer {
  /** How it responds. */
  mood: "tokens" | "refused" | "silent" | "garbage" = "tokens";
  /** The lifetime of the next token, in seconds. */
  lifeSeconds = 600;
  /** The number of its requests. */
  requests = 0;
  readonly book: TokenBook;
  readonly #time: VirtualTime;
  /** The end of each token, in milliseconds of virtual time. */
  readonly #ends = new Map<string, number>();

  /** @param onChange Called when a token has changed or expired. */
  constructor(time: VirtualTime, log: Log, onChange: () => void) {
    this.#time = time;
    const client = createFetchClient((_, init) => this.#issue(init));
    this.book = createTokenBook({
      ...{ client, local: client, log, onChange },
      readFile: () => Promise.resolve(`${SUBJECT}\n`),
      ...{ clock: time, timers: time, random: () => 0.5 },
    });
  }

  /** Returns true for a token that is valid now. */
  accepts(token: string | undefined): boolean {
    return (this.#ends.get(token ?? "") ?? 0) > this.#time.elapsedMs();
  }

  /** Returns true for a token that it ever issued. */
  issued(token: string | undefined): boolean {
    return this.#ends.has(token ?? "");
  }

  /** Requests another token, because one was refused. */
  renew(): void {
    const { exchange } = EXCHANGED;
    this.book.renew(exchange);
  }

  /** Ends all tokens at once. */
  revoke(): void {
    for (const token of this.#ends.keys()) this.#ends.set(token, 0);
  }

  async #issue({ body, signal }: RequestInit): Promise<Response> {
    this.requests++;
    if (this.mood === "refused") throw new TypeError("error sending request");
    if (this.mood === "silent") {
      await new Promise((_, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason))
      );
    }
    if (this.mood === "garbage") return new Response("<html>Try later</html>");
    const text = new TextDecoder().decode(bytesOf(body));
    if (JSON.parse(text).subject_token !== SUBJECT) {
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    }
    const token = `sk-secret-exchanged-${this.#ends.size}`;
    const endMs = this.#time.elapsedMs() + 1000 * this.lifeSeconds;
    this.#ends.set(token, endMs);
    return Response.json({ access_token: token, expires_in: this.lifeSeconds });
  }
}

function bytesOf(body: RequestInit["body"]): Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  throw new Error("The request has no body of bytes");
}
