/** Headers of a JSON response. */
export const JSON_HEADERS = { "content-type": "application/json" };

/** Headers of a stream. */
export const SSE_HEADERS = { "content-type": "text/event-stream" };

/**
 * Never answers. Rejects when the gateway cancels, which can happen before the request on a busy
 * machine.
 */
export function noAnswer(
  { signal }: { readonly signal?: AbortSignal | null | undefined },
): Promise<never> {
  return new Promise((_, reject) => {
    const leave = () => reject(signal?.reason);
    if (signal?.aborted) return leave();
    signal?.addEventListener("abort", leave, { once: true });
  });
}

/**
 * Returns a response whose body arrives in these chunks.
 *
 * @param onPiece Called for each chunk.
 */
export function piecewise(
  pieces: readonly (string | Uint8Array<ArrayBuffer>)[],
  headers: HeadersInit = SSE_HEADERS,
  onPiece: () => void = () => {},
): Response {
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      onPiece();
      const piece = pieces[next++];
      if (piece === undefined) controller.close();
      else controller.enqueue(bytesOf(piece));
    },
  });
  return new Response(body, { headers });
}

/** Returns an endless body. `cancelled` resolves when the gateway cancels it. */
export function endless(): {
  readonly body: ReadableStream<Uint8Array>;
  readonly cancelled: Promise<void>;
} {
  const cancelled = Promise.withResolvers<void>();
  const piece = new Uint8Array(1024 * 1024).fill("x".charCodeAt(0));
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(piece),
    cancel: () => cancelled.resolve(),
  }, { highWaterMark: 0 });
  return { body, cancelled: cancelled.promise };
}

/** A response whose body the test writes. */
export interface OpenAnswer {
  readonly response: Response;
  write(piece: string | Uint8Array): void;
  close(): void;
  /** Breaks the connection in the middle of the body. */
  cut(): void;
  /** Resolves when the gateway cancels the body. */
  readonly cancelled: Promise<void>;
}

/** Returns a response with headers and an unfinished body. */
export function openAnswer(headers: HeadersInit = SSE_HEADERS): OpenAnswer {
  const cancelled = Promise.withResolvers<void>();
  let body: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      body = controller;
    },
    cancel: () => cancelled.resolve(),
  });
  return {
    response: new Response(stream, { headers }),
    write: (piece) => body?.enqueue(bytesOf(piece)),
    close: () => body?.close(),
    cut: () => body?.error(new Error("The script cuts the connection")),
    cancelled: cancelled.promise,
  };
}

function bytesOf(piece: string | Uint8Array): Uint8Array {
  return typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
}
