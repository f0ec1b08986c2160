import type { AnyResponse } from "../direct_response.ts";
import type { IncomingRequest } from "../message.ts";
import type { Crowd } from "../crowd.ts";
import { MalformedMessage } from "../failure.ts";
import { hasToken } from "../head.ts";
import { IncomingBytes } from "../incoming_bytes.ts";
import { reuseWritten } from "../joined_write.ts";
import type { Duplex } from "../duplex.ts";
import {
  faultyHead,
  findRequestEnd,
  type HttpRequestHead,
  parseRequestHead,
} from "./request_head.ts";
import { fieldOf, writeResponse } from "./response_writer.ts";
import { ServedRequest } from "./served_request.ts";
import type { Cancel, Deadlines } from "@gateway/base/time/deadlines";
import { STALL_MS } from "@gateway/base/streams/pass_through";

/** The parts of a server. */
export interface ServerParts {
  readonly handler: (request: IncomingRequest) => Promise<AnyResponse>;
  readonly scheme: "http" | "https";
  readonly deadlines: Deadlines;
  /** The crowd of all sockets of the event loop; default: writes never wait for reads. */
  readonly crowd?: Crowd | undefined;
  /** Absent when traces are disabled. */
  readonly tracing?: RequestTracing | undefined;
}

/** Traces the requests of callers. */
export interface RequestTracing {
  /** Starts the span of a request. */
  start(request: Pick<IncomingRequest, "method" | "headers">): RequestSpan;
}

/** The span of one request. */
interface RequestSpan {
  /** Calls `serve` within the span. */
  run<Result>(serve: () => Result): Result;
  /** Ends the span with the status of the response; `undefined` when the caller did not receive all of it. */
  end(status: number | undefined): void;
}

/** The longest time for the head of a request after its first byte, and for the first head of a socket, in milliseconds. */
const HEAD_MS = 30_000;

/**
 * The longest time in which a caller may take no byte of a write, in milliseconds. A stream's own deadline passes
 * earlier, and reports why the stream ended.
 */
const WRITE_MS = STALL_MS + 60_000;

/**
 * The most bytes of an unread body that are read and dropped, so that the caller receives the response. This is twice
 * the largest body that any path accepts.
 */
const MOST_DROPPED_BYTES = 64 * 1024 * 1024;

/** The longest time for dropping the rest of a body, in milliseconds. */
const REST_MS = 10_000;

/** The time that a caller has to take the response before its socket is closed, in milliseconds. */
const LINGER_MS = 2_000;

const CONTINUE = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");

/** A caller's socket. It serves one request after another (RFC 9112). */
export class ServedSocket {
  readonly #duplex: Duplex;
  readonly #parts: ServerParts;
  readonly #incoming: IncomingBytes;
  #isClosing = false;
  #isIdle = true;
  #idleSinceMs: number;
  #isClosed = false;

  constructor(duplex: Duplex, parts: ServerParts) {
    this.#duplex = duplex;
    this.#parts = parts;
    this.#incoming = new IncomingBytes(
      (into) => duplex.read(into),
      parts.crowd,
    );
    this.#idleSinceMs = parts.deadlines.elapsedMs();
  }

  /** Closes the socket if it became idle at the time `ms` or earlier, and no byte of a request has arrived. */
  closeIdleSince(ms: number): void {
    const isSilent = this.#isIdle && this.#incoming.length === 0;
    if (isSilent && this.#idleSinceMs <= ms) this.#close();
  }

  #rest(): void {
    this.#isIdle = true;
    this.#idleSinceMs = this.#parts.deadlines.elapsedMs();
  }

  /** Closes the socket after the current request; at once when there is no request. */
  end(): void {
    this.#isClosing = true;
    if (this.#isIdle) this.#close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      this.#duplex.close();
    } catch {
      // The caller has closed it already.
    }
  }

  /** Serves requests until the socket ends. Never rejects. */
  async serve(): Promise<void> {
    try {
      let stop: Cancel | undefined = this.#startHead();
      for (;;) {
        const head = await this.#readHead(stop);
        if (head === undefined || !await this.#serveOne(head)) break;
        stop = undefined;
      }
    } catch {
      // The caller left, so that no one could read a reason.
    } finally {
      this.#close();
    }
  }

  /** Writes bytes. Cuts off a caller who takes no byte for too long. */
  async #write(bytes: Uint8Array, onTaken?: () => void): Promise<void> {
    const end = this.#parts.crowd?.end;
    if (end !== undefined) await end;
    for (let at = 0; at < bytes.length;) {
      const stop = this.#parts.deadlines.start(WRITE_MS, () => this.#close());
      const rest = at === 0 ? bytes : bytes.subarray(at);
      try {
        const count = await this.#duplex.write(rest);
        if (count === 0) throw new Error("The connection takes no bytes");
        at += count;
        onTaken?.();
      } finally {
        stop();
      }
    }
    reuseWritten(bytes);
  }

  #startHead(): Cancel {
    return this.#parts.deadlines.start(HEAD_MS, () => this.#close());
  }

  /** Reads the next head; `undefined` when the caller sends none. */
  async #readHead(
    stop: Cancel | undefined,
  ): Promise<HttpRequestHead | undefined> {
    if (this.#isClosing) return undefined;
    this.#rest();
    try {
      for (let searched = 0;;) {
        const { bytes } = this.#incoming;
        const length = bytes.length === searched
          ? undefined
          : findRequestEnd(bytes, searched);
        if (length !== undefined) {
          this.#incoming.skip(length);
          return parseRequestHead(bytes.subarray(0, length));
        }
        searched = bytes.length;
        if (searched > 0) stop ??= this.#startHead();
        if (!await this.#incoming.fill()) return undefined;
      }
    } catch (error) {
      if (error instanceof MalformedMessage) return faultyHead(error.message);
      throw error;
    } finally {
      stop?.();
      this.#isIdle = false;
    }
  }

  /** Returns true when the socket may serve another request. */
  async #serveOne(head: HttpRequestHead): Promise<boolean> {
    const request = new ServedRequest(head, {
      incoming: this.#incoming,
      scheme: this.#parts.scheme,
      peer: this.#duplex.remoteAddr?.hostname,
      askForBody: () => this.#write(CONTINUE),
    });
    request.follow(() => this.#close());
    const { handler, tracing } = this.#parts;
    const span = tracing?.start(request);
    const serve = () => handler(request);
    const response = await (span === undefined ? serve() : span.run(serve));
    const isKept = head.isKeptAlive && !this.#isClosing &&
      !request.isHeldBack && request.declaredBytes <= MOST_DROPPED_BYTES &&
      !hasToken(fieldOf(response, "connection"), "close");
    const isWhole = await writeResponse(response, {
      write: (bytes, onTaken) => this.#write(bytes, onTaken),
      method: head.method,
      isOld: head.isOld,
      isKept,
      close: () => this.#close(),
      follow: (onLeft) =>
        request.follow(() => {
          this.#close();
          onLeft();
        }),
    });
    request.end();
    span?.end(isWhole ? response.status : undefined);
    if (!isWhole) return false;
    const dropBody = async () => (await request.read(true))?.length ?? 0;
    if (isKept) return request.isRead || await this.#drop(dropBody, REST_MS);
    if (!request.isRead || this.#incoming.length > 0) await this.#linger();
    return false;
  }

  /**
   * Gives the caller time to take the response before the socket is closed. Closing a socket with unread bytes would
   * reset the connection and lose the response.
   */
  async #linger(): Promise<void> {
    this.#rest();
    // Over TLS, this may wait for a caller who takes nothing.
    this.#duplex.closeWrite?.().catch(() => {});
    await this.#drop(async () => {
      const { length } = this.#incoming;
      this.#incoming.skip(length);
      return length > 0 || await this.#incoming.fill() ? 1 + length : 0;
    }, LINGER_MS);
  }

  /** Drops bytes until they end. Returns false when there are too many. Closes the socket when they take too long. */
  async #drop(next: () => Promise<number>, mostMs: number): Promise<boolean> {
    const stop = this.#parts.deadlines.start(mostMs, () => this.#close());
    try {
      for (let bytes = 0; bytes <= MOST_DROPPED_BYTES;) {
        const count = await next();
        if (count === 0) return true;
        bytes += count;
      }
      return false;
    } finally {
      stop();
    }
  }
}
