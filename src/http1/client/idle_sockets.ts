import type { Socket } from "./socket.ts";
import { setImmediate } from "node:timers";
import type { Cancel, Deadlines } from "@gateway/base/time/deadlines";

/**
 * The time for which an idle socket is kept, in milliseconds: load balancers and firewalls drop idle connections after
 * 60 s.
 */
const IDLE_MS = 30_000;

/** The age from which a socket serves no more requests, in milliseconds: the host may have another address by then. */
const MAX_AGE_MS = 300_000;

/**
 * If the provider has announced when it closes a socket, the client closes the socket this many milliseconds earlier.
 */
const MARGIN_MS = 1000;

/** A socket that is idle. */
interface Idle {
  readonly socket: PooledSocket;
  /** When the socket became idle, on the clock of the deadlines. */
  readonly sinceMs: number;
  readonly stopWaiting: Cancel;
}

/** A socket, the headers that its proxy needs, and the time when the socket was opened. */
export interface PooledSocket extends Socket {
  proxyHeaders?: readonly (readonly [string, string])[] | undefined;
  openedMs?: number;
  /**
   * Resolves at the end of the event loop's turn in which the socket became idle. Until then, the provider may close
   * the socket or send surplus bytes.
   */
  rest?: Promise<void> | undefined;
}

/**
 * The idle sockets of a client, by origin. The socket that became idle last serves first, so that unneeded sockets grow
 * old and close.
 */
export class IdleSockets {
  readonly #byOrigin = new Map<string, Idle[]>();
  /** The requests that wait for a socket of each origin, the oldest first. */
  readonly #waiting = new Map<string, Set<(socket: PooledSocket) => void>>();
  readonly #deadlines: Deadlines;
  readonly #maxIdle: number;
  #turn: Promise<void> | undefined;
  #isDisposed = false;

  /** @param maxIdle The most idle sockets to one origin. */
  constructor(deadlines: Deadlines, maxIdle: number) {
    this.#deadlines = deadlines;
    this.#maxIdle = maxIdle;
  }

  take(key: string, nowMs: number): PooledSocket | undefined {
    const idle = this.#byOrigin.get(key);
    let found: Idle | undefined;
    do {
      found = idle?.pop();
      found?.stopWaiting();
      if (found !== undefined && isOld(found.socket, nowMs)) {
        found.socket.close();
      }
    } while (found?.socket.isClosed);
    return found?.socket;
  }

  /**
   * Waits for the next socket that becomes idle.
   *
   * @returns A function that stops the wait. This function returns false when `onSocket` was called before.
   */
  wait(key: string, onSocket: (socket: PooledSocket) => void): () => boolean {
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(onSocket));
    return () => {
      const isWaiting = waiting.delete(onSocket);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) {
        this.#waiting.delete(key);
      }
      return isWaiting;
    };
  }

  keep(key: string, socket: PooledSocket): void {
    const { announcedIdleMs = Infinity } = socket;
    const idleMs = Math.min(IDLE_MS, announcedIdleMs - MARGIN_MS);
    const mayKeep = !this.#isDisposed && idleMs > 0 && this.#maxIdle > 0;
    const sinceMs = this.#deadlines.elapsedMs();
    if (!mayKeep || isOld(socket, sinceMs)) return socket.close();
    const idle = this.#byOrigin.get(key) ?? [];
    if (idle.length >= this.#maxIdle) this.#close(key, idle[0]?.socket);
    this.#byOrigin.set(key, idle);
    const close = () => this.#close(key, socket);
    const stopWaiting = this.#deadlines.start(idleMs, close, sinceMs);
    idle.push({ socket, sinceMs, stopWaiting });
    socket.rest = this.#endOfTurn().then(() => {
      socket.rest = undefined;
      this.#serveWaiting(key);
    });
    socket.watchIdle(close);
  }

  /**
   * Waits for the end of the event loop's turn. All sockets that become idle in a turn share one wait, because waits
   * are costly.
   */
  #endOfTurn(): Promise<void> {
    return this.#turn ??= new Promise<void>(setImmediate).then(() => {
      this.#turn = undefined;
    });
  }

  /** Gives the newest idle socket to the request that has waited longest. */
  #serveWaiting(key: string): void {
    const waiting = this.#waiting.get(key);
    const [next] = waiting ?? [];
    if (waiting === undefined || next === undefined) return;
    const socket = this.take(key, this.#deadlines.elapsedMs());
    if (socket === undefined) return;
    waiting.delete(next);
    next(socket);
  }

  /** Closes an origin's sockets that became idle at the time `ms` or earlier. */
  closeSince(key: string, ms: number): void {
    for (const { socket, sinceMs } of [...this.#byOrigin.get(key) ?? []]) {
      if (sinceMs <= ms) this.#close(key, socket);
    }
  }

  closeAll(): void {
    for (const key of this.#byOrigin.keys()) this.closeSince(key, Infinity);
  }

  /** Closes all sockets, and each socket that becomes idle later. */
  dispose(): void {
    this.#isDisposed = true;
    this.closeAll();
  }

  #close(key: string, socket: Socket | undefined): void {
    socket?.close();
    const idle = this.#byOrigin.get(key) ?? [];
    const at = idle.findIndex((one) => one.socket === socket);
    for (const { stopWaiting } of at < 0 ? [] : idle.splice(at, 1)) {
      stopWaiting();
    }
    if (idle.length === 0) this.#byOrigin.delete(key);
  }
}

function isOld({ openedMs = 0 }: PooledSocket, nowMs: number): boolean {
  return nowMs - openedMs >= MAX_AGE_MS;
}
