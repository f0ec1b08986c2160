import { listenTls } from "../../../src/http1/deno/tls_listener.ts";
import type { Duplex } from "../../../src/http1/duplex.ts";
import assert from "node:assert/strict";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import {
  nextTestCertificate,
  testCertificate,
} from "../../support/upstream/test_certificate.ts";
import { until, within } from "../../support/within.ts";

/** The age from which an unfinished handshake is slow, in milliseconds. */
const SLOW_MS = 1_000;

/** The number of slow handshakes from which further connections take the detour. */
const MANY_SLOW = 16;

/** The most unfinished handshakes on the detour. */
const MAX_UNFINISHED = 32;

/** The longest time of a handshake on the detour, in milliseconds. */
const HANDSHAKE_MS = 30_000;

/** The time without a slow handshake that ends the detour, in milliseconds. */
const CALM_MS = 60_000;

/** The beginning of a client's first message. */
const HALF_HELLO = Uint8Array.of(0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3);

/** The class names of the platform's own connections, which a caller on the detour does not get. */
type Way = "direct" | "detour";

/** Listens on a clock that stands still, and echoes. */
function begin() {
  const timers = createFakeTimers();
  const served: { readonly way: Way; readonly socket: Deno.TlsConn }[] = [];
  const open = (port: number, tls = testCertificate) =>
    listenTls({ hostname: "127.0.0.1", port, ...tls }, {
      onSocket(socket) {
        const isDirect = socket.localAddr.port === listener.addr.port;
        served.push({ way: isDirect ? "direct" : "detour", socket });
        void echo(socket);
      },
      timers,
    });
  let listener = open(0);
  const { port } = listener.addr;
  const callers: Deno.Conn[] = [];

  /** A caller whose handshake stalls. */
  async function stop(): Promise<{ readonly isCut: () => boolean }> {
    const caller = await Deno.connect({ hostname: "127.0.0.1", port });
    callers.push(caller);
    await caller.write(HALF_HELLO);
    let isCut = false;
    caller.read(new Uint8Array(1)).catch(() => null)
      .then(() => isCut = true);
    return { isCut: () => isCut };
  }

  return {
    timers,
    served,
    callers,
    stop,
    stopMany: (count: number) =>
      Promise.all(Array.from({ length: count }, stop)),
    /**
     * Sends a word and receives it back; returns the route that it took. It connects again if a closing listener
     * resets the connection.
     */
    async speak(certificate = testCertificate): Promise<Way | undefined> {
      let caller: Deno.TlsConn | undefined;
      await until(async () => {
        caller = await connect(port, certificate.cert).catch(() => undefined);
        return caller !== undefined;
      }, "a handshake");
      assert.ok(caller);
      callers.push(caller);
      await caller.write(new TextEncoder().encode("word"));
      const bytes = new Uint8Array(9);
      assert.equal(await within(caller.read(bytes), "the echo"), 4);
      const last = served.at(-1);
      assert.deepEqual(last?.socket.remoteAddr, caller.localAddr);
      return last?.way;
    },
    async renew() {
      const old = listener;
      listener = open(port, nextTestCertificate);
      await old.close();
    },
    leave() {
      for (const caller of callers.splice(0)) caller.close();
    },
    async [Symbol.asyncDispose]() {
      this.leave();
      await listener.close();
      for (const { socket } of served) {
        try {
          socket.close();
        } catch {
          // The test has closed it.
        }
      }
      await until(() => {
        timers.advance(HANDSHAKE_MS);
        return timers.running === 0;
      }, "the last connection to end");
    },
  };
}

async function connect(port: number, cert: string): Promise<Deno.TlsConn> {
  const caller = await Deno.connectTls({
    ...{ hostname: "localhost", port, caCerts: [cert] },
    alpnProtocols: ["h2", "http/1.1"],
  });
  try {
    const { alpnProtocol } = await within(caller.handshake(), "a handshake");
    assert.equal(alpnProtocol, "http/1.1");
    return caller;
  } catch (error) {
    caller.close();
    throw error;
  }
}

async function echo(socket: Duplex): Promise<void> {
  const bytes = new Uint8Array(100);
  for (;;) {
    const size = await socket.read(bytes).catch(() => null);
    if (size === null) return;
    await socket.write(bytes.subarray(0, size)).catch(() => 0);
  }
}

Deno.test("a few stalled TLS handshakes change nothing for other callers", async () => {
  await using scene = begin();
  await scene.stopMany(MANY_SLOW - 1);
  assert.equal(await scene.speak(), "direct");
  scene.timers.advance(SLOW_MS);
  assert.equal(await scene.speak(), "direct");
});

Deno.test("after many stalled TLS handshakes, a handshake times out after 30 s, and the peer with the most loses its oldest one at once", async () => {
  await using scene = begin();
  await scene.stopMany(MANY_SLOW);
  assert.equal(await scene.speak(), "direct");
  scene.timers.advance(SLOW_MS);
  assert.equal(await scene.speak(), "detour");
  const first = await scene.stop();
  assert.equal(await scene.speak(), "detour");
  const others = [];
  for (let count = 1; count < MAX_UNFINISHED; count++) {
    others.push(await scene.stop());
  }
  assert.equal(await scene.speak(), "detour");
  await until(first.isCut, "the oldest handshake to give way");
  assert.ok(!others.at(-1)?.isCut());
  scene.timers.advance(HANDSHAKE_MS);
  for (const one of others) await until(one.isCut, "each handshake to end");
  assert.equal(await scene.speak(), "detour");
});

Deno.test("stalled TLS handshakes also count for the listener of the next certificate", async () => {
  await using scene = begin();
  await scene.stopMany(MANY_SLOW);
  assert.equal(await scene.speak(), "direct");
  scene.timers.advance(SLOW_MS);
  await scene.renew();
  assert.equal(await scene.speak(nextTestCertificate), "detour");
});

Deno.test("callers reach the platform's TLS directly again after a minute without a stalled handshake", async () => {
  await using scene = begin();
  await scene.stopMany(MANY_SLOW);
  assert.equal(await scene.speak(), "direct");
  scene.timers.advance(SLOW_MS);
  assert.equal(await scene.speak(), "detour");
  scene.timers.advance(CALM_MS);
  assert.equal(await scene.speak(), "detour");
  scene.leave();
  await until(async () => {
    scene.timers.advance(CALM_MS);
    return await scene.speak() === "direct";
  }, "the detour to end");
});

/** More bytes than all buffers between the two ends hold. */
const LONG = new Uint8Array(32 * 1024 * 1024);

Deno.test("a caller whose TLS takes the detour receives all bytes that were written before the connection closed", async () => {
  await using scene = begin();
  await scene.stopMany(MANY_SLOW);
  assert.equal(await scene.speak(), "direct");
  scene.timers.advance(SLOW_MS);
  assert.equal(await scene.speak(), "detour");
  const caller = scene.callers.at(-1) ?? assert.fail("nobody called");
  const { socket } = scene.served.at(-1) ?? assert.fail("nobody is served");
  const reading = readAll(caller);
  await within(writeAll(socket, LONG), "the writes");
  socket.close();
  assert.equal(await reading, LONG.length);
});

async function writeAll(socket: Duplex, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += await socket.write(bytes.subarray(at));
  }
}

/** Returns the number of bytes up to the end of TLS. */
async function readAll(caller: Deno.Conn): Promise<number> {
  const buffer = new Uint8Array(65_536);
  let bytes = 0;
  for (;;) {
    const size = await within(caller.read(buffer), "the end");
    if (size === null) return bytes;
    bytes += size;
  }
}
