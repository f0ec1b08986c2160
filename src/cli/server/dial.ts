import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { settled } from "../../core/time/deadlines.ts";
import type { Dial, Dialed, Origin } from "../../upstream/http1/client.ts";
import { MalformedMessage } from "../../upstream/http1/failure.ts";
import {
  findHeadEnd,
  formatHead,
  parseHead,
} from "../../upstream/http1/head.ts";
import { alternate, raceAddresses } from "./address_race.ts";
import type { ProxyRoute } from "./proxy_route.ts";

/**
 * Returns the way to open connections on this platform: name resolution, TCP, a proxy's tunnel and TLS. Certificates
 * are checked by the platform's store, as `DENO_CERT` and `DENO_TLS_CA_STORE` set it.
 *
 * @param routeOf Finds the proxy of an origin.
 * @param caCerts Authorities that are trusted beside those of the platform, as PEM.
 */
export function createDial(
  routeOf: (origin: Origin) => ProxyRoute,
  caCerts: readonly string[] = [],
): Dial {
  const silent = new SilentServers();
  return async (origin, signal) => {
    const route = routeOf(origin);
    if (route.kind !== "proxy") {
      if (!origin.isSecure) return { duplex: await openTcp(origin, signal) };
      await silent.wake(origin, signal);
      const connection = await openTcp(origin, signal);
      return {
        duplex: await silent.watch(
          origin,
          signal,
          closingOnFailure(
            connection,
            signal,
            () => secure(connection, origin, { caCerts, signal }),
          ),
        ),
      };
    }
    const { proxy } = route;
    if (!origin.isSecure) {
      const duplex = await openTcp(proxy, signal);
      return { duplex, proxyHeaders: proxy.headers } satisfies Dialed;
    }
    const tunnel = await openTcp(proxy, signal);
    return {
      duplex: await closingOnFailure(tunnel, signal, async () => {
        await openTunnel(tunnel, origin, proxy.headers);
        return await secure(tunnel, origin, { caCerts, signal });
      }),
    };
  };
}

/** The address of a host and a port. */
type Place = Pick<Origin, "hostname" | "port">;

/** Connects to the first address of a host that answers (RFC 8305: a broken address family delays nobody for long). */
async function openTcp(
  { hostname, port }: Place,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  const addresses = isIP(hostname) > 0 ? [hostname] : await resolve(hostname);
  signal.throwIfAborted();
  const connection = await raceAddresses(
    addresses,
    (address, signal) => connectTo({ hostname: address, port }, signal),
    signal,
  );
  if (signal.aborted) {
    connection.close();
    throw signal.reason;
  }
  connection.setNoDelay(true);
  return connection;
}

/** Connects to an address. The result may be a connection although the signal has aborted meanwhile. */
async function connectTo(
  place: Place,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  signal.throwIfAborted();
  const cancelling = AbortSignal.any([signal]);
  // Deno checks the signal once more when it has connected. It throws then, and nobody could close the connection.
  cancelling.throwIfAborted = () => {};
  return await Deno.connect({ ...place, signal: cancelling });
}

async function resolve(hostname: string): Promise<string[]> {
  try {
    const found = await lookup(hostname, { all: true });
    return alternate(found);
  } catch (cause) {
    throw new Error("The host name lookup failed", { cause });
  }
}

async function secure(
  connection: Deno.TcpConn,
  { hostname }: Origin,
  { caCerts, signal }: {
    readonly caCerts: readonly string[];
    readonly signal: AbortSignal;
  },
): Promise<Deno.TlsConn> {
  const tls = await Deno.startTls(connection, {
    hostname,
    alpnProtocols: ["http/1.1"],
    caCerts: [...caCerts],
  });
  return await closingOnFailure(tls, signal, async () => {
    await tls.handshake();
    return tls;
  });
}

/**
 * The servers that left a TLS handshake unanswered. Deno keeps the descriptor of such a handshake until the server closes
 * it, whatever the gateway does. Node's TLS closes its own, so it asks these servers first. At most the handshakes that
 * are under way when a server falls silent keep their descriptors.
 */
class SilentServers {
  readonly #places = new Set<string>();

  /**
   * Waits until a server that was silent answers a handshake, with success or not.
   *
   * @throws The reason of the signal when that aborts.
   */
  async wake(origin: Place, signal: AbortSignal): Promise<void> {
    if (!this.#places.has(placeOf(origin))) return;
    const { hostname: host, port } = origin;
    const { connect } = await import("node:tls");
    signal.throwIfAborted();
    const answered = Promise.withResolvers<void>();
    const servername = isIP(host) > 0 ? undefined : host;
    const socket = connect({ host, port, servername });
    socket.once("secureConnect", answered.resolve);
    // A refusal is an answer, too. The handshake that follows reports it.
    socket.on("error", () => answered.resolve());
    try {
      await settled(answered, signal, () => {});
    } finally {
      socket.destroy();
    }
  }

  /** Notes a server whose handshake the signal ends; forgets one whose handshake succeeds. */
  async watch<Value>(
    origin: Place,
    signal: AbortSignal,
    handshake: Promise<Value>,
  ): Promise<Value> {
    const place = placeOf(origin);
    // A handshake that was never answered may not even fail when it is closed.
    const note = () => this.#places.add(place);
    signal.addEventListener("abort", note, { once: true });
    try {
      const value = await handshake;
      this.#places.delete(place);
      return value;
    } finally {
      signal.removeEventListener("abort", note);
    }
  }
}

function placeOf({ hostname, port }: Place): string {
  return `${hostname} ${port}`;
}

/** Runs `work`, and closes a connection when it fails or the signal aborts meanwhile. */
async function closingOnFailure<Value>(
  connection: Deno.Conn,
  signal: AbortSignal,
  work: () => Promise<Value>,
): Promise<Value> {
  const close = () => {
    try {
      connection.close();
    } catch {
      // It is closed already.
    }
  };
  signal.addEventListener("abort", close, { once: true });
  try {
    signal.throwIfAborted();
    const value = await work();
    signal.throwIfAborted();
    return value;
  } catch (error) {
    close();
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

const encoder = new TextEncoder();

/** Asks a proxy for a tunnel (RFC 9110, section 9.3.6). */
async function openTunnel(
  connection: Deno.TcpConn,
  { hostname, port }: Origin,
  headers: readonly (readonly [string, string])[],
): Promise<void> {
  const host = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`;
  const request = encoder.encode(formatHead({
    method: "CONNECT",
    target: host,
    host,
    headers,
    bodyBytes: undefined,
  }));
  for (let at = 0; at < request.length;) {
    at += await connection.write(request.subarray(at));
  }
  const status = await readStatus(connection);
  if (status < 200 || status > 299) {
    throw new Error(`The proxy refused the tunnel with the status ${status}`);
  }
}

async function readStatus(connection: Deno.TcpConn): Promise<number> {
  try {
    return parseHead(await readHead(connection), "CONNECT").status;
  } catch (cause) {
    if (!(cause instanceof MalformedMessage)) throw cause;
    throw new Error("The proxy does not speak HTTP", { cause });
  }
}

/** Reads a head byte by byte: what follows belongs to TLS. */
async function readHead(connection: Deno.TcpConn): Promise<Uint8Array> {
  let bytes = new Uint8Array(1024);
  let length = 0;
  for (;;) {
    if (length === bytes.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(bytes);
      bytes = larger;
    }
    const count = await connection.read(bytes.subarray(length, length + 1));
    if (count === null) throw new Error("The proxy closed the connection");
    length += count;
    const head = bytes.subarray(0, length);
    if (findHeadEnd(head, length - count) !== undefined) return head;
  }
}
