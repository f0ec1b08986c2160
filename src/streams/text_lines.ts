/** How {@linkcode readTextLines} reads. */
export interface TextLinesOptions {
  /** A longer line is passed over: its length, in UTF-16 code units, without its line feed. */
  readonly maxLength: number;
  /** Takes a line without its line feed. It is a view of a larger text: whoever keeps a part of it copies that. */
  readonly onLine: (line: string) => void;
  /** Called once for each line that is too long. */
  readonly onLongLine: () => void;
}

/**
 * Reads the lines of a text in UTF-8, however large it is: no more of it is held than one piece and one line. What is
 * not UTF-8 is read as U+FFFD. Nothing is called for the nothing behind the last line feed.
 *
 * @param pieces The bytes, cut anywhere.
 * @throws What `pieces` or one of the callbacks throws.
 */
export async function readTextLines(
  pieces: AsyncIterable<Uint8Array>,
  { maxLength, onLine, onLongLine }: TextLinesOptions,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  let isInLongLine = false;

  function endLine(line: string): void {
    if (line.length > maxLength) onLongLine();
    else onLine(line);
  }

  function take(text: string): void {
    let start = 0;
    if (isInLongLine) {
      start = text.indexOf("\n") + 1;
      if (start === 0) return;
      isInLongLine = false;
    }
    const whole = rest + text;
    let end = whole.indexOf("\n", Math.max(start, rest.length));
    while (end !== -1) {
      endLine(whole.slice(start, end));
      start = end + 1;
      end = whole.indexOf("\n", start);
    }
    rest = whole.slice(start);
    if (rest.length <= maxLength) return;
    onLongLine();
    rest = "";
    isInLongLine = true;
  }

  for await (const piece of pieces) {
    take(decoder.decode(piece, { stream: true }));
  }
  take(decoder.decode());
  if (rest !== "") endLine(rest);
}
