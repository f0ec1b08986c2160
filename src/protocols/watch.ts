import type { Protocol } from "../core/protocol.ts";
import type { AnswerWatch } from "./canonical/stream/watch.ts";
import { chatWatch } from "./chat/watch.ts";
import { messagesWatch } from "./messages/watch.ts";
import { responsesWatch } from "./responses/watch.ts";

/** How the answers of each protocol are watched. */
export const WATCHES: Readonly<Record<Protocol, AnswerWatch>> = {
  chat: chatWatch,
  messages: messagesWatch,
  responses: responsesWatch,
};
