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
 * How long a patient upload waits for an answer to the headers alone, in milliseconds: as long as a provider nearby takes
 * to connect and to give one.
 */
const PATIENT_START_MS = 50;

/** How long each piece of a patient upload waits, in milliseconds: far longer than it takes to send one. */
const PATIENT_PAUSE_MS = 8;

/** How an upload is streamed. */
export interface UploadOptions {
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
 */
export class Upload extends Blob {
  readonly #isPatient: boolean;
  /** Nothing is known before the platform streams it, so that nothing is sent again. */
  #takenBytes = Infinity;
  #controller: ReadableStreamDefaultController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  /** @param body Text or bytes, or what is with the platform already. */
  constructor(
    body: string | Uint8Array<ArrayBuffer> | Blob,
    { isPatient }: UploadOptions = { isPatient: false },
  ) {
    super([body]);
    this.#isPatient = isPatient;
  }

  /** Whether nothing of it is left that could not have been sent. */
  get isTaken(): boolean {
    return this.#takenBytes >= this.size;
  }

  /** Sends no more of it, which ends the connection that it goes over. Does nothing once all of it is taken. */
  giveUp(): void {
    if (this.isTaken) return;
    this.#stop();
    this.#controller?.error(new Error("The upload is given up"));
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#takenBytes = 0;
    return new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: async (controller) => {
        const start = this.#takenBytes;
        const { pieceBytes, pauseMs } = this.#pieceAt(start);
        const bytes = await this.slice(start, start + pieceBytes).bytes();
        if (pauseMs > 0) await this.#pass(pauseMs);
        if (this.#isOver) return;
        this.#takenBytes += bytes.length;
        if (bytes.length > 0) controller.enqueue(bytes);
        if (this.isTaken) controller.close();
      },
      cancel: () => this.#stop(),
    }, { highWaterMark: 0 });
  }

  #pieceAt(start: number): { pieceBytes: number; pauseMs: number } {
    const isHead = start === 0;
    if (this.#isPatient) {
      const pauseMs = isHead ? PATIENT_START_MS : PATIENT_PAUSE_MS;
      return { pieceBytes: PIECE_BYTES.patient, pauseMs };
    }
    if (isHead) return { pieceBytes: HEAD_BYTES, pauseMs: 0 };
    const pauseMs = start === HEAD_BYTES ? HEAD_START_MS : 0;
    return { pieceBytes: PIECE_BYTES.quick, pauseMs };
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
