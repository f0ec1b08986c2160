import type { JsonObject } from "../../src/core/json.ts";
import {
  readRequest,
  writeRequest,
} from "../../src/protocols/translate_request.ts";

/** What a request is translated from and to. */
type RequestTranslation = Parameters<typeof writeRequest>[1] & {
  /** The caller's protocol. */
  readonly from: Parameters<typeof readRequest>[1];
};

/** Translates a request. */
export function translateRequest(
  body: JsonObject,
  { from, ...translation }: RequestTranslation,
): ReturnType<typeof writeRequest> {
  return writeRequest(readRequest(body, from), translation);
}
