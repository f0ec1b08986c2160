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

/** One request to a model. */
interface ModelCall {
  readonly request: Request;
  readonly provider: Provider;
  readonly operation: SimulatedOperation;
  readonly requestId: string;
}

/** A call with its parsed request and its rendered answer. */
interface Prepared extends ModelCall {
  readonly demo: Demo;
  readonly ask: Ask;
  readonly fault: Fault | undefined;
  readonly script: Script;
  readonly rendering: Rendering;
}

/**
 * Serves one request to a model, as JSON or as a stream.
 *
 * @throws {Refusal} When the provider rejects the request.
 * @throws The reason of the request's signal, when it aborts before the headers are sent.
 */
export async function serveModelCall(
  call: ModelCall,
  demo: Demo,
): Promise<Response> {
  const prepared = await prepare(call, demo);
  if (prepared.operation !== "count_tokens") {
    demo.quota.spend(call.provider.family, prepared.script.usage);
  }
  const { stream } = prepared.rendering;
  return prepared.ask.isStream && stream !== undefined
    ? streamAnswer(prepared, stream)
    : await wholeAnswer(prepared);
}

async function prepare(call: ModelCall, demo: Demo): Promise<Prepared> {
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
  const askOfBody = service.read(body);
  demo.judge({ operation, body, ask: askOfBody });
  const ask = { family, protocol, model, ...askOfBody };
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

/** The longest delay of a whole answer, in milliseconds. */
const MAX_DELAY_MS = 3000;

/** Sends a whole answer after the delay of all its words. */
async function wholeAnswer(prepared: Prepared): Promise<Response> {
  const { demo, fault, script, request } = prepared;
  if (fault === "error-in-stream") throw overloaded();
  const delayMs = Math.min(wordCountOf(script) * demo.wordMs, MAX_DELAY_MS);
  const ms = fault === "slow" ? delayMs + SLOW_MS : delayMs;
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

/** The shared state of the simulation, one for each program or test. */
export interface Demo {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wait: Wait;
  /** The delay of one word of an answer, in milliseconds; 0 sends without delay. */
  readonly wordMs: number;
  readonly quota: Quota;
  readonly judge: Judge;
}

/**
 * Rejects requests that the demo would serve.
 *
 * @throws {Refusal} For a request that it does not accept.
 */
export type Judge = (asked: {
  readonly operation: SimulatedOperation;
  readonly body: JsonObject;
  /** The body, parsed by the demo. */
  readonly ask: AskOfBody;
}) => void;

/** The functions that serve one operation. */
interface Service {
  /**
   * Parses the body of a request.
   *
   * @throws {Refusal} When the provider does not serve the request.
   */
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

/** Composes the result of counting tokens: the count, without an answer. */
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
