import type { SseFrame } from "../../../core/frame.ts";
import { isJsonObject } from "../../../core/json.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import type { EndEvent, StartEvent } from "../../canonical/stream/event.ts";
import type { TokenLogprob } from "../../canonical/answer/logprobs.ts";
import {
  answerId,
  createdSeconds,
  logprobsOf,
  wantsLogprobs,
} from "../answer/encode.ts";
import { stopForCaller } from "../tools/legacy_functions.ts";
import { encodeUsage } from "../answer/usage.ts";

/** Writes the chunks of one answer, whose common fields are formatted once. */
export interface ChunkWriter {
  /**
   * The chunk of a delta.
   *
   * @param delta As JSON text.
   * @param logprobs Of its tokens.
   */
  chunkOf(
    delta: string,
    logprobs?: readonly TokenLogprob[] | undefined,
  ): SseFrame;
  /** The frames that say how the answer ended, and that it has. */
  end(event: EndEvent): SseFrame[];
}

/**
 * A writer for the answer that `start` begins. Usage comes in a chunk of its own, and only where the caller asked
 * for it with `stream_options.include_usage`, since some clients choke on a chunk without choices.
 */
export function createChunkWriter(
  start: StartEvent,
  context: AnswerContext,
): ChunkWriter {
  const wantsUsage = asksForUsage(context);
  const isAsked = wantsLogprobs(context);
  const common = JSON.stringify({
    id: answerId(start.id, context),
    object: "chat.completion.chunk",
    created: createdSeconds(start.createdAtMs, context),
    model: context.model,
  }).slice(0, -1);
  const head = `${common},"choices":[{"index":0,"delta":`;
  const tail = tailOf("null");

  function tailOf(reason: string, logprobs = "null"): string {
    const usage = wantsUsage ? `,"usage":null` : "";
    return `,"logprobs":${logprobs},"finish_reason":${reason}}]${usage}}`;
  }

  return {
    chunkOf(delta, logprobs) {
      if (logprobs === undefined || !isAsked) {
        return { data: head + delta + tail };
      }
      const logprobsText = JSON.stringify(logprobsOf(logprobs));
      return { data: head + delta + tailOf("null", logprobsText) };
    },
    end({ stop, usage }) {
      const frames: SseFrame[] = [
        {
          data: `${head}{}${
            tailOf(JSON.stringify(stopForCaller(stop, context)))
          }`,
        },
      ];
      if (wantsUsage && usage !== undefined) {
        const counts = JSON.stringify(encodeUsage(usage));
        frames.push({ data: `${common},"choices":[],"usage":${counts}}` });
      }
      frames.push({ data: "[DONE]" });
      return frames;
    },
  };
}

function asksForUsage(context: AnswerContext): boolean {
  const options = context.request.extras.chat?.stream_options?.value;
  return isJsonObject(options) && options.include_usage === true;
}
