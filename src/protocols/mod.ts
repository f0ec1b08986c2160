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
