import { GatewayError } from "@gateway/base/error";
import type { CallerCodec } from "./canonical/codec.ts";
import type { CanonicalRequest } from "./canonical/request/request.ts";

/**
 * The largest part of a request that is kept until its answer ends. Some streams repeat that part in every event, so a
 * larger part would delay other requests. The limits allow a thousand tools with a hundred values each.
 */
const MAX_KEPT = { values: 100_000, characters: 8 * 1024 * 1024 };

/**
 * Returns the part of a request that is kept until its answer ends. This part has all fields of the request. Of the
 * history, it has only the turns that the caller's codec needs.
 *
 * @throws {GatewayError} `invalid_request` when that part is larger than any client sends.
 */
export function keptRequest(
  request: CanonicalRequest,
  codec: CallerCodec,
): CanonicalRequest {
  const turns = codec.historyForAnswer?.(request.turns) ?? [];
  const kept = { ...request, turns };
  if (isTooLarge(kept)) throw tooLarge();
  return kept;
}

function isTooLarge(kept: CanonicalRequest): boolean {
  let values = 0;
  let characters = 0;
  const rest: unknown[] = [kept];
  while (rest.length > 0) {
    const value = rest.pop();
    values += 1;
    if (typeof value === "string") characters += value.length;
    if (values > MAX_KEPT.values || characters > MAX_KEPT.characters) {
      return true;
    }
    if (typeof value !== "object" || value === null) continue;
    for (const part of Object.values(value)) rest.push(part);
  }
  return false;
}

function tooLarge(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot translate the request: its tools, settings and calls have more than 100,000 values or 8 million " +
      "characters. Send fewer or smaller tools, or begin a new conversation.",
  );
}
