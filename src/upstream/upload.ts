import { LongBytes } from "../streams/bytes.ts";

/**
 * The first chunk of a long body, in bytes: as much as the platform reads before it has a connection. It reads more
 * once the provider receives this chunk.
 */
const FIRST_CHUNK_BYTES = 64 * 1024;

/** The size of a long body's further chunks, in bytes. */
const CHUNK_BYTES = { quick: 256 * 1024, patient: 64 * 1024 };

/** The time that the rest of a long body waits for a response to the first chunk, in milliseconds. */
const FIRST_CHUNK_PAUSE_MS = 2;

/**
 * The time that a patient upload waits for a response to the headers alone, in milliseconds. A provider nearby connects
 * and responds within it.
 */
const PATIENT_START_MS = 50;

/** The pause before each chunk of a patient upload, in milliseconds, which is far longer than sending one takes. */
const PATIENT_PAUSE_MS = 8;

/** The options of an upload. */
interface UploadOptions {
  /** True to leave time for a response before each chunk; 30 MiB then take four seconds. */
  readonly isPatient: boolean;
}

/**
 * A request body that is streamed with a known length, and that counts the bytes that were taken. Once all of it was
 * taken, the provider may have begun to work on the request. It must then not be sent again silently.
 *
 * A provider may respond before a long body has arrived and close the connection at once. Further writes then keep Deno
 * from reading the response. So the rest of a long body waits for a moment, in case the provider rejects the headers
 * alone. A patient upload waits before each chunk.
 *
 * It is a blob only because `fetch` reads the size and the stream of one. The content of a real blob is copied to the
 * platform and back.
 */
export class Upload extends Blob {
  /** The bytes to send. */
  readonly body: LongBytes;
  readonly #isPatient: boolean;
  /** Infinite before the platform streams the body, so that an unused upload counts as taken and is not sent again. */
  #takenBytes = Infinity;
  #controller: ReadableStreamDefaultController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;
  #again: Upload | undefined;

  constructor(
    body: LongBytes,
    { isPatient }: UploadOptions = { isPatient: false },
  ) {
    super();
    this.body = body;
    this.#isPatient = isPatient;
  }

  override get size(): number {
    return this.body.length;
  }

  /** True when the platform has taken every byte, so that all of them may have been sent. */
  get isTaken(): boolean {
    return this.#takenBytes >= this.size;
  }

  /**
   * True when all of the body was streamed exactly once without a break; the same must hold for its second upload, if
   * there is one.
   */
  get isThrough(): boolean {
    return this.#takenBytes === this.size && this.#again?.isThrough !== false;
  }

  /** Returns a patient upload of the same body, to use after this one broke off. */
  again(): Upload {
    this.#again = new Upload(this.body, { isPatient: true });
    return this.#again;
  }

  /** Stops sending, which closes the connection. Does nothing once all of the body is taken. */
  giveUp(): void {
    if (this.isTaken) return;
    this.#stop();
    this.#controller?.error(new Error("The upload is given up"));
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#takenBytes = 0;
    const chunks = this.#chunks();
    return new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: async (controller) => {
        const pauseMs = this.#pauseMsAt(this.#takenBytes);
        if (pauseMs > 0) await this.#pass(pauseMs);
        if (this.#isOver) return;
        const { value: chunk } = chunks.next();
        if (chunk !== undefined) {
          this.#takenBytes += chunk.length;
          controller.enqueue(chunk);
        }
        if (this.isTaken) controller.close();
      },
      cancel: () => this.#stop(),
    }, { highWaterMark: 0 });
  }

  /** Yields chunks of the set size, or shorter ones at the boundaries of the body's own chunks. */
  *#chunks(): Generator<Uint8Array<ArrayBuffer>, undefined> {
    const { body } = this;
    let start = 0;
    while (start < body.length) {
      const end = start + this.#chunkBytesAt(start);
      yield* body.slice(start, end).pieces;
      start = end;
    }
  }

  #chunkBytesAt(start: number): number {
    if (this.#isPatient) return CHUNK_BYTES.patient;
    return start === 0 ? FIRST_CHUNK_BYTES : CHUNK_BYTES.quick;
  }

  #pauseMsAt(start: number): number {
    if (!this.#isPatient) {
      return start === FIRST_CHUNK_BYTES ? FIRST_CHUNK_PAUSE_MS : 0;
    }
    return start === 0 ? PATIENT_START_MS : PATIENT_PAUSE_MS;
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#isOver) this.#timer = setTimeout(resolve, ms);
    });
  }

  #stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

/**
 * A short body that is streamed as one chunk with a known length. It is a blob only because `fetch` reads the size and
 * the stream of one. Its bytes are not the blob's content. That content would go to the platform and have to be
 * released there, which costs more than the rest of a short request's body.
 */
export class ShortUpload extends Blob {
  /** The bytes to send. */
  readonly body: Uint8Array<ArrayBuffer>;

  constructor(body: Uint8Array<ArrayBuffer>) {
    super();
    this.body = body;
  }

  override get size(): number {
    return this.body.length;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { body } = this;
    return new ReadableStream({
      start(controller) {
        if (body.length > 0) controller.enqueue(body);
        controller.close();
      },
    });
  }
}
