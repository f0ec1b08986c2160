import type { GatewayError } from "../../../../src/base/error.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import {
  type AskOfBody,
  requestOf,
  scriptOf,
  type StrictScript,
} from "./ask.ts";
import type { SimulatedOperation } from "../../../../src/tools/demo/providers.ts";
import type { DemoCodec } from "../../../../src/tools/demo/script.ts";
import { createDemoUpstream } from "../../../../src/tools/demo/upstream.ts";
import { messagesError, openaiError } from "./error_shapes.ts";
import { judgeMessages } from "./messages_rules.ts";
import { judgeChat, judgeResponses } from "./openai_rules.ts";
import { readChatAsk, readCompletionAsk } from "./read_chat.ts";
import { readMessagesAsk } from "./read_messages.ts";
import { readResponsesAsk } from "./read_responses.ts";
import { renderChat, renderCompletion } from "./render_chat.ts";
import { renderMessages } from "./render_messages.ts";
import {
  renderCompactedResponse,
  renderResponses,
} from "./render_responses.ts";
import type { StrictContext, StrictRendering } from "./rendering.ts";

type DemoUpstream = ReturnType<typeof createDemoUpstream>;

type DemoOptions = Parameters<typeof createDemoUpstream>[0];

/** The functions that serve one operation. */
interface Service {
  read(body: JsonObject): AskOfBody;
  /** Rejects requests that a lenient provider would serve. */
  judge?(body: JsonObject, ask: AskOfBody): void;
  render(script: StrictScript, context: StrictContext): StrictRendering;
}

const SERVICES: Readonly<Record<SimulatedOperation, Service>> = {
  chat_completions: { read: readChatAsk, judge: judgeChat, render: renderChat },
  completions: { read: readCompletionAsk, render: renderCompletion },
  messages: {
    read: (body) => readMessagesAsk(body, { isCount: false }),
    judge: judgeMessages,
    render: renderMessages,
  },
  count_tokens: {
    read: (body) => readMessagesAsk(body, { isCount: true }),
    judge: judgeMessages,
    render: renderMessages,
  },
  responses: {
    read: readResponsesAsk,
    judge: judgeResponses,
    render: renderResponses,
  },
  compact: {
    read: readResponsesAsk,
    judge: judgeResponses,
    render: renderCompactedResponse,
  },
};

/**
 * Creates the demo's providers with readers and renderers that share no code with the program's codecs, and with the
 * checks of real providers. They reject a translation that leaves a foreign field, separates a call from its result or
 * changes sealed reasoning.
 */
export function createStrictProvider(
  options: Omit<DemoOptions, "codec">,
): DemoUpstream {
  return createDemoUpstream({ ...options, codec: STRICT_CODEC });
}

const STRICT_CODEC: DemoCodec = {
  read(operation, body) {
    const { read, judge, render } = SERVICES[operation];
    const ask = read(body);
    judge?.(body, ask);
    const isCompaction = ask.isCompaction || operation === "compact";
    return {
      request: requestOf(ask),
      render(script, { ids, nowMs, ask: { model } }) {
        const { whole, stream } = render(scriptOf(script, isCompaction), {
          ids,
          createdAt: Math.floor(nowMs / 1000),
          ask: { ...ask, model },
          body,
        });
        return {
          whole: () => whole,
          ...stream && {
            steps({ isFailing }) {
              const all = [...stream.steps()];
              if (!isFailing) return all;
              const half = all.slice(0, Math.ceil(all.length / 2));
              return [...half, ...stream.failure(half.length)];
            },
          },
        };
      },
    };
  },
  writeError(error: GatewayError, { protocol, requestId }) {
    return protocol === "messages"
      ? { type: "error", error: messagesError(error), request_id: requestId }
      : { error: openaiError(error) };
  },
};
