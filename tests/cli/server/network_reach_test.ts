import assert from "node:assert/strict";
import { networkReach } from "../../../src/cli/server/network_reach.ts";
import { within } from "../../support/within.ts";

const reach = networkReach(() => undefined);

function listen(): {
  readonly port: number;
  readonly listener: Deno.TcpListener;
} {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return { listener, port: listener.addr.port };
}

Deno.test("networkReach() reaches a host that accepts connections", async () => {
  assert.ok(reach);
  const { listener, port } = listen();
  const accepted = listener.accept();
  await reach(`http://127.0.0.1:${port}/v1`, AbortSignal.timeout(10_000));
  (await accepted).close();
  listener.close();
});

Deno.test("networkReach() rejects where nobody listens", async () => {
  assert.ok(reach);
  const { listener, port } = listen();
  listener.close();
  await assert.rejects(
    reach(`http://127.0.0.1:${port}/v1`, AbortSignal.timeout(10_000)),
    Deno.errors.ConnectionRefused,
  );
});

Deno.test("networkReach() gives a TLS handshake up that stalls, and leaves nothing open", async () => {
  assert.ok(reach);
  const { listener, port } = listen();
  const accepted = listener.accept();
  const late = new AbortController();
  const work = reach(`https://127.0.0.1:${port}/v1`, late.signal);
  const failed = assert.rejects(work);
  const peer = await accepted;
  await peer.read(new Uint8Array(1));
  late.abort();
  await within(failed, "the handshake to be given up");
  peer.close();
  listener.close();
});

Deno.test("networkReach() proves nothing behind a proxy", () => {
  for (const name of ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"]) {
    const env = (asked: string) => asked === name ? "http://proxy" : undefined;
    assert.equal(networkReach(env), undefined);
  }
});
