import { setImmediate } from "node:timers";
import {
  type Cancel,
  type Deadlines,
  orNever,
} from "../../core/time/deadlines.ts";
import type { HttpResponse, UpstreamClient, UpstreamRequest } from "../call.ts";
import { shortageOf } from "../failure.ts";
import { type Duplex, Socket } from "./socket.ts";
import { Http1Failure, wasLost } from "./failure.ts";

/** The server that a socket leads to. */
export interface Origin {
  readonly isSecure: boolean;
  /** A name or an IP address, without brackets. */
  readonly hostname: string;
  readonly port: number;
}

/** An open socket, and the way to send requests over it. */
interface Dialed {
  readonly duplex: Duplex;
  /** Set where the other end is a proxy that forwards plain HTTP: it needs whole addresses, and these headers. */
  readonly proxyHeaders?: readonly (readonly [string, string])[] | undefined;
}

/**
 * Opens a socket, TLS handshake included.
 *
 * @throws The reason of the platform, or of the signal when it aborts.
 */
export type Dial = (origin: Origin, signal: AbortSignal) => Promise<Dialed>;

/** The parts of a client for HTTP/1.1. */
interface Http1ClientOptions {
  readonly dial: Dial;
  readonly deadlines: Deadlines;
  /** The maximum number of idle sockets to one origin; default 1,024. */
  readonly maxIdle?: number;
  /** Headers for requests that have none of the same name, in lower case. */
  readonly defaultHeaders?: readonly (readonly [name: string, value: string])[];
}

/** The time for which an idle socket is kept, in milliseconds: load balancers and firewalls drop theirs after 60 s. */
const IDLE_MS = 30_000;

/** The age from which a socket serves no more requests, in milliseconds: its host may have moved. */
const MAX_AGE_MS = 300_000;

/** A socket is closed so long before its provider would close it, in milliseconds. */
const MARGIN_MS = 1000;

/** A parsed address. */
interface Address {
  /** One for all addresses of the same origin. */
  readonly key: string;
  readonly origin: Origin;
  /** The `host` field. */
  readonly host: string;
  /** The path with its query. */
  readonly path: string;
}

/** A socket that is idle. */
interface Idle {
  readonly socket: PooledSocket;
  /** When it became idle, on the clock of the deadlines. */
  readonly sinceMs: number;
  readonly stopWaiting: Cancel;
}

/** A socket, the headers that its proxy needs, and when it was opened. */
interface PooledSocket extends Socket {
  proxyHeaders?: Dialed["proxyHeaders"];
  openedMs?: number;
  /** Set until the turn is over in which it became idle: it may still end, or say more than its response. */
  rest?: Promise<void> | undefined;
}

/** The idle sockets of a client, by origin. The newest serves first, so that the others grow old and close. */
class IdleSockets {
  readonly #byOrigin = new Map<string, Idle[]>();
  /** Who waits for the next socket of an origin, the longest first. */
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
   * @returns Stops the wait. Returns false when `onSocket` was called before.
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

  /** Waits until the event loop's turn is over. Many sockets rest in one turn, and each wait has its cost. */
  #endOfTurn(): Promise<void> {
    return this.#turn ??= new Promise<void>(setImmediate).then(() => {
      this.#turn = undefined;
    });
  }

  /** Gives the newest idle socket to the one who waits longest. */
  #serveWaiting(key: string): void {
    const waiting = this.#waiting.get(key);
    const [next] = waiting ?? [];
    if (waiting === undefined || next === undefined) return;
    const socket = this.take(key, this.#deadlines.elapsedMs());
    if (socket === undefined) return;
    waiting.delete(next);
    next(socket);
  }

  /** Closes an origin's sockets that have been idle since `ms` or longer. */
  closeSince(key: string, ms: number): void {
    for (const { socket, sinceMs } of [...this.#byOrigin.get(key) ?? []]) {
      if (sinceMs <= ms) this.#close(key, socket);
    }
  }

  closeAll(): void {
    for (const key of this.#byOrigin.keys()) this.closeSince(key, Infinity);
  }

  /** Closes all sockets, and from now on those that become idle. */
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

/**
 * A client for HTTP/1.1: strict with responses, one request at a time on each socket, and never the same request
 * twice.
 *
 * When a kept socket is lost before any byte of an answer, those that have been idle since before it was used close
 * too: what silenced one, such as a firewall, has probably silenced all.
 */
export function createHttp1Client(
  { dial, deadlines, maxIdle = 1024, defaultHeaders = [] }: Http1ClientOptions,
): UpstreamClient & Disposable {
  const idle = new IdleSockets(deadlines, maxIdle);

  async function open(
    { key, origin }: Address,
    { connectMs, signal }: UpstreamRequest,
  ): Promise<PooledSocket> {
    const dialing = new AbortController();
    const stop = () => dialing.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    const cancel = deadlines.start(
      orNever(connectMs),
      () => dialing.abort(new Error("The connection timed out")),
    );
    try {
      const { duplex, proxyHeaders } = await unlessAborted(
        dial(origin, dialing.signal),
        dialing.signal,
      );
      const socket: PooledSocket = new Socket(
        duplex,
        () => idle.keep(key, socket),
      );
      socket.proxyHeaders = proxyHeaders;
      socket.openedMs = deadlines.elapsedMs();
      return socket;
    } catch (cause) {
      const why = dialing.signal.aborted ? dialing.signal.reason : cause;
      // Idle sockets are the only descriptors that nobody needs now. Ports would stay reserved.
      if (shortageOf(why) === "file descriptors") idle.closeAll();
      throw new Http1Failure("connect", "no connection could be opened", {
        cause: why,
        progress: { sent: "nothing", hasAnswer: false, isReused: false },
      });
    } finally {
      cancel();
      signal.removeEventListener("abort", stop);
    }
  }

  /** Opens a socket, or takes one that another request gives back before: this one's handshake may hang. */
  function openOrTake(
    address: Address,
    request: UpstreamRequest,
  ): Promise<PooledSocket> {
    if (request.overNewConnection) return open(address, request);
    return new Promise((resolve, reject) => {
      const stopWaiting = idle.wait(address.key, resolve);
      open(address, request).then(
        (fresh) =>
          stopWaiting() ? resolve(fresh) : idle.keep(address.key, fresh),
        (error) => stopWaiting() && reject(error),
      );
    });
  }

  function sendOver(
    socket: PooledSocket,
    { host, path }: Address,
    { request, loan }: Sending,
  ): Promise<HttpResponse> {
    const { proxyHeaders } = socket;
    const { method = "POST", headers, body, signal } = request;
    const missing = defaultHeaders.filter(([name]) =>
      !hasHeader(headers, name)
    );
    loan?.begin();
    return socket.send({
      method,
      host,
      target: proxyHeaders === undefined ? path : `http://${host}${path}`,
      headers: proxyHeaders === undefined && missing.length === 0
        ? headers
        : [...headers, ...missing, ...proxyHeaders ?? []],
      body,
      onUploaded: loan && (() => loan.end()),
      signal,
    });
  }

  async function send(sending: Sending): Promise<HttpResponse> {
    const { request } = sending;
    const address = addressOf(request.url);
    request.signal.throwIfAborted();
    const sentMs = deadlines.elapsedMs();
    let known = request.overNewConnection
      ? undefined
      : idle.take(address.key, sentMs);
    while (known?.rest !== undefined) {
      await known.rest;
      if (known.isClosed) known = idle.take(address.key, sentMs);
    }
    const first = known ?? await openOrTake(address, request);
    try {
      return await sendOver(first, address, sending);
    } catch (cause) {
      if (!wasLost(cause)) throw cause;
      idle.closeSince(address.key, sentMs);
      const isUnsent = cause.progress.sent === "nothing";
      if (!isUnsent || request.signal.aborted) throw cause;
      // Nothing of it was sent: the socket had ended while it was idle.
    }
    const fresh = await open(address, request);
    return await sendOver(fresh, address, sending);
  }

  return {
    send(request) {
      if (request.onUploaded === undefined) {
        return send({ request, loan: undefined });
      }
      const loan = new Loan(request.onUploaded);
      return send({ request, loan }).finally(() => loan.settle());
    },
    [Symbol.dispose]: () => idle.dispose(),
  };
}

/** Waits for a dial, but no longer than its signal: a name lookup cannot be ended. Closes what comes too late. */
function unlessAborted(
  dialed: Promise<Dialed>,
  signal: AbortSignal,
): Promise<Dialed> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    dialed.then((one) => {
      if (signal.aborted) new Socket(one.duplex, () => {}).close();
      resolve(one);
    }, reject);
  });
}

/** A request and the loan of its body. */
interface Sending {
  readonly request: UpstreamRequest;
  /** Absent where nobody waits for the body. */
  readonly loan: Loan | undefined;
}

/** A body that is lent to one socket after another, and given back once. */
class Loan {
  readonly #onOver: () => void;
  #readers = 0;
  #isSettled = false;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  /** Notes that a socket reads the body from now on. */
  begin(): void {
    this.#readers++;
  }

  /** Notes that a socket reads it no more. */
  end(): void {
    this.#readers--;
    this.#giveBack();
  }

  /** Notes that no further socket will read it. Called once. */
  settle(): void {
    this.#isSettled = true;
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#isSettled && this.#readers === 0) this.#onOver();
  }
}

function hasHeader(
  headers: UpstreamRequest["headers"],
  name: string,
): boolean {
  return headers.some((one) => one[0].toLowerCase() === name);
}

const DEFAULT_PORT = { "http:": 80, "https:": 443 };

/** The most addresses that are remembered; a configuration has far fewer. */
const MAX_ADDRESSES = 1000;

const addresses = new Map<string, Address>();

/**
 * Parses an address. Caches the results, because every request to a provider needs one.
 *
 * @throws {TypeError} When it is no address.
 */
export function addressOf(url: string): Address {
  const known = addresses.get(url);
  if (known !== undefined) return known;
  const address = parseAddress(url);
  if (addresses.size >= MAX_ADDRESSES) addresses.clear();
  addresses.set(url, address);
  return address;
}

function parseAddress(url: string): Address {
  const { protocol, hostname, host, port, pathname, search } = new URL(url);
  const isSecure = protocol === "https:";
  const standard = DEFAULT_PORT[isSecure ? "https:" : "http:"];
  return {
    key: `${protocol}//${host}`,
    origin: {
      isSecure,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port: port === "" ? standard : Number(port),
    },
    host,
    path: pathname + search,
  };
}
