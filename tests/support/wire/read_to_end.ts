/** A body up to its end or break. */
export interface ReadBody {
  readonly text: string;
  /** True when it broke off. */
  readonly isCut: boolean;
}

/** Reads a body that may break off, within the time limit of a test. */
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
