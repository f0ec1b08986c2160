import type { IncomingRequest } from "@gateway/http1";
import { BlockList, isIP } from "node:net";
import type { ServerConfig } from "../config/config.ts";
import { TtlCache } from "@gateway/base/collections";
import { oncePer } from "@gateway/base/memo";
import { shortDigest } from "@gateway/base/sha256";
import type { Clock } from "@gateway/base/time/timers";

/**
 * How many requests of each kind a network may send, and how many requests a known login may send: `burst` at once,
 * then `perSecond`.
 */
const RATES = {
  start: { burst: 30, perSecond: 1 },
  poll: { burst: 60, perSecond: 6 },
  renewal: { burst: 60, perSecond: 1 },
  login: { burst: 10, perSecond: 0.1 },
};

export type SignInKind = Exclude<keyof typeof RATES, "login">;

/** The most running requests of a kind, in one thread. A network may hold at most as many places as are free. */
const MAX_RUNNING = 64;

/** The most networks that are counted, and the most refresh tokens whose digests are kept. */
const MAX_KEPT = 20_000;

const TTL_MS = { refused: 5 * 60_000, login: 30 * 24 * 3_600_000 };

/** Limits the requests that networks send to the issuer, because anybody may sign in. */
export interface SignInBounds {
  /**
   * Takes a place for a request, or returns why the request gets no place. Call `end` once, with the status of the
   * response and the login's next refresh token.
   *
   * @param token The refresh token; empty for a request without a refresh token.
   */
  take(kind: SignInKind, network: string, token: string):
    | { end(status: number, next?: string): void }
    | { readonly retryAfterSeconds: number }
    | "refused";
}

/** Creates the bounds of one thread. A known login has its own rate, whatever other callers of its network send. */
export function createSignInBounds(clock: Clock): SignInBounds {
  /** The requests left to each network or login. */
  const senders = new TtlCache<string, ReturnType<typeof senderOf>>(clock);
  const running = { start: 0, poll: 0, renewal: 0, login: 0 };
  const tokens = new TtlCache<string, keyof typeof TTL_MS>(clock);

  function senderOf(key: string, { burst, perSecond }: typeof RATES.login) {
    const atMs = clock.elapsedMs();
    const sender: { left: number; atMs: number; running: number } =
      senders.get(key) ?? { left: burst, atMs, running: 0 };
    const earned = perSecond * (atMs - sender.atMs) / 1000;
    sender.left = Math.min(burst, sender.left + earned);
    sender.atMs = atMs;
    senders.set(key, sender, { ttlMs: TTL_MS.login, maxSize: MAX_KEPT });
    return sender;
  }

  function note(token: string, state: keyof typeof TTL_MS): void {
    const options = { ttlMs: TTL_MS[state], maxSize: MAX_KEPT };
    tokens.set(shortDigest(token), state, options);
  }

  return {
    take(kind, network, token) {
      const state = tokens.get(shortDigest(token));
      if (state === "refused") return state;
      const lane = state ?? kind;
      const from = state === undefined ? network : shortDigest(token);
      const sender = senderOf(`${lane} ${from}`, RATES[lane]);
      const isFull = sender.running >= MAX_RUNNING - running[lane];
      const waitSeconds = (1 - sender.left) / RATES[lane].perSecond;
      if (isFull || waitSeconds > 0) {
        return { retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)) };
      }
      sender.left -= 1;
      sender.running += 1;
      running[lane] += 1;
      return {
        end(status, next = token) {
          sender.running -= 1;
          running[lane] -= 1;
          if (status === 401) note(token, "refused");
          if (status !== 200) return;
          if (lane === "renewal") sender.left += 1;
          if (next !== "") note(next, "login");
        },
      };
    },
  };
}

const trusts = oncePer((server: Pick<ServerConfig, "trustedProxies">) => {
  const family = (address: string) => isIP(address) === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  for (const place of server.trustedProxies) {
    const [address = "", bits] = place.split("/");
    const most = isIP(address) === 4 ? 32 : 128;
    list.addSubnet(address, Number(bits ?? most), family(address));
  }
  return (one: string) => isIP(one) !== 0 && list.check(one, family(one));
});

/**
 * Returns the network of a request: an IPv4 address, or the first 64 bits of an IPv6 address, because one machine may
 * change the other bits. Behind trusted proxies, uses the last address in `x-forwarded-for` that is no trusted proxy.
 */
export function networkOf(
  { peer = "", headers }: Pick<IncomingRequest, "peer" | "headers">,
  server: Pick<ServerConfig, "trustedProxies">,
): string {
  const hops = headers.get("x-forwarded-for")?.split(",") ?? [];
  let address = peer;
  while (trusts(server)(address)) {
    const hop = hops.pop()?.trim() ?? "";
    const next = hop.replace(/^([\d.]+):\d+$|^\[([^\]]*)\].*$/, "$1$2");
    if (isIP(next) === 0) break;
    address = next;
  }
  const host = URL.parse(`http://[${address}]`)?.hostname ?? address;
  const [start = ""] = host.split("::", 1);
  return start === "[" ? host : start.split(":").slice(0, 4).join(":");
}
