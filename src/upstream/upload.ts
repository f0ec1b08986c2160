import { LongBytes } from "../streams/bytes.ts";

/**
 * What goes ahead of a long body, in bytes: as much as the platform takes before there is a connection. It asks for
 * more when the provider is being sent this.
 */
const HEAD_BYTES = 64 * 1024;

/** Of a long body's rest. */
const PIECE_BYTES = { quick: 256 * 1024, patient: 64 * 1024 };

/** How long the rest of a long body waits for an answer to its head, in milliseconds. */
const HEAD_START_MS = 2;

/**
 * How long a patient upload waits for an answer to the headers alone, in milliseconds: as long as a provider nearby
 * takes to connect and to give one.
 */
const PATIENT_START_MS = 50;

/** How long each piece of a patient upload waits, in milliseconds: far longer than it takes to send one. */
const PATIENT_PAUSE_MS = 8;

/** How an upload is streamed. */
interface UploadOptions {
  /** Whether it leaves time for an answer before each piece; 30 MiB take four seconds then. */
  readonly isPatient: boolean;
}

/**
 * A request's body that is streamed with its length known, and that tells how much of it has been taken. Where all
 * of it was, the provider may have begun to work on the request, and it must not be sent again unseen.
 *
 * A provider may answer before a long body is through and close the connection at once, and what is written to it then
 * keeps Deno from reading the answer. So the rest of a long body waits for a moment, for a provider that refuses by the
 * headers alone; a patient upload waits before each piece.
 *
 * It is a blob for `fetch` alone, which asks one for its size and its stream; what a blob is really made of is copied
 * to the platform and back.
 */
export class Upload extends Blob {
  /** What is sent. */
  readonly body: LongBytes;
  readonly #isPatient: boolean;
  /** Nothing is known before the platform streams it, so that nothing is sent again. */
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

  /** Whether nothing of it is left that could not have been sent. */
  get isTaken(): boolean {
    return this.#takenBytes >= this.size;
  }

  /** Whether all of it was streamed, once and without a break, and again where it was to be. */
  get isThrough(): boolean {
    return this.#takenBytes === this.size && this.#again?.isThrough !== false;
  }

  /** A patient upload of the same body, for one that broke off. */
  again(): Upload {
    this.#again = new Upload(this.body, { isPatient: true });
    return this.#again;
  }

  /** Sends no more of it, which ends the connection that it goes over. Does nothing once all of it is taken. */
  giveUp(): void {
    if (this.isTaken) return;
    this.#stop();
    this.#controller?.error(new Error("The upload is given up"));
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#takenBytes = 0;
    const pieces = this.#pieces();
    return new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: async (controller) => {
        const pauseMs = this.#pauseMsAt(this.#takenBytes);
        if (pauseMs > 0) await this.#pass(pauseMs);
        if (this.#isOver) return;
        const { value: piece } = pieces.next();
        if (piece !== undefined) {
          this.#takenBytes += piece.length;
          controller.enqueue(piece);
        }
        if (this.isTaken) controller.close();
      },
      cancel: () => this.#stop(),
    }, { highWaterMark: 0 });
  }

  /** As long as they are to be, or shorter where the body is cut anyhow. */
  *#pieces(): Generator<Uint8Array<ArrayBuffer>, undefined> {
    const { body } = this;
    let start = 0;
    while (start < body.length) {
      const end = start + this.#pieceBytesAt(start);
      yield* body.slice(start, end).pieces;
      start = end;
    }
  }

  #pieceBytesAt(start: number): number {
    if (this.#isPatient) return PIECE_BYTES.patient;
    return start === 0 ? HEAD_BYTES : PIECE_BYTES.quick;
  }

  #pauseMsAt(start: number): number {
    if (!this.#isPatient) return start === HEAD_BYTES ? HEAD_START_MS : 0;
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
 * A short body that is streamed in one piece, with its length known. It is for `fetch` alone, which asks a blob for its
 * size and its stream: the bytes are no part of this one, since what a blob is made of goes to the platform and has to
 * be cleared away there, which takes longer than everything else about a short request's body.
 */
export class ShortUpload extends Blob {
  /** What is sent. */
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
