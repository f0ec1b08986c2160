const encoder = new TextEncoder();

/** Returns a valid body of exactly `size` bytes, with the model's name at its end. */
export function paddedBody(
  model: string,
  size: number,
): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(`{"padding":"`);
  const tail = encoder.encode(`","model":"${model}"}`);
  const body = new Uint8Array(size).fill("x".charCodeAt(0));
  body.set(head);
  body.set(tail, size - tail.length);
  return body;
}

/** Returns the bytes as a stream, whose length is unknown until it ends. */
export function streamOf(
  bytes: Uint8Array<ArrayBuffer>,
): ReadableStream<Uint8Array> {
  const PIECE_BYTES = 256 * 1024;
  let start = 0;
  return new ReadableStream({
    pull(controller) {
      if (start >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(start, start += PIECE_BYTES));
    },
  });
}
