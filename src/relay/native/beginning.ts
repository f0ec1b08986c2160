import { isJsonObject, type JsonObject, parseJson } from "../../core/json.ts";
import type { AnswerWatch } from "../../protocols/canonical/stream/watch.ts";
import { createDataLines } from "../../streams/data_lines.ts";
import type { BeginningJudge } from "../hold_back.ts";

/** What the beginning of a stream turned out to be. */
export type Beginning =
  /** Output, or so much else that the caller should have it now. */
  | { readonly kind: "good" }
  /** A failure in place of output; what it says. */
  | { readonly kind: "failure"; readonly body: JsonObject }
  /** The bytes ended before anything of an answer. */
  | { readonly kind: "cut" };

/** What is held back at most (docs/design.md#failover). */
const MAX_EVENTS = 64;
const MAX_BYTES = 256 * 1024;

/** Reads a stream's events until it is clear what they begin. */
export function createStreamJudge(
  watch: AnswerWatch,
): BeginningJudge<Beginning> {
  let found: Beginning | undefined;
  let events = 0;
  let bytes = 0;
  const lines = createDataLines(undefined, {
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
