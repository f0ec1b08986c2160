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
