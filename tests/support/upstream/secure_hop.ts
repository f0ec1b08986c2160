import { testCertificate } from "./test_certificate.ts";

/** A hop of TLS, such as a proxy that speaks it. */
interface SecureHop extends AsyncDisposable {
  readonly port: number;
}

/** Starts a server with the tests' certificate that passes what it deciphers to a port of this machine. */
export function startSecureHop(port: number): SecureHop {
  const { cert, key } = testCertificate;
  const place = { hostname: "127.0.0.1", port: 0 };
  const listener = Deno.listenTls({ ...place, cert, key });
  const passing: Promise<void>[] = [];

  async function pass(near: Deno.Conn): Promise<void> {
    const far = await Deno.connect({ hostname: "127.0.0.1", port });
    // Either side may end it, in a handshake too.
    await Promise.race([carry(near, far), carry(far, near)]).catch(() => {});
    near.close();
    far.close();
  }

  const accepting = (async () => {
    for await (const near of listener) passing.push(pass(near));
  })();
  return {
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(passing);
    },
  };
}

async function carry(from: Deno.Conn, to: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(65_536);
  for (;;) {
    const size = await from.read(buffer);
    if (size === null) return;
    let rest = buffer.subarray(0, size);
    while (rest.length > 0) rest = rest.subarray(await to.write(rest));
  }
}
