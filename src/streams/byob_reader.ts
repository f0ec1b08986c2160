/**
 * A reader that lets a body write into memory of the caller's own. Only the platform's bodies are sure to be streams
 * of bytes, and nothing but an attempt tells.
 *
 * @returns `undefined` where the body is no stream of bytes, as when it went through a transform.
 * @throws {TypeError} When something reads the body already.
 */
export function byobReader(
  body: ReadableStream<Uint8Array>,
): ReadableStreamBYOBReader | undefined {
  try {
    return body.getReader({ mode: "byob" });
  } catch (error) {
    if (error instanceof TypeError && !body.locked) return undefined;
    throw error;
  }
}
