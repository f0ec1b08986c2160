import { isJsonObject, parseJson } from "../../core/json.ts";
import type { AnswerWatch } from "../../protocols/canonical/stream/watch.ts";
import type { LookAhead } from "../../streams/look_ahead.ts";
import { joinBytes } from "../../streams/join_bytes.ts";

/** Where an answer's first keys stand, in characters. */
const HEAD_LENGTH = 256;

/** Whether it is worth reading whole: a few microseconds, for every JSON answer. */
function mayHoldFailure(text: string, watch: AnswerWatch): boolean {
  return watch.mayBeFailure(text.slice(0, HEAD_LENGTH));
}

/** Whether a JSON answer is a failure, whatever its status. */
export function holdsFailure(text: string, watch: AnswerWatch): boolean {
  if (!mayHoldFailure(text, watch)) return false;
  const body = parseJson(text);
  return isJsonObject(body) && watch.failureOf(body) !== undefined;
}

const decoder = new TextDecoder();

/** No failure is longer than this, in bytes. */
const MAX_FAILURE_BYTES = 64 * 1024;

/**
 * Sees a JSON answer whose length nobody knows: its first chunk, and the rest where that may be a failure's.
 * What was seen is still to be read.
 *
 * @returns All of the failure; `undefined` when it is none.
 * @throws Whatever the source throws.
 */
export async function seeFailure(
  source: LookAhead,
  watch: AnswerWatch,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const seen: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await source.peek();
    if (done) break;
    if (value.length === 0) continue;
    seen.push(value);
    bytes += value.length;
    const isClear = seen.length === 1 &&
      !mayHoldFailure(decoder.decode(value.subarray(0, HEAD_LENGTH)), watch);
    if (isClear || bytes > MAX_FAILURE_BYTES) return undefined;
  }
  const whole = joinBytes(seen);
  return holdsFailure(decoder.decode(whole), watch) ? whole : undefined;
}
