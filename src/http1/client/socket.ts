import type { Duplex } from "../duplex.ts";
import {
  type BodyDecoder,
  BodyReader,
  createBodyDecoder,
} from "../body_decoder.ts";
import type { Crowd } from "../crowd.ts";
import type { HttpResponse } from "../message.ts";
import { Http1Failure, MalformedMessage, type Progress } from "../failure.ts";
import {
  findHeadEnd,
  formatHead,
  type Framing,
  type Method,
  type OutgoingHead,
  parseHead,
  requestBlocks,
  type ResponseHead,
} from "../head.ts";
import { IncomingBytes } from "../incoming_bytes.ts";
import { reuseWritten } from "../joined_write.ts";
import { setImmediate } from "node:timers";
import { type ByteReader, WholeBody } from "@gateway/base/streams/byte_reader";
import type { LongBytes } from "@gateway/base/streams/bytes";

/** A request as a {@linkcode Socket} sends it. */
interface OutgoingRequest extends Omit<OutgoingHead, "bodyBytes"> {
  readonly body: Uint8Array | LongBytes | undefined;
  /** Called once when the socket has stopped reading the body: all of it was written, or the socket ended. */
  readonly onUploaded?: (() => void) | undefined;
  /** Closes the socket when the signal aborts before the response is complete. */
  readonly signal: AbortSignal;
}

/** A response whose body comes from the socket. */
interface SocketResponse extends HttpResponse {
  readonly body: ByteReader | null;
}

/** The most interim responses (1xx) before a final one. */
const MAX_INTERIM = 8;

/**
 * A socket that serves one request after another (RFC 9112). One read is always under way. This read notices when the
 * provider closes an idle socket, or responds while the request is still being sent. A socket never sends a request
 * twice, and closes if the end of a response is in doubt.
 */
export class Socket {
  /** True after the socket has sent a request or been idle. */
  isReused = false;
  /** The longest idle time that the last response announced, in milliseconds; `undefined` if there was none. */
  announcedIdleMs: number | undefined;
  readonly #duplex: Duplex;
  readonly #onIdle: (socket: Socket) => void;
  readonly #crowd: Crowd | undefined;
  readonly #incoming: IncomingBytes;
  #isClosed = false;
  #isIdle = false;
  #sent: Progress["sent"] = "nothing";
  #hasAnswer = false;
  #wasReused = false;
  #writeError: unknown;

  /**
   * @param onIdle Called when a response is complete and the socket may serve another request.
   * @param crowd The crowd of all sockets of the event loop; default: writes never wait for reads.
   */
  constructor(
    duplex: Duplex,
    onIdle: (socket: Socket) => void,
    crowd?: Crowd,
  ) {
    this.#duplex = duplex;
    this.#onIdle = onIdle;
    this.#crowd = crowd;
    this.#incoming = new IncomingBytes((into) => duplex.read(into), crowd);
  }

  /** True when the socket can serve no more requests. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Closes the socket. Pending reads and writes fail. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      this.#duplex.close();
    } catch {
      // The other side has closed it already.
    }
  }

  /**
   * Watches the socket while it is idle.
   *
   * @param onGone Called when the provider closes the socket, or sends bytes without a request.
   */
  watchIdle(onGone: () => void): void {
    this.#isIdle = true;
    this.isReused = true;
    this.#incoming.expect(0);
    const gone = () => {
      if (!this.#isIdle) return;
      this.close();
      onGone();
    };
    this.read().then(gone, gone);
  }

  /**
   * Sends a request and waits for the head of the response. The response may come before the whole request is sent.
   *
   * @throws {Http1Failure} When there is no valid response.
   * @throws {TypeError} When the request cannot be formatted.
   */
  async send(request: OutgoingRequest): Promise<SocketResponse> {
    const { signal, method } = request;
    const head = this.#formatHead(request);
    this.#isIdle = false;
    this.#wasReused = this.isReused;
    this.isReused = true;
    this.#sent = "nothing";
    this.#hasAnswer = this.#incoming.length > 0;
    const stop = () => this.close();
    signal.addEventListener("abort", stop, { once: true });
    const letGo = () => signal.removeEventListener("abort", stop);
    if (signal.aborted) stop();
    const uploaded = this.#upload(head, request);
    try {
      const response = await this.#readHead(method);
      const { status, headers, framing } = response;
      const complete = () => {
        letGo();
        void this.#complete(response);
      };
      const decoder = createBodyDecoder(framing);
      const whole = decoder && this.#decodeWhole(decoder, framing);
      if (decoder === undefined || whole !== undefined) complete();
      if (decoder === undefined) return { status, headers, body: null };
      const body = whole === undefined
        ? new BodyReader(this, decoder, complete)
        : new WholeBody(whole);
      return { status, headers, body };
    } catch (cause) {
      letGo();
      this.close();
      await this.#learnSent(uploaded);
      throw this.failure(cause);
    }
  }

  #formatHead(request: OutgoingRequest): string {
    try {
      return formatHead({ ...request, bodyBytes: request.body?.length });
    } catch (cause) {
      this.close();
      request.onUploaded?.();
      throw cause;
    }
  }

  /**
   * Waits until the platform reports the first write, because the platform may report the end of the socket earlier.
   */
  async #learnSent(uploaded: Promise<unknown>): Promise<void> {
    if (this.#sent !== "nothing") return;
    let isReported = false;
    await new Promise<void>((resolve) => {
      uploaded.then(() => {
        isReported = true;
        resolve();
      });
      setImmediate(resolve);
    });
    // If no write is reported yet, the request counts as sent in part.
    if (!isReported) this.#sent = "part";
  }

  /** Closes the socket and returns the failure for `cause`. */
  failure(cause: unknown): Http1Failure {
    this.close();
    if (cause instanceof Http1Failure) return cause;
    const progress: Progress = {
      sent: this.#sent,
      hasAnswer: this.#hasAnswer,
      isReused: this.#wasReused,
    };
    if (cause instanceof MalformedMessage) {
      return new Http1Failure("malformed", cause.message, { progress, cause });
    }
    return new Http1Failure(
      "closed",
      progress.hasAnswer ? "its answer broke off" : "it closed the connection",
      { progress, cause: this.#writeError ?? cause },
    );
  }

  /**
   * Writes a request. Keeps the error of a write for `failure`, because a response that still arrives takes precedence.
   */
  async #upload(
    head: string,
    { body, onUploaded }: OutgoingRequest,
  ): Promise<void> {
    try {
      for (const block of requestBlocks(head, body)) {
        const end = this.#crowd?.end;
        if (end !== undefined) await end;
        let at = 0;
        while (at < block.length) {
          const rest = at === 0 ? block : block.subarray(at);
          const count = await this.#duplex.write(rest);
          if (count === 0) throw new Error("The connection takes no bytes");
          this.#sent = "part";
          at += count;
        }
        reuseWritten(block);
      }
      this.#sent = "all";
    } catch (cause) {
      this.#writeError = cause;
    }
    onUploaded?.();
  }

  /** Reads the head of the final response. The bytes after it stay in the buffer. */
  async #readHead(method: Method): Promise<ResponseHead> {
    let searched = 0;
    for (let interim = 0; interim <= MAX_INTERIM;) {
      const { bytes } = this.#incoming;
      const length = bytes.length === searched
        ? undefined
        : findHeadEnd(bytes, searched);
      if (length === undefined) {
        searched = bytes.length;
        const isMore = this.take(await this.read());
        if (!isMore) throw new Error("The connection was closed");
        continue;
      }
      this.#incoming.skip(length);
      searched = 0;
      interim++;
      const head = parseHead(bytes.subarray(0, length), method);
      if (head.status === 101) {
        throw new MalformedMessage("it switches to another protocol");
      }
      if (head.status >= 200) return head;
    }
    throw new MalformedMessage("it sends too many interim responses");
  }

  /**
   * Waits for more bytes. Pass the result to {@linkcode Socket.take}.
   *
   * @throws The reason of the platform when the socket broke.
   */
  read(): Promise<number | null> {
    return this.#incoming.read();
  }

  /** Takes the bytes of a read. Returns false when the socket has ended. */
  take(count: number | null): boolean {
    const isMore = this.#incoming.take(count);
    this.#hasAnswer ||= isMore;
    return isMore;
  }

  /**
   * Decodes the bytes that were read.
   *
   * @returns The payload in these bytes; `undefined` when there is none. The caller may keep the payload.
   * @throws When the socket is closed already, because bytes after a fault have no meaning.
   */
  decode(decoder: BodyDecoder): Uint8Array<ArrayBuffer> | undefined {
    if (this.#isClosed) throw new Error("The connection was closed");
    return this.#incoming.decode(decoder);
  }

  /** Decodes a body that has arrived completely with the head; returns `undefined` for any other body. */
  #decodeWhole(
    decoder: BodyDecoder,
    framing: Framing,
  ): Uint8Array<ArrayBuffer> | undefined {
    const { length } = this.#incoming;
    return framing.kind === "length" && framing.bytes <= length
      ? this.decode(decoder)
      : undefined;
  }

  /** After a whole response, gives the socket back if it may serve another request. Otherwise, closes the socket. */
  async #complete({ isKeptAlive, headers }: ResponseHead): Promise<void> {
    const hasSurplus = this.#incoming.length > 0;
    if (this.#isClosed || !isKeptAlive || hasSurplus) return this.close();
    // The platform may report a request's last write later than the response.
    if (this.#sent !== "all") await new Promise(setImmediate);
    if (this.#sent !== "all") return this.close();
    const announced = KEEP_ALIVE_REGEXP.exec(headers.get("keep-alive") ?? "");
    this.announcedIdleMs = announced === null
      ? undefined
      : Number(announced[1]) * 1000;
    this.#onIdle(this);
  }
}

const KEEP_ALIVE_REGEXP = /(?:^|[,;\s])timeout\s*=\s*"?([0-9]{1,6})/i;
