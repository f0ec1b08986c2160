import type { Origin } from "../client/client.ts";
import { loopBack } from "./loopback.ts";
import { untilAbort } from "@gateway/base/time/deadlines";
import { systemTimers, type Timers } from "@gateway/base/time/timers";

/** A server counts as silent when a handshake has been unanswered for this long, in milliseconds. */
const SILENT_MS = 1000;

/** The most handshakes with one server that may keep their descriptors. */
const MAX_UNANSWERED = 8;

/** A handshake of the platform that the server has not answered. */
interface Unanswered {
  readonly startedMs: number;
  isGivenUp: boolean;
}

/** The options of a handshake. */
interface Terms {
  /** The server. The server's certificate must have the name of this host. */
  readonly origin: Pick<Origin, "hostname" | "port">;
  /** Authorities, as PEM, that are trusted in addition to the platform's authorities. */
  readonly caCerts: readonly string[];
  /** Ends the handshake when the signal aborts. */
  readonly signal: AbortSignal;
}

/** The handshakes of TLS as a client. */
export interface Handshakes {
  /** The number of abandoned handshakes. Each keeps its descriptor until the server closes the connection. */
  readonly abandoned: number;
  /**
   * Speaks TLS over a connection. If this fails, the caller closes the connection.
   *
   * @throws The reason of the platform, or the reason of the signal when the signal aborts.
   */
  secure(connection: Deno.TcpConn | Deno.TlsConn, terms: Terms): Promise<
    Deno.TlsConn
  >;
}

/**
 * Creates the handshakes. Deno keeps the descriptor of an unanswered handshake until the other end closes the
 * connection, whatever the gateway does. So connections to a server that may be silent take a detour through a local
 * connection. The gateway can close the other end of the local connection. Servers that answer are connected directly,
 * because the detour copies every byte.
 */
export function createHandshakes(timers: Timers = systemTimers): Handshakes {
  const unanswered = new Map<string, Set<Unanswered>>();

  function mayBeSilent(place: string): boolean {
    const known = unanswered.get(place);
    if (known === undefined) return false;
    const sinceMs = timers.elapsedMs() - SILENT_MS;
    return known.size >= MAX_UNANSWERED ||
      [...known].some((one) => one.isGivenUp || one.startedMs <= sinceMs);
  }

  /** Counts a handshake until it settles. */
  function begin(place: string): Unanswered {
    const known = unanswered.get(place) ?? new Set();
    unanswered.set(place, known);
    const one = { startedMs: timers.elapsedMs(), isGivenUp: false };
    known.add(one);
    return one;
  }

  function settle(place: string, one: Unanswered): void {
    const known = unanswered.get(place);
    known?.delete(one);
    if (known?.size === 0) unanswered.delete(place);
  }

  return {
    get abandoned() {
      return [...unanswered.values()].flatMap((known) => [...known])
        .filter(({ isGivenUp }) => isGivenUp).length;
    },
    async secure(connection, { origin: { hostname, port }, caCerts, signal }) {
      const place = `${hostname} ${port}`;
      const isDirect = !("handshake" in connection) && !mayBeSilent(place);
      const one = isDirect ? begin(place) : undefined;
      const leading = isDirect ? connection : loopBack(connection);
      const handshaking = (async () => {
        const tcp = await leading;
        const tls = await Deno.startTls(tcp, {
          hostname,
          alpnProtocols: ["http/1.1"],
          caCerts: [...caCerts],
        });
        try {
          await tls.handshake();
        } catch (error) {
          tls.close();
          throw error;
        }
        return tls;
      })().finally(() => one && settle(place, one));
      try {
        return await untilAbort(handshaking, signal);
      } catch (error) {
        if (one !== undefined) one.isGivenUp = true;
        // Closing the connection before the handshake settles frees nothing, and hides the end of the handshake.
        handshaking.then((tls) => tls.close(), () => {});
        throw error;
      }
    },
  };
}
