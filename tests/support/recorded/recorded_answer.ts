import {
  isJsonObject,
  type JsonObject,
  objectOf,
  parseJson,
} from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { textOf } from "../upstream/strict_provider/ask.ts";
import { formatFrame } from "../../../src/base/streams/sse.ts";
import { readChat } from "./recorded_chat.ts";
import { readMessages } from "./recorded_messages.ts";
import { readResponses } from "./recorded_responses.ts";
import { recordedUsage } from "./recorded_usage.ts";
import type { RecordedWords } from "./recorded_words.ts";
import { framesOf } from "../wire/sse_frames.ts";

/** A recorded answer, with its usage. */
export interface RecordedAnswer extends RecordedWords {
  /** With the log's field names; `undefined` when the answer counts nothing. */
  readonly usage: JsonObject | undefined;
}

/** A recorded body. */
interface Recorded {
  readonly text: string;
  readonly streamed: boolean;
}

/**
 * Reads a whole answer by the shape of its protocol alone, so that it can judge the codecs. Reads
 * the first of several streams in one recording.
 *
 * @returns `undefined` when the recording holds no complete answer.
 */
export function recordedAnswer(
  recorded: Recorded,
  protocol: Protocol,
): RecordedAnswer | undefined {
  const first = recorded.streamed ? firstStream(recorded, protocol) : recorded;
  const objects = first.streamed
    ? framesOf(first.text).map(({ data }) => parseJson(data))
      .filter(isJsonObject)
    : [objectOf(parseJson(first.text))];
  const words = READERS[protocol](objects, first.streamed);
  const usage = recordedUsage(first, protocol, { isTotal: false });
  return words && { ...words, usage };
}

/**
 * The types of the last event of a stream. Empty for Chat Completions, whose recordings hold one
 * stream each.
 */
const LAST_TYPES: Readonly<Record<Protocol, readonly string[]>> = {
  chat: [],
  messages: ["message_stop"],
  responses: ["response.completed", "response.incomplete", "response.failed"],
};

function firstStream({ text }: Recorded, protocol: Protocol): Recorded {
  const frames = framesOf(text + "\n\n");
  const last = frames.findIndex(({ data }) =>
    LAST_TYPES[protocol].includes(textOf(objectOf(parseJson(data)).type))
  );
  const own = last < 0 ? frames : frames.slice(0, last + 1);
  return { text: own.map(formatFrame).join(""), streamed: true };
}

type Reader = (
  objects: readonly JsonObject[],
  streamed: boolean,
) => RecordedWords | undefined;

const READERS: Readonly<Record<Protocol, Reader>> = {
  chat: readChat,
  messages: readMessages,
  responses: readResponses,
};
