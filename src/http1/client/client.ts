import type { HttpClient, HttpRequest, HttpResponse } from "../message.ts";
import type { Crowd } from "../crowd.ts";
import type { Duplex } from "../duplex.ts";
import { Socket } from "./socket.ts";
import { Http1Failure } from "../failure.ts";
import { IdleSockets, type PooledSocket } from "./idle_sockets.ts";
import {
  type Deadlines,
  orNever,
  untilAbort,
} from "@gateway/base/time/deadlines";

/** The server that a socket leads to. */
export interface Origin {
  readonly isSecure: boolean;
  /** A name or an IP address, without brackets. */
  readonly hostname: string;
  readonly port: number;
}

/** An open socket, and how to send requests over it. */
interface Dialed {
  readonly duplex: Duplex;
  /**
   * The headers for a proxy that forwards plain HTTP; set only when the other end is such a proxy. The proxy also needs
   * whole URLs as targets.
   */
  readonly proxyHeaders?: readonly (readonly [string, string])[] | undefined;
}

/**
 * Opens a socket, TLS handshake included.
 *
 * @throws The reason of the platform, or the reason of the signal when the signal aborts.
 */
export type Dial = (origin: Origin, signal: AbortSignal) => Promise<Dialed>;

/** The parts of a client for HTTP/1.1. */
interface Http1ClientOptions {
  readonly dial: Dial;
  readonly deadlines: Deadlines;
  /** The crowd of all sockets of the event loop; default: writes never wait for reads. */
  readonly crowd?: Crowd;
  /** The maximum number of idle sockets to one origin; default 1,024. */
  readonly maxIdle?: number;
  /** Headers that are added to each request without a header of the same name. The names are in lower case. */
  readonly defaultHeaders?: readonly (readonly [name: string, value: string])[];
}

/** A parsed address. */
interface Address {
  /** Identifies the origin. */
  readonly key: string;
  readonly origin: Origin;
  /** The `host` field. */
  readonly host: string;
  /** The path with its query. */
  readonly path: string;
}

/**
 * A client for HTTP/1.1: strict with responses, one request at a time on each socket, and never the same request twice.
 *
 * When a reused socket is lost before any byte of a response, the client also closes the sockets that were idle when
 * the request was sent. A firewall, for example, has probably dropped all of these connections.
 */
export function createHttp1Client(
  { dial, deadlines, crowd, maxIdle = 1024, defaultHeaders = [] }:
    Http1ClientOptions,
): HttpClient & Disposable {
  const idle = new IdleSockets(deadlines, maxIdle);

  async function open(
    { key, origin }: Address,
    { connectMs, signal }: HttpRequest,
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
        crowd,
      );
      socket.proxyHeaders = proxyHeaders;
      socket.openedMs = deadlines.elapsedMs();
      return socket;
    } catch (cause) {
      const why = dialing.signal.aborted ? dialing.signal.reason : cause;
      // Closing idle sockets frees descriptors, but no ports: the ports stay reserved.
      if (lacksDescriptors(why)) idle.closeAll();
      throw new Http1Failure("connect", "no connection could be opened", {
        cause: why,
        progress: { sent: "nothing", hasAnswer: false, isReused: false },
      });
    } finally {
      cancel();
      signal.removeEventListener("abort", stop);
    }
  }

  /** Opens a socket, or takes a socket that another request gives back earlier, because a handshake may hang. */
  function openOrTake(
    address: Address,
    request: HttpRequest,
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

  async function sendOver(
    socket: PooledSocket,
    { host, path }: Address,
    { request, loan }: Sending,
  ): Promise<HttpResponse> {
    const { proxyHeaders } = socket;
    const { method = "POST", headers, body, signal } = request;
    const missing = defaultHeaders.filter(([name]) =>
      !hasHeader(headers, name)
    );
    const startedMs = deadlines.elapsedMs();
    loan?.begin();
    try {
      return await socket.send({
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
    } catch (cause) {
      if (cause instanceof Http1Failure && !cause.progress.hasAnswer) {
        cause.silentMs = deadlines.elapsedMs() - startedMs;
      }
      throw cause;
    }
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
      if (!(cause instanceof Http1Failure && cause.wasLost)) throw cause;
      idle.closeSince(address.key, sentMs);
      const isUnsent = cause.progress.sent === "nothing";
      if (!isUnsent || request.signal.aborted) throw cause;
      // Nothing of the request was sent: the socket had ended while it was idle.
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

/**
 * Waits for a dial, but only until the signal aborts, because a name lookup cannot be cancelled. Closes a socket that
 * the dial opens later.
 */
function unlessAborted(
  dialed: Promise<Dialed>,
  signal: AbortSignal,
): Promise<Dialed> {
  const closeLate = ({ duplex }: Dialed) => {
    if (signal.aborted) new Socket(duplex, () => {}).close();
  };
  dialed.then(closeLate, () => {});
  return untilAbort(dialed, signal);
}

/** Returns true for the platform's error when the process can open no more descriptors. */
function lacksDescriptors(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  return /EMFILE|ENFILE|too many open files/i.test(cause.message) ||
    lacksDescriptors(cause.cause);
}

/** A request and the loan of its body. */
interface Sending {
  readonly request: HttpRequest;
  /** Absent when no code waits for the body to be free. */
  readonly loan: Loan | undefined;
}

/** The loan of a body to one socket after another. Reports once that no socket reads the body any more. */
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

  /** Notes that a socket has stopped reading the body. */
  end(): void {
    this.#readers--;
    this.#giveBack();
  }

  /** Notes that no further socket will read the body. Called once. */
  settle(): void {
    this.#isSettled = true;
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#isSettled && this.#readers === 0) this.#onOver();
  }
}

function hasHeader(
  headers: HttpRequest["headers"],
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
 * @throws {TypeError} When `url` is not a URL.
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
