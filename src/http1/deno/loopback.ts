/**
 * Leads a connection through a local TCP connection, for `Deno.startTls`. That function accepts no TLS connection, and
 * its handshake can be ended only by closing the other end. Copies every byte.
 *
 * @param far Closed together with the result. When the bytes of `far` end, so do the bytes that the result returns.
 */
export async function loopBack(far: Deno.Conn): Promise<Deno.TcpConn> {
  const { near, inner } = await openPair(Deno.listen(LOCAL));
  inner.setNoDelay(true);
  void carryBoth(inner, far);
  return near;
}

/** A free port of the loopback interface. */
export const LOCAL = { hostname: "127.0.0.1", port: 0 };

/** Opens both ends of a local connection, and closes the listener. */
export async function openPair<Inner extends Deno.Conn<Deno.NetAddr>>(
  listening: Deno.Listener<Inner, Deno.NetAddr>,
): Promise<{ readonly near: Deno.TcpConn; readonly inner: Inner }> {
  using listener = listening;
  const { hostname, port } = listener.addr;
  const near = await Deno.connect({ hostname, port });
  try {
    near.setNoDelay(true);
    return { near, inner: await acceptFrom(listener, near.localAddr.port) };
  } catch (error) {
    near.close();
    throw error;
  }
}

/** Accepts the connection from a port. Closes other connections, because another program may have connected first. */
async function acceptFrom<Inner extends Deno.Conn<Deno.NetAddr>>(
  listener: Deno.Listener<Inner, Deno.NetAddr>,
  port: number,
): Promise<Inner> {
  for (;;) {
    const connection = await listener.accept();
    if (connection.remoteAddr.port === port) return connection;
    connection.close();
  }
}

/** Carries the bytes of both directions, and closes both connections at the end. */
export async function carryBoth(
  inner: Deno.TcpConn,
  far: Deno.Conn,
): Promise<void> {
  void carry(far, inner).then(() => inner.closeWrite()).catch(() => {
    // The gateway has closed its end.
  });
  await carry(inner, far);
  for (const connection of [inner, far]) {
    try {
      connection.close();
    } catch {
      // It is closed already.
    }
  }
}

/** The size of the buffer of one direction: a TLS record and its head fit. */
const BUFFER_BYTES = 32 * 1024;

/**
 * Copies bytes until they end. Goes on reading when a write fails, because the other direction may still have bytes.
 */
async function carry(from: Deno.Conn, to: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(BUFFER_BYTES);
  let isTaken = true;
  for (;;) {
    const size = await from.read(buffer).catch(() => null);
    if (size === null) return;
    let rest = buffer.subarray(0, size);
    while (isTaken && rest.length > 0) {
      const count = await to.write(rest).catch(() => 0);
      isTaken = count > 0;
      rest = rest.subarray(count);
    }
  }
}
