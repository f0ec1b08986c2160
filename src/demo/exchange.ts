import type { Ids } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import type { Clock } from "../core/time/timers.ts";
import { compose, composeCompaction, inputTokens } from "./answers.ts";
import type { Ask, AskOfBody } from "./ask/ask.ts";
import { INTERFACES, readBody, readModel } from "./interfaces.ts";
import {
  type Fault,
  faultOf,
  overloaded,
  protocolOf,
  type Provider,
  refusalOf,
  type SimulatedOperation,
  SLOW_MS,
  withFault,
} from "./providers.ts";
import { quotaHeaders } from "./quota/report.ts";
import {
  type RenderContext,
  type Rendering,
  type Script,
  wordCountOf,
} from "./script.ts";
import { speak, type Step, type Wait, waitForAbort, write } from "./speak.ts";
import { readChatAsk, readCompletionAsk } from "./ask/chat.ts";
import { readMessagesAsk } from "./ask/messages.ts";
import { readResponsesAsk } from "./ask/responses.ts";
import type { Quota } from "./quota/quota.ts";
import { renderChat, renderCompletion } from "./render/chat.ts";
import { renderMessages } from "./render/messages.ts";
import {
  renderCompactedResponse,
  renderResponses,
} from "./render/responses.ts";

/** One call of a model. */
export interface Call {
  readonly request: Request;
  readonly provider: Provider;
  readonly operation: SimulatedOperation;
  readonly requestId: string;
}

/** A call with everything that was made of it. */
interface Prepared extends Call {
  readonly demo: Demo;
  readonly ask: Ask;
  readonly fault: Fault | undefined;
  readonly script: Script;
  readonly rendering: Rendering;
}

/**
 * Answers one call of a model: as JSON, or as a stream when the request asks for one.
 *
 * @throws {Refusal} When the provider refuses the request. Rejects with the reason of the request's signal
 * when it aborts before the headers are out.
 */
export async function exchange(call: Call, demo: Demo): Promise<Response> {
  const prepared = await prepare(call, demo);
  if (prepared.operation !== "count_tokens") {
    demo.quota.spend(call.provider.family, prepared.script.usage);
  }
  const { stream } = prepared.rendering;
  return prepared.ask.isStream && stream !== undefined
    ? streamAnswer(prepared, stream)
    : await wholeAnswer(prepared);
}

async function prepare(call: Call, demo: Demo): Promise<Prepared> {
  const { provider, operation } = call;
  const protocol = protocolOf(operation);
  const service = SERVICES[operation];
  const body = await readBody(call.request);
  const model = readModel(body, { provider, protocol });
  const fault = faultOf(model, provider.family);
  const refusal = refusalOf(fault);
  if (refusal !== undefined) throw refusal;
  if (fault === "silent") await waitForAbort(call.request.signal);
  const { family } = provider;
  const asked = service.read(body);
  demo.judge({ operation, body, ask: asked });
  const ask = { family, protocol, model, ...asked };
  const script = service.compose(ask);
  const createdAt = Math.floor(demo.clock.now() / 1000);
  const context = { ids: demo.ids, createdAt, ask, body };
  const rendering = service.render(script, context);
  return { ...call, demo, ask, fault, script, rendering };
}

function streamAnswer(
  prepared: Prepared,
  stream: NonNullable<Rendering["stream"]>,
): Response {
  const { fault } = prepared;
  const steps = withFault(stream.steps(), { fault, failure: stream.failure });
  return answer(prepared, steps, "text/event-stream; charset=utf-8");
}

/** How long a whole answer may take, however many words it has, in milliseconds. */
const MAX_THINKING_MS = 3000;

/** A whole answer is sent when the last word of it is thought of. */
async function wholeAnswer(prepared: Prepared): Promise<Response> {
  const { demo, fault, script, request } = prepared;
  if (fault === "error-in-stream") throw overloaded();
  const thinkingMs = Math.min(
    wordCountOf(script) * demo.wordMs,
    MAX_THINKING_MS,
  );
  const ms = fault === "slow" ? thinkingMs + SLOW_MS : thinkingMs;
  if (ms > 0) await demo.wait(ms, request.signal);
  const whole = write(JSON.stringify(prepared.rendering.whole));
  const steps = withFault([whole], { fault, failure: () => [] });
  return answer(prepared, steps, "application/json");
}

function answer(
  { demo, request, provider, requestId, ask }: Prepared,
  steps: Iterable<Step>,
  contentType: string,
): Response {
  const { family, modelHeader } = provider;
  const body = speak(steps, { ...demo, signal: request.signal });
  return new Response(body, {
    headers: {
      "content-type": contentType,
      [INTERFACES[ask.protocol].requestIdHeader]: requestId,
      ...(modelHeader === undefined ? {} : { [modelHeader]: ask.model }),
      ...quotaHeaders(demo.quota.read(family), {
        family,
        nowMs: demo.clock.now(),
      }),
    },
  });
}

/** What the whole simulation shares: one a program, or one a test. */
export interface Demo {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wait: Wait;
  /** Milliseconds for one word of an answer; 0 answers without waiting. */
  readonly wordMs: number;
  readonly quota: Quota;
  readonly judge: Judge;
}

/**
 * Refuses requests that the demo would answer.
 *
 * @throws {Refusal} For a request that is not good enough.
 */
export type Judge = (asked: {
  readonly operation: SimulatedOperation;
  readonly body: JsonObject;
  /** What the demo made of the body. */
  readonly ask: AskOfBody;
}) => void;

/** How the provider serves one operation. */
interface Service {
  /** @throws {Refusal} When the request is not one that the provider answers. */
  read(body: JsonObject): AskOfBody;
  compose(ask: Ask): Script;
  render(script: Script, context: RenderContext): Rendering;
}

/** The service of each operation. */
const SERVICES: Readonly<Record<SimulatedOperation, Service>> = {
  chat_completions: { read: readChatAsk, compose, render: renderChat },
  completions: { read: readCompletionAsk, compose, render: renderCompletion },
  messages: {
    read: (body) => readMessagesAsk(body, { isCount: false }),
    compose,
    render: renderMessages,
  },
  count_tokens: {
    read: (body) => readMessagesAsk(body, { isCount: true }),
    compose: composeNothing,
    render: ({ usage }) => ({
      whole: { input_tokens: usage.inputTokens },
      stream: undefined,
    }),
  },
  responses: { read: readResponsesAsk, compose, render: renderResponses },
  compact: {
    read: readResponsesAsk,
    compose: composeCompaction,
    render: renderCompactedResponse,
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
