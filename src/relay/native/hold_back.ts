import type { Deadlines } from "../../core/deadlines.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../core/json.ts";
import type { AnswerWatch } from "../../protocols/canonical/stream/watch.ts";
import { createDataLines } from "../../streams/data_lines.ts";
import { createIdleWatch } from "../../streams/idle_watch.ts";
import type { LookAhead } from "../../streams/look_ahead.ts";

/** What the beginning of a stream turned out to be. */
export type Beginning =
  /** Output, or so much else that the caller should have it now. */
  | { readonly kind: "good" }
  /** A failure in place of output; what it says. */
  | { readonly kind: "failure"; readonly body: JsonObject }
  /** The bytes ended before anything of an answer. */
  | { readonly kind: "cut" }
  /** Nothing came for longer than the upstream may be silent, or no output in time. */
  | { readonly kind: "silent" };

/** How the beginning of a stream is read. */
export interface HoldBackOptions {
  readonly watch: AnswerWatch;
  readonly deadlines: Deadlines;
  /** How long the upstream may be silent, in milliseconds; 0 means forever. */
  readonly idleMs: number;
  /** Until when output must come, in milliseconds from now; `undefined` when it may take its time. */
  readonly outputMs: number | undefined;
}

/** What is held back at most (docs/design.md#failover). */
const MAX_EVENTS = 64;
const MAX_BYTES = 256 * 1024;

/** A caller waits no longer than this for what is there, in milliseconds. */
const MAX_HOLD_MS = 15_000;

/**
 * Sees a stream's beginning before it is given away: up to the first output, for nothing may be sent again
 * after that. What was seen is still to be read, byte for byte.
 *
 * @throws Whatever the source throws.
 */
export async function holdBack(
  source: LookAhead,
  options: HoldBackOptions,
): Promise<Beginning> {
  const { deadlines, outputMs } = options;
  const beginning = createBeginning(options.watch);
  const late = Promise.withResolvers<Beginning>();
  const idle = createIdleWatch({
    ...options,
    onIdle: () => late.resolve({ kind: "silent" }),
  });
  const takeBack = deadlines.start(
    outputMs ?? MAX_HOLD_MS,
    () => late.resolve({ kind: outputMs === undefined ? "good" : "silent" }),
  );
  try {
    for (;;) {
      idle.wait();
      const next = source.peek();
      const read = await Promise.race([next, late.promise]);
      idle.heard();
      if ("kind" in read) return read;
      const found = read.done ? beginning.end() : beginning.push(read.value);
      if (found !== undefined) return found;
    }
  } finally {
    takeBack();
    idle.stop();
  }
}

/** Reads events until it is clear what they begin. */
function createBeginning(watch: AnswerWatch): {
  push(chunk: Uint8Array): Beginning | undefined;
  end(): Beginning;
} {
  let found: Beginning | undefined;
  let events = 0;
  let bytes = 0;
  const lines = createDataLines('"error"', {
    wantsEvery: () => found === undefined,
    line(data) {
      events += 1;
      found ??= meaningOf(data, watch);
      if (events >= MAX_EVENTS) found ??= { kind: "good" };
    },
  });
  return {
    push(chunk) {
      bytes += chunk.length;
      lines.push(chunk);
      return found ?? (bytes >= MAX_BYTES ? { kind: "good" } : undefined);
    },
    end() {
      return meaningOf(lines.unfinished(), watch) ?? { kind: "cut" };
    },
  };
}

/** What an event says of the answer that it is part of; `undefined` while it is only its start. */
function meaningOf(data: string, watch: AnswerWatch): Beginning | undefined {
  const event = parseJson(data);
  if (isJsonObject(event)) {
    const body = watch.failureOf(event);
    if (body !== undefined) return { kind: "failure", body };
    if (watch.isOutput(event)) return { kind: "good" };
  }
  return watch.isEnd(data) ? { kind: "good" } : undefined;
}
