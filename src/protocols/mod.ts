import type { Protocol } from "../core/protocol.ts";
import type { Codec } from "./canonical/codec.ts";
import { chatCodec } from "./chat/mod.ts";
import { messagesCodec } from "./messages/mod.ts";
import { responsesCodec } from "./responses/mod.ts";

/** How each protocol is read and written. */
export const CODECS: Readonly<Record<Protocol, Codec>> = {
  chat: chatCodec,
  messages: messagesCodec,
  responses: responsesCodec,
};

/** What the names of headers begin with that belong to one protocol or another ({@linkcode Codec.headerPrefixes}). */
export function protocolHeaderPrefixes(
  messagesVendor: string,
): readonly string[] {
  return Object.values(CODECS)
    .flatMap(({ headerPrefixes }) => headerPrefixes(messagesVendor));
}
