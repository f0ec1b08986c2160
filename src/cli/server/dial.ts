import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Dial, Dialed, Origin } from "../../upstream/http1/client.ts";
import {
  findHeadEnd,
  formatHead,
  parseHead,
} from "../../upstream/http1/head.ts";
import type { ProxyRoute } from "./proxy_route.ts";

/** The time before the next address of a host is tried beside the first (RFC 8305, section 5), in milliseconds. */
const NEXT_ADDRESS_MS = 250;

/**
 * Returns the way to open connections on this platform: name resolution, TCP, a proxy's tunnel and TLS. Certificates
 * are checked by the platform's store, as `DENO_CERT` and `DENO_TLS_CA_STORE` set it.
 *
 * @param routeOf Finds the proxy of an origin.
 */
export function createDial(routeOf: (origin: Origin) => ProxyRoute): Dial {
  return async (origin, signal) => {
    const route = routeOf(origin);
    if (route.kind !== "proxy") {
      return { duplex: await connectTo(origin, signal) };
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
        return await secure(tunnel, origin.hostname, signal);
      }),
    };
  };
}

async function connectTo(
  origin: Origin,
  signal: AbortSignal,
): Promise<Deno.Conn> {
  const connection = await openTcp(origin, signal);
  return origin.isSecure
    ? await secure(connection, origin.hostname, signal)
    : connection;
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
  const [only] = addresses;
  const connection = only !== undefined && addresses.length === 1
    ? await Deno.connect({ hostname: only, port, signal })
    : await raceAddresses(addresses, port, signal);
  if (signal.aborted) {
    connection.close();
    throw signal.reason;
  }
  connection.setNoDelay(true);
  return connection;
}

async function resolve(hostname: string): Promise<string[]> {
  try {
    const found = await lookup(hostname, { all: true });
    return alternate(found);
  } catch (cause) {
    throw new Error("The host name lookup failed", { cause });
  }
}

/** Orders addresses so that the families take turns, beginning with the family of the first (RFC 8305, section 4). */
function alternate(
  found: readonly { readonly address: string; readonly family: number }[],
): string[] {
  const [first] = found;
  const preferred = found.filter(({ family }) => family === first?.family);
  const others = found.filter(({ family }) => family !== first?.family);
  return preferred.flatMap((one, index) => [one, others[index]])
    .concat(others.slice(preferred.length))
    .flatMap((one) => one === undefined ? [] : [one.address]);
}

/** Tries one address after another, the next when the one before fails or is slow. */
async function raceAddresses(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  const decided = new AbortController();
  const attempts: Promise<Deno.TcpConn>[] = [];
  const either = AbortSignal.any([signal, decided.signal]);
  try {
    for (const hostname of addresses) {
      const attempt = Deno.connect({ hostname, port, signal: either });
      attempts.push(attempt);
      const isLast = attempts.length === addresses.length;
      const won = await firstOf(attempts, isLast ? Infinity : NEXT_ADDRESS_MS);
      if (won !== undefined) return closeOthers(attempts, won);
    }
    throw new Error("The host has no addresses");
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  } finally {
    decided.abort();
  }
}

/**
 * Waits for the first of the attempts that succeeds.
 *
 * @returns `undefined` when none has after `withinMs` milliseconds, or when the newest has failed before.
 * @throws {AggregateError} When all have failed, and no more are to come.
 */
async function firstOf(
  attempts: readonly Promise<Deno.TcpConn>[],
  withinMs: number,
): Promise<Deno.TcpConn | undefined> {
  const success = Promise.any(attempts);
  if (withinMs === Infinity) return await success;
  success.catch(() => {
    // The next address is tried.
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), withinMs);
  });
  const failed = attempts.at(-1)?.then(() => new Promise<never>(() => {}))
    .catch(() => undefined);
  try {
    return await Promise.race([success.catch(() => late), late, failed]);
  } finally {
    clearTimeout(timer);
  }
}

function closeOthers(
  attempts: readonly Promise<Deno.TcpConn>[],
  won: Deno.TcpConn,
): Deno.TcpConn {
  for (const attempt of attempts) {
    attempt.then((other) => {
      if (other !== won) other.close();
    }, () => {
      // It failed, or was given up.
    });
  }
  return won;
}

async function secure(
  connection: Deno.TcpConn,
  hostname: string,
  signal: AbortSignal,
): Promise<Deno.TlsConn> {
  const tls = await Deno.startTls(connection, {
    hostname,
    alpnProtocols: ["http/1.1"],
  });
  return await closingOnFailure(tls, signal, async () => {
    await tls.handshake();
    return tls;
  });
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
  const { status } = parseHead(await readHead(connection), "CONNECT");
  if (status < 200 || status > 299) {
    throw new Error(`The proxy refused the tunnel with the status ${status}`);
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
