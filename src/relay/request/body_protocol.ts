import type { Protocol } from "../../core/protocol.ts";
import { JsonObjectScan } from "../../json_scan/scan.ts";
import { JsonScanError } from "../../json_scan/scan_error.ts";
import { bodyPieces, type HeldBody } from "./held_body.ts";

/**
 * The protocol of a body for Chat Completions that has an `input`: without `messages` it is a Responses request, as
 * Cursor sends it. Such a body can never pass byte for byte.
 *
 * @returns `undefined` where it speaks Chat Completions, as far as can be told.
 */
export async function bodyProtocolOf(
  body: HeldBody,
): Promise<Protocol | undefined> {
  return await hasMessages(body) ? undefined : "responses";
}

async function hasMessages(body: HeldBody): Promise<boolean> {
  const scan = new JsonObjectScan(MESSAGES);
  try {
    for await (const piece of bodyPieces(body)) scan.push(piece);
    const messages = scan.end().get("messages");
    if (messages === undefined) return false;
    const { text } = messages;
    return text === undefined || !EMPTY_REGEXP.test(text);
  } catch (error) {
    // They stand in it twice.
    if (error instanceof JsonScanError) return true;
    throw error;
  }
}

const MESSAGES = ["messages"];

/** No Chat request has an empty list. */
const EMPTY_REGEXP = /^(?:null|\[\s*\])$/;
