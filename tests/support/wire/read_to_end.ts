/** What came of a body, up to its end or its break. */
export interface ReadBody {
  readonly text: string;
  /** Whether it broke off. */
  readonly isCut: boolean;
}

/** Reads a body that may break off; bounded by the test's own patience. */
export async function readToEnd(
  body: ReadableStream<Uint8Array> | null,
): Promise<ReadBody> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
    }
    return { text, isCut: false };
  } catch {
    return { text, isCut: true };
  }
}
