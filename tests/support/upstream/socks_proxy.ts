import { carry, startTcpServer } from "./tcp_server.ts";

/** A client's request to a SOCKS proxy. */
export interface SocksRequest {
  /** The offered methods of authentication. */
  readonly methods: readonly number[];
  /** The user name and the password, if the proxy wanted them. */
  readonly credentials?: string;
  /** The kind of the address: 1, 3 or 4. */
  readonly kind: number;
  /** The address: bytes, or the text of a name. */
  readonly address: string;
  readonly port: number;
}

/** A SOCKS5 proxy on this machine. */
export interface SocksProxy extends AsyncDisposable {
  readonly port: number;
  readonly requests: readonly SocksRequest[];
  /** The number of connections that the client keeps open. */
  readonly open: number;
}

/** The options of {@linkcode startSocksProxy}. */
interface SocksOptions {
  /** The port of this machine to which every connection leads. */
  readonly tunnelTo?: number;
  /** The user and password, separated by a colon; absent if it asks for none. */
  readonly wants?: string;
  /** Its reply to a request; default: success, with an IPv4 address. */
  readonly reply?: readonly number[];
  /** The method of authentication that it chooses; by default, the one that `wants` needs. */
  readonly method?: number;
  /** Handles a connection in place of the proxy. */
  readonly talk?: (connection: Deno.Conn) => Promise<void>;
}

const SUCCESS = [5, 0, 0, 1, 127, 0, 0, 1, 0x1f, 0x90];

/** Starts a SOCKS5 proxy (RFC 1928, RFC 1929) that leads every connection to one port of this machine. */
export function startSocksProxy(
  { tunnelTo, wants, reply = SUCCESS, ...options }: SocksOptions,
): SocksProxy {
  const requests: SocksRequest[] = [];
  const tunnels = new Set<Deno.Conn>();
  const decoder = new TextDecoder();
  const { method = wants === undefined ? 0 : 2 } = options;

  async function talk(connection: Deno.Conn): Promise<void> {
    const [, count = 0] = await read(connection, 2);
    const methods = [...await read(connection, count)];
    await write(connection, [5, method]);
    let credentials: string | undefined;
    if (method === 2) {
      const [, userBytes = 0] = await read(connection, 2);
      const user = decoder.decode(await read(connection, userBytes));
      const [passwordBytes = 0] = await read(connection, 1);
      const password = decoder.decode(await read(connection, passwordBytes));
      credentials = `${user}:${password}`;
      await write(connection, [1, credentials === wants ? 0 : 1]);
      if (credentials !== wants) return;
    }
    const [, , , kind = 0] = await read(connection, 4);
    const length = kind === 3 ? (await read(connection, 1))[0] : kind * 4;
    const address = await read(connection, length ?? 0);
    const [high = 0, low = 0] = await read(connection, 2);
    requests.push({
      methods,
      ...(credentials === undefined ? {} : { credentials }),
      kind,
      address: kind === 3 ? decoder.decode(address) : address.join("."),
      port: high * 256 + low,
    });
    if (tunnelTo === undefined) return await write(connection, reply);
    const far = await Deno.connect({ hostname: "127.0.0.1", port: tunnelTo });
    tunnels.add(far);
    await write(connection, reply);
    await Promise.allSettled([
      carry(connection, far).then(() => far.closeWrite()),
      carry(far, connection).then(() => connection.closeWrite()),
    ]);
    tunnels.delete(far);
    far.close();
  }

  const server = startTcpServer(options.talk ?? talk);
  return {
    port: server.port,
    requests,
    get open() {
      return server.open.size + tunnels.size;
    },
    async [Symbol.asyncDispose]() {
      // The other ends of the tunnels notice, and close them.
      server.closeAll();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function read(connection: Deno.Conn, count: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count;) {
    const size = await connection.read(bytes.subarray(at));
    if (size === null) throw new Error("The client left");
    at += size;
  }
  return bytes;
}

/** Writes byte by byte, as a slow network may deliver them. */
async function write(
  connection: Deno.Conn,
  bytes: readonly number[],
): Promise<void> {
  for (const byte of bytes) await connection.write(Uint8Array.of(byte));
}
