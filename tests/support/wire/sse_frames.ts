import { createParser } from "eventsource-parser";

/** One server-sent event: its name, `undefined` when it has none, and its data. */
interface Frame {
  readonly event: string | undefined;
  readonly data: string;
}

/** Returns the events of a whole stream. */
export function framesOf(text: string): Frame[] {
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => frames.push({ event, data }),
    onError: (error) => {
      throw error;
    },
  });
  parser.feed(text);
  return frames;
}
