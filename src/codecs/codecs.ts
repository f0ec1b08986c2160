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
