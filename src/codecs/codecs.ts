import type { Protocol } from "@gateway/base/protocol";
import type { Codec } from "./canonical/codec.ts";
import { chatCodec } from "./chat/mod.ts";
import { messagesCodec } from "./messages/mod.ts";
import { responsesCodec } from "./responses/mod.ts";

/** The codec of each protocol. */
export const CODECS: Readonly<Record<Protocol, Codec>> = {
  chat: chatCodec,
  messages: messagesCodec,
  responses: responsesCodec,
};

/** Returns the prefixes of all headers that belong to one of the protocols ({@linkcode Codec.headerPrefixes}). */
export function protocolHeaderPrefixes(
  messagesVendor: string,
): readonly string[] {
  return Object.values(CODECS)
    .flatMap(({ headerPrefixes }) => headerPrefixes(messagesVendor));
}
