import type { Dial, Origin } from "../client/client.ts";
import { MalformedMessage, ProxyFailure } from "../failure.ts";
import { findHeadEnd, formatHead, parseHead } from "../head.ts";
import { alternate, raceAddresses } from "./address_race.ts";
import { createHandshakes, type Handshakes } from "./handshakes.ts";
import type { ProxyRoute } from "./proxy_route.ts";
import { openSocksTunnel } from "./socks5.ts";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { countFree } from "./descriptors.ts";

/**
 * Returns a function that opens connections: name resolution, TCP, a proxy's tunnel and TLS. Certificates are checked
 * with the platform's store. `DENO_CERT` and `DENO_TLS_CA_STORE` set this store.
 *
 * @param routeOf Finds the proxy of an origin.
 * @param caCerts Authorities, as PEM, that are trusted in addition to the platform's authorities.
 */
export function createDial(
  routeOf: (origin: Origin) => ProxyRoute,
  caCerts: readonly string[] = [],
  handshakes: Handshakes = createHandshakes(),
): Dial {
  /** Speaks TLS over a connection if its other end is secure. */
  async function secure(
    connection: Deno.TcpConn | Deno.TlsConn,
    origin: Origin,
    signal: AbortSignal,
  ): Promise<Deno.TcpConn | Deno.TlsConn> {
    if (!origin.isSecure) return connection;
    const terms = { origin, caCerts, signal };
    return await closingOnFailure(
      connection,
      signal,
      () => handshakes.secure(connection, terms),
    );
  }

  return async (origin, signal) => {
    const route = routeOf(origin);
    if (route.kind === "invalid") {
      throw new ProxyFailure("the address of the proxy is not valid");
    }
    if (route.kind === "direct") {
      const connection = await openTcp(origin, signal);
      return { duplex: await secure(connection, origin, signal) };
    }
    const connection = await openTcp(route.proxy, signal);
    if (route.kind === "socks") {
      const { credentials } = route.proxy;
      await closingOnFailure(
        connection,
        signal,
        () => openSocksTunnel(connection, origin, credentials),
      );
      return { duplex: await secure(connection, origin, signal) };
    }
    const { proxy } = route;
    const duplex = await secure(connection, proxy, signal);
    if (!origin.isSecure) return { duplex, proxyHeaders: proxy.headers };
    await closingOnFailure(
      duplex,
      signal,
      () => openTunnel(duplex, origin, proxy.headers),
    );
    return { duplex: await secure(duplex, origin, signal) };
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
  connection.setKeepAlive(true);
  return connection;
}

/** Connects to an address. May return a connection even if the signal has aborted meanwhile. */
async function connectTo(
  place: Place,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  signal.throwIfAborted();
  // Deno checks its signal once more after it has connected. If that check threw, the connection could not be closed.
  const silent = { throwIfAborted() {} };
  const cancelling = Object.assign(AbortSignal.any([signal]), silent);
  return await Deno.connect({ ...place, signal: cancelling });
}

/** More descriptors than simultaneous name lookups need. */
const LOOKUP_DESCRIPTORS = 16;

async function resolve(hostname: string): Promise<string[]> {
  try {
    const found = await lookup(hostname, { all: true });
    return alternate(found);
  } catch (cause) {
    // Without a free descriptor, a resolver reports that the name is unknown.
    if (countFree(LOOKUP_DESCRIPTORS) !== undefined) {
      throw new Error("Too many open files", { cause });
    }
    throw new Error("The host name lookup failed", { cause });
  }
}

/** Runs `work`, and closes a connection when `work` fails or the signal aborts meanwhile. */
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
    return await work();
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
  connection: Deno.Conn,
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
    throw new ProxyFailure(
      status === 407
        ? "the proxy did not accept the credentials"
        : "the proxy did not connect to it",
    );
  }
}

async function readStatus(connection: Deno.Conn): Promise<number> {
  try {
    return parseHead(await readHead(connection), "CONNECT").status;
  } catch (cause) {
    if (!(cause instanceof MalformedMessage)) throw cause;
    throw new ProxyFailure("the proxy does not speak HTTP", { cause });
  }
}

/** Reads a head byte by byte, because the bytes after the head belong to TLS. */
async function readHead(connection: Deno.Conn): Promise<Uint8Array> {
  let bytes = new Uint8Array(1024);
  let length = 0;
  for (;;) {
    if (length === bytes.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(bytes);
      bytes = larger;
    }
    const count = await connection.read(bytes.subarray(length, length + 1));
    if (count === null) {
      throw new ProxyFailure("the proxy closed the connection");
    }
    length += count;
    const head = bytes.subarray(0, length);
    if (findHeadEnd(head, length - count) !== undefined) return head;
  }
}
