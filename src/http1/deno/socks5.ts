import type { Duplex } from "../duplex.ts";
import { ProxyFailure } from "../failure.ts";
import type { SocksProxy } from "./proxy_route.ts";
import { isIP } from "node:net";

const VERSION = 5;
const CONNECT = 1;
const SUCCESS = 0;

/** The ways to authenticate (RFC 1928, section 3). */
const METHOD = { none: 0, password: 2 };

/** The version of the exchange of a user name and a password (RFC 1929). */
const PASSWORD_VERSION = 1;

/** The kinds of addresses, with their lengths in bytes (RFC 1928, section 5). */
const ADDRESS = { ipv4: 1, name: 3, ipv6: 4 };
const ADDRESS_BYTES = new Map([[ADDRESS.ipv4, 4], [ADDRESS.ipv6, 16]]);

/** The length of the port after the address of a reply, in bytes. */
const PORT_BYTES = 2;

/** The meanings of the reply codes (RFC 1928, section 6). */
const REFUSALS: ReadonlyMap<number, string> = new Map([
  [1, "the proxy failed"],
  [2, "the proxy's rules do not allow it"],
  [3, "its network is unreachable for the proxy"],
  [4, "its host is unreachable for the proxy"],
  [5, "it refused the proxy's connection"],
  [6, "the proxy's connection to it timed out"],
  [7, "the proxy opens no connections"],
  [8, "the proxy does not know this kind of address"],
]);

const encoder = new TextEncoder();

/**
 * Asks a SOCKS5 proxy for a connection (RFC 1928). The proxy looks names up.
 *
 * @param connection An open connection to the proxy. It carries the bytes of the provider afterwards.
 * @throws {ProxyFailure} When the proxy refuses, closes the connection or does not speak SOCKS5.
 */
export async function openSocksTunnel(
  connection: Duplex,
  { hostname, port }: Pick<SocksProxy, "hostname" | "port">,
  credentials: SocksProxy["credentials"],
): Promise<void> {
  const methods = credentials === undefined
    ? [METHOD.none]
    : [METHOD.none, METHOD.password];
  await writeAll(connection, [VERSION, methods.length, ...methods]);
  const [version, method = -1] = await readBytes(connection, 2);
  requireVersion(version);
  if (!methods.includes(method)) {
    throw new ProxyFailure(
      credentials === undefined
        ? "the proxy wants credentials"
        : "the proxy does not take a user name and a password",
    );
  }
  if (method === METHOD.password && credentials !== undefined) {
    const [user, password] = credentials;
    await writeAll(connection, [
      ...[PASSWORD_VERSION, user.length, ...user],
      ...[password.length, ...password],
    ]);
    const [, status] = await readBytes(connection, 2);
    if (status !== SUCCESS) {
      throw new ProxyFailure("the proxy did not accept the credentials");
    }
  }
  await writeAll(connection, [
    ...[VERSION, CONNECT, 0],
    ...addressBytes(hostname),
    ...[port >> 8, port & 0xff],
  ]);
  await readReply(connection);
}

async function readReply(connection: Duplex): Promise<void> {
  const [version, code = -1, , kind = -1] = await readBytes(connection, 4);
  requireVersion(version);
  if (code !== SUCCESS) {
    throw new ProxyFailure(
      REFUSALS.get(code) ?? "the proxy did not connect to it",
    );
  }
  const length = kind === ADDRESS.name
    ? (await readBytes(connection, 1))[0]
    : ADDRESS_BYTES.get(kind);
  if (length === undefined) throw new ProxyFailure(OTHER_PROTOCOL);
  await readBytes(connection, length + PORT_BYTES);
}

const OTHER_PROTOCOL = "the proxy does not speak SOCKS5";

function requireVersion(version: number | undefined): void {
  if (version !== VERSION) throw new ProxyFailure(OTHER_PROTOCOL);
}

function addressBytes(hostname: string): number[] {
  const family = isIP(hostname);
  if (family === 4) return [ADDRESS.ipv4, ...hostname.split(".").map(Number)];
  if (family === 6) return [ADDRESS.ipv6, ...ipv6Bytes(hostname)];
  const name = encoder.encode(hostname);
  if (name.length > 255) {
    throw new ProxyFailure("its host name is too long for the proxy");
  }
  return [ADDRESS.name, name.length, ...name];
}

/**
 * @param address An IPv6 address: the `hostname` of a URL without brackets. Such an address has no IPv4 part and no
 * zone.
 */
function ipv6Bytes(address: string): number[] {
  const [left = [], right = []] = address.split("::")
    .map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = new Array<string>(8 - left.length - right.length).fill("0");
  return [...left, ...zeros, ...right]
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 0xff]);
}

async function writeAll(
  connection: Duplex,
  bytes: readonly number[],
): Promise<void> {
  let rest = Uint8Array.from(bytes);
  while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
}

/** Reads exactly `count` bytes, because further bytes belong to the provider. */
async function readBytes(
  connection: Duplex,
  count: number,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(count);
  for (let length = 0; length < count;) {
    const more = await connection.read(bytes.subarray(length));
    if (more === null) {
      throw new ProxyFailure("the proxy closed the connection");
    }
    length += more;
  }
  return bytes;
}
