/** Headers of a JSON answer. */
export const JSON_HEADERS = { "content-type": "application/json" };

/** Headers of a stream of events. */
export const SSE_HEADERS = { "content-type": "text/event-stream" };

/** Gives no answer until the gateway gives up, which it may have done before it asks, on a busy machine. */
export function noAnswer(
  { signal }: { readonly signal?: AbortSignal | null | undefined },
): Promise<never> {
  return new Promise((_, reject) => {
    const leave = () => reject(signal?.reason);
    if (signal?.aborted) return leave();
    signal?.addEventListener("abort", leave, { once: true });
  });
}

/** An answer whose body comes in these pieces. */
export function piecewise(
  pieces: readonly (string | Uint8Array<ArrayBuffer>)[],
  headers: HeadersInit = SSE_HEADERS,
): Response {
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces[next++];
      if (piece === undefined) controller.close();
      else controller.enqueue(bytesOf(piece));
    },
  });
  return new Response(body, { headers });
}

/** A body that goes on for ever, and whether it is still wanted. */
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

/** An answer that the test goes on writing. */
export interface OpenAnswer {
  readonly response: Response;
  write(piece: string | Uint8Array): void;
  close(): void;
  /** Cuts the connection in the middle of the body. */
  cut(): void;
  /** Resolves when the gateway does not want the rest. */
  readonly cancelled: Promise<void>;
}

/** An answer with its headers out and its body still to come. */
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
