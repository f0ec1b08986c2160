import type { IncomingRequest } from "../message.ts";
import { type BodyDecoder, createBodyDecoder } from "../body_decoder.ts";
import type { IncomingBytes } from "../incoming_bytes.ts";
import type { HttpRequestHead } from "./request_head.ts";
import type { ByteReader } from "@gateway/base/streams/byte_reader";
import { joinBytes } from "@gateway/base/streams/bytes";

/** The socket of a request. */
interface RequestSource {
  readonly incoming: IncomingBytes;
  readonly scheme: "http" | "https";
  /** The address of the caller's end, if the platform knows it. */
  readonly peer: string | undefined;
  /** Requests the body from a caller that waits for a 100. */
  readonly askForBody: () => Promise<void>;
}

/** The most bytes that are read ahead after a request. */
const MAX_AHEAD_BYTES = 64 * 1024;

/** A request of a caller's socket. The request's body is read from the socket only when the gateway reads the body. */
export class ServedRequest implements IncomingRequest {
  readonly method: string;
  readonly headers: HttpRequestHead["headers"];
  readonly fault: string | undefined;
  readonly #head: HttpRequestHead;
  readonly #source: RequestSource;
  readonly #decoder: BodyDecoder | undefined;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null | undefined;
  #controller: AbortController | undefined;
  #onLeft: (() => void) | undefined;
  #hasLeft = false;
  #isOver = false;
  #awaitsContinue: boolean;
  /** The number of announced bytes of the body that are not read yet. */
  #leftBytes: number;

  constructor(head: HttpRequestHead, source: RequestSource) {
    this.method = head.method;
    this.headers = head.headers;
    this.fault = head.fault;
    this.#head = head;
    this.#source = source;
    this.#decoder = createBodyDecoder(head.framing);
    this.#awaitsContinue = head.awaitsContinue;
    this.#leftBytes = declaredBytes(head);
    if (this.isRead) void this.#watch();
  }

  /** The URL. Its path and query come from the target, never from the host header. */
  get url(): string {
    const { target, headers } = this.#head;
    if (!target.startsWith("/")) return target;
    const host = headers.get("host") || "localhost";
    return `${this.#source.scheme}://${host}${target}`;
  }

  get peer(): string | undefined {
    return this.#source.peer;
  }

  /** True when all of the body was read from the socket. */
  get isRead(): boolean {
    return this.#decoder === undefined || this.#decoder.isDone;
  }

  /** The length of the body that the caller announced, in bytes; 0 if the caller announced no length. */
  get declaredBytes(): number {
    return declaredBytes(this.#head);
  }

  /** True while the caller waits for a 100 before it sends its body. */
  get isHeldBack(): boolean {
    return this.#awaitsContinue;
  }

  /** Aborts when the caller leaves. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#hasLeft) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Calls `onLeft` when the caller leaves before {@linkcode ServedRequest.end}. */
  follow(onLeft: () => void): void {
    this.#onLeft = onLeft;
    if (this.#hasLeft) onLeft();
  }

  /** Stops watching whether the caller leaves, because the response is complete. */
  end(): void {
    this.#isOver = true;
  }

  /** Notes that the caller left. */
  leave(): void {
    if (this.#hasLeft || this.#isOver) return;
    this.#hasLeft = true;
    this.#controller?.abort();
    this.#onLeft?.();
  }

  /** Reads ahead after the request, to notice when the caller leaves, because the socket then ends. */
  async #watch(): Promise<void> {
    const { incoming } = this.#source;
    incoming.expect(0);
    try {
      while (!this.#isOver && incoming.length < MAX_AHEAD_BYTES) {
        if (!await incoming.fill()) return this.leave();
      }
    } catch {
      this.leave();
    }
  }

  #decode(
    decoder: BodyDecoder,
    isLent: boolean,
  ): Uint8Array<ArrayBuffer> | undefined {
    const payload = this.#source.incoming.decode(decoder, isLent);
    this.#leftBytes -= payload?.length ?? 0;
    if (decoder.isDone) void this.#watch();
    return payload;
  }

  /**
   * Reads more of the body.
   *
   * @param isLent True when the next read may overwrite the returned bytes, unless these bytes are the last of the
   * body.
   * @returns The next bytes; `undefined` at the end of the body.
   * @throws {MalformedMessage} When the chunks of the body are malformed.
   * @throws When the socket ends before the body.
   */
  async read(isLent = false): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { incoming, askForBody } = this.#source;
    const decoder = this.#decoder;
    if (decoder === undefined) return undefined;
    while (!decoder.isDone) {
      const payload = this.#decode(decoder, isLent);
      if (payload !== undefined) return payload;
      if (decoder.isDone) break;
      if (this.#awaitsContinue) await askForBody();
      this.#awaitsContinue = false;
      if (this.#leftBytes > 0) incoming.expect(this.#leftBytes);
      if (!await incoming.fill()) {
        this.leave();
        throw new Error("The connection was closed");
      }
    }
    return undefined;
  }

  takeArrived(): Uint8Array<ArrayBuffer> | undefined {
    const { incoming } = this.#source;
    const isWhole = this.#decoder !== undefined && this.#leftBytes > 0 &&
      this.#leftBytes <= incoming.length;
    return isWhole ? this.#decode(this.#decoder, false) : undefined;
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const first = await this.read() ?? new Uint8Array();
    if (this.isRead) return first;
    const pieces = [first];
    for (let next; (next = await this.read()) !== undefined;) pieces.push(next);
    return joinBytes(pieces);
  }

  openBody(): ByteReader {
    let isCancelled = false;
    let end = () => {};
    return {
      read: () =>
        new Promise((resolve, reject) => {
          end = () => resolve({ done: true });
          if (isCancelled) return end();
          this.read(true).then(
            (value) => value ? resolve({ done: false, value }) : end(),
            reject,
          );
        }),
      cancel() {
        isCancelled = true;
        end();
        return Promise.resolve();
      },
    };
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.#body ??= this.#decoder === undefined ? null : bodyOf(this);
  }
}

function bodyOf(
  request: ServedRequest,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const payload = await request.read();
      if (payload === undefined) controller.close();
      else controller.enqueue(payload);
    },
  }, { highWaterMark: 0 });
}

function declaredBytes({ framing }: HttpRequestHead): number {
  return framing.kind === "length" ? framing.bytes : 0;
}
