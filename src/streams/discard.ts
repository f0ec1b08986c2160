import type { ByteReader } from "./look_ahead.ts";

/** Gives an answer up unread; how its upstream takes that changes nothing. */
export function discard(
  answer: { readonly body: ReadableStream | null },
): void {
  answer.body?.cancel().catch(() => {
    // It broke off already.
  });
}

/** Gives up what is left to read; how its source takes that changes nothing. */
export function abandon(
  reader: Pick<ByteReader, "cancel">,
  reason?: unknown,
): void {
  reader.cancel(reason).catch(() => {
    // It broke off already.
  });
}
