/** An entry of a stream. */
export interface StreamEntry {
  readonly stream: string;
  /** Milliseconds since 1970 by the store's clock, and a counter behind a hyphen. */
  readonly entryId: string;
  readonly fields: ReadonlyMap<string, string>;
}

/** The entries in a reply of `XREAD`: a list of streams, each with a list of entries; null when there are none. */
export function* entriesOf(reply: unknown): Iterable<StreamEntry> {
  for (const one of listOf(reply)) {
    const [stream, entries] = listOf(one);
    for (const entry of listOf(entries)) {
      const [entryId, parts] = listOf(entry);
      const texts = listOf(parts).map(String);
      const fields = new Map<string, string>();
      for (let index = 0; index + 1 < texts.length; index += 2) {
        fields.set(texts[index] ?? "", texts[index + 1] ?? "");
      }
      yield { stream: String(stream), entryId: String(entryId), fields };
    }
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
