import type { JsonObject } from "../core/json.ts";
import { compose, composeCompaction } from "./answers.ts";
import type { Ask, AskOfBody } from "./ask/ask.ts";
import { readChatAsk, readCompletionAsk } from "./ask/chat.ts";
import { readMessagesAsk } from "./ask/messages.ts";
import { readResponsesAsk } from "./ask/responses.ts";
import { overloaded } from "./models.ts";
import { objectOf } from "./ask/fields.ts";
import { messagesError, openaiError } from "./refusal.ts";
import type { RenderContext } from "./render/render.ts";
import {
  renderChat,
  renderCompletion,
  streamChat,
  streamCompletion,
} from "./render/chat.ts";
import { renderMessages, streamMessages } from "./render/messages.ts";
import {
  renderCompactedResponse,
  renderResponses,
} from "./render/responses.ts";
import type { Script } from "./script.ts";
import type { SimulatedOperation } from "./providers.ts";
import { type Step, writeData, writeEvent } from "./step.ts";
import { failedEvent, streamResponses } from "./render/responses_stream.ts";
import { inputTokens } from "./usage.ts";

/** What a protocol makes of a script. */
export interface Rendering {
  /** The whole answer, for callers that do not stream. */
  readonly whole: object;
  /** The answer as a stream; `undefined` for an operation that has none. */
  readonly stream: Stream | undefined;
}

interface Stream {
  readonly steps: Iterable<Step>;
  /** How the stream reports a failure after so many of its steps. */
  failure(stepCount: number): Iterable<Step>;
}

/** How the provider serves one operation. */
export interface Service {
  /** @throws {Refusal} When the request is not one that the provider answers. */
  read(body: JsonObject): AskOfBody;
  compose(ask: Ask): Script;
  render(script: Script, context: RenderContext): Rendering;
}

/** The service of each operation. */
export const SERVICES: Readonly<Record<SimulatedOperation, Service>> = {
  chat_completions: {
    read: readChatAsk,
    compose,
    render: (script, context) => {
      const answer = renderChat(script, context);
      const steps = streamChat(answer, usageOption(context.body));
      return { whole: answer, stream: { steps, failure: chatFailure } };
    },
  },
  completions: {
    read: readCompletionAsk,
    compose,
    render: (script, context) => {
      const answer = renderCompletion(script, context);
      const steps = streamCompletion(answer, usageOption(context.body));
      return { whole: answer, stream: { steps, failure: chatFailure } };
    },
  },
  messages: {
    read: (body) => readMessagesAsk(body, { isCount: false }),
    compose,
    render: (script, context) => {
      const answer = renderMessages(script, context);
      const steps = streamMessages(answer);
      return { whole: answer, stream: { steps, failure: messagesFailure } };
    },
  },
  count_tokens: {
    read: (body) => readMessagesAsk(body, { isCount: true }),
    compose: composeNothing,
    render: ({ usage }) => ({
      whole: { input_tokens: usage.inputTokens },
      stream: undefined,
    }),
  },
  responses: {
    read: readResponsesAsk,
    compose,
    render: (script, context) => {
      const answer = renderResponses(script, context);
      const failure = (stepCount: number) => [
        failedEvent(answer, {
          lastNumber: stepCount - 1,
          refusal: overloaded(),
        }),
      ];
      return {
        whole: answer,
        stream: { steps: streamResponses(answer), failure },
      };
    },
  },
  compact: {
    read: readResponsesAsk,
    compose: composeCompaction,
    render: (script, context) => ({
      whole: renderCompactedResponse(script, context),
      stream: undefined,
    }),
  },
};

/** Counting says nothing and costs nothing but the count. */
function composeNothing(ask: Ask): Script {
  return {
    blocks: [],
    stop: "end",
    stopSequence: undefined,
    usage: {
      inputTokens: inputTokens(ask),
      cachedTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
    },
  };
}

function usageOption(body: JsonObject): { includeUsage: boolean } {
  const { include_usage } = objectOf(body.stream_options);
  return { includeUsage: include_usage === true };
}

function chatFailure(): Step[] {
  return [writeData({ error: openaiError(overloaded()) })];
}

function messagesFailure(): Step[] {
  return [writeEvent({ type: "error", error: messagesError(overloaded()) })];
}
