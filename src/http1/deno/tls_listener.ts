import { acceptAll, type Accepting, type AcceptTerms } from "./accept_all.ts";
import { carryBoth, LOCAL, openPair } from "./loopback.ts";
import { createDeadlines } from "@gateway/base/time/deadlines";

/** The age from which an unfinished handshake is slow, in milliseconds. */
const SLOW_MS = 1_000;

/**
 * While this many direct handshakes are unfinished, no connection is accepted. Also the most handshakes on the detour.
 */
const MAX_UNFINISHED = 32;

/** When this many direct handshakes are slow, new connections take the detour. */
const MANY_SLOW = 16;

/** The longest time for a handshake on the detour, in milliseconds. */
const HANDSHAKE_MS = 30_000;

/** The time between two checks whether the detour can end, in milliseconds. */
const CALM_MS = 60_000;

/** A handshake that is not complete; `far` is the caller's connection on the detour. */
interface Unfinished {
  readonly sinceMs: number;
  readonly far?: Deno.TcpConn;
}

/** The direct handshakes of all listeners of this thread. */
const kept = new Set<Unfinished>();

/** Resolves when another direct handshake may begin. */
let room: PromiseWithResolvers<void> | undefined;

function acceptMore(): void {
  room?.resolve();
  room = undefined;
}

/**
 * Listens with TLS. Deno keeps the descriptor of an unfinished handshake until its caller closes the connection,
 * whatever the gateway does. So once many handshakes are slow, each new connection takes a detour through a local
 * connection. The gateway can end the local connection. The detour copies every byte. New connections are direct again
 * when few handshakes are slow.
 */
export function listenTls(
  options: Deno.TlsCertifiedKeyPem & typeof LOCAL,
  terms: AcceptTerms<Deno.TlsConn>,
): Accepting {
  const deadlines = createDeadlines(terms.timers);
  const tls = { ...options, alpnProtocols: ["http/1.1"] };
  const led = new Set<Unfinished>();
  let stopLooking = () => {};
  let isLed = countSlow(kept) >= MANY_SLOW;

  function countSlow(some: ReadonlySet<Unfinished>): number {
    const dueMs = deadlines.elapsedMs() - SLOW_MS;
    return [...some].filter(({ sinceMs }) => sinceMs <= dueMs).length;
  }

  /** Hands a connection on after its handshake. If it were closed earlier, the handshake would go on uncounted. */
  async function finish(
    socket: Deno.TlsConn,
    one: Unfinished,
    among: Set<Unfinished>,
  ): Promise<void> {
    among.add(one);
    const stop = deadlines.start(SLOW_MS, () => {
      if (!isLed && countSlow(kept) >= MANY_SLOW) change();
    });
    const isDone = await socket.handshake().then(() => true, () => false);
    stop();
    among.delete(one);
    if (kept.size < MAX_UNFINISHED) acceptMore();
    if (isDone) terms.onSocket(socket);
    else socket.close();
  }

  function end(one: Unfinished | undefined): void {
    if (one === undefined || !led.delete(one)) return;
    try {
      one.far?.close();
    } catch {
      // The caller has closed it already.
    }
  }

  /** Ends the oldest handshake of the peer that has the most handshakes. */
  function endOne(): void {
    const byPeer = Map.groupBy(led, ({ far }) => far?.remoteAddr.hostname);
    const most = [...byPeer.values()].sort((a, b) => b.length - a.length);
    end(most[0]?.[0]);
  }

  async function lead(far: Deno.TcpConn): Promise<void> {
    const one = { sinceMs: deadlines.elapsedMs(), far };
    led.add(one);
    if (led.size > MAX_UNFINISHED) endOne();
    const stop = deadlines.start(HANDSHAKE_MS, () => end(one));
    try {
      const listener = Deno.listenTls({ ...tls, ...LOCAL });
      const { near, inner } = await openPair(listener);
      void carryBoth(near, far);
      Object.defineProperty(inner, "remoteAddr", { value: far.remoteAddr });
      await finish(inner, one, led);
    } catch {
      // No descriptor is left for the detour.
      end(one);
    } finally {
      stop();
    }
  }

  function open(port: number): Accepting {
    const place = { ...tls, port, reusePort: true };
    if (isLed) {
      const onShortage = () => {
        endOne();
        terms.onShortage?.();
      };
      return acceptAll(Deno.listen(place), {
        ...{ ...terms, onShortage },
        onSocket: (far) => void lead(far),
      });
    }
    return acceptAll(Deno.listenTls(place), {
      ...terms,
      onSocket(socket) {
        void finish(socket, { sinceMs: deadlines.elapsedMs() }, kept);
        if (kept.size < MAX_UNFINISHED) return;
        return (room ??= Promise.withResolvers()).promise;
      },
    });
  }

  let outer = open(options.port);

  /** Changes between direct and detour. Where two listeners cannot share the port, the first listener stays. */
  function change(): void {
    const old = outer;
    isLed = !isLed;
    try {
      outer = open(old.addr.port);
      acceptMore();
      void old.close();
    } catch {
      isLed = !isLed;
    }
    look();
  }

  /** Checks from time to time whether the detour is still needed. */
  function look(): void {
    if (!isLed) return;
    stopLooking = deadlines.start(CALM_MS, () => {
      if (countSlow(led) + countSlow(kept) < MANY_SLOW) change();
      else look();
    });
  }

  look();
  return {
    addr: outer.addr,
    async close() {
      // From now on, a late handshake opens no other listener.
      isLed = true;
      stopLooking();
      acceptMore();
      await outer.close();
      for (const one of led) end(one);
    },
  };
}
