import {
  type Operation,
  OPERATIONS,
  type Protocol,
} from "../../core/protocol.ts";
import type { CallerCodec } from "../../protocols/canonical/codec.ts";
import { completionsCodec } from "../../protocols/completions/mod.ts";
import { responsesInChatCodec } from "../../protocols/responses_in_chat/mod.ts";
import { CODECS } from "../../protocols/mod.ts";

/** What a caller asks for. */
export interface CallerForm {
  readonly operation: Operation;
  /** The protocol of the caller's body, where that is not the operation's. */
  readonly bodyProtocol?: Protocol | undefined;
}

/** How the callers of an operation are read and written. */
export function callerCodec(
  { operation, bodyProtocol }: CallerForm,
): CallerCodec {
  if (bodyProtocol === "responses" && operation === "chat_completions") {
    return responsesInChatCodec;
  }
  return operation === "completions"
    ? completionsCodec
    : CODECS[OPERATIONS[operation].protocol];
}
