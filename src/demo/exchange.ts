import { readBody, readModel } from "./admission.ts";
import type { Ask } from "./ask/ask.ts";
import type { Demo } from "./demo.ts";
import {
  type Fault,
  faultOf,
  overloaded,
  refusalOf,
  SLOW_MS,
  withFault,
} from "./models.ts";
import { INTERFACES } from "./interfaces.ts";
import { type Rendering, SERVICES } from "./operations.ts";
import {
  protocolOf,
  type Provider,
  type SimulatedOperation,
} from "./providers.ts";
import { quotaHeaders } from "./quota/headers.ts";
import { wordCountOf } from "./render/render.ts";
import type { Script } from "./script.ts";
import { type Step, write } from "./step.ts";
import { type Wait, waitForAbort } from "./wait.ts";

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
  const steps = withFault(stream.steps, { fault, failure: stream.failure });
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

/** How fast a body is sent, and what stops it. */
interface SpeakOptions {
  readonly wait: Wait;
  /** Milliseconds for one word; 0 sends without waiting. */
  readonly wordMs: number;
  /** The request's signal: its abort errors the body with the signal's reason. */
  readonly signal: AbortSignal;
}

/**
 * A body that takes `steps` one after the other, only as fast as it is read. It stops at once when the
 * signal aborts or the reader cancels, and leaves nothing behind.
 */
export function speak(
  steps: Iterable<Step>,
  options: SpeakOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const iterator = steps[Symbol.iterator]();
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  return new ReadableStream({
    start(controller) {
      const fail = () => controller.error(options.signal.reason);
      options.signal.addEventListener("abort", fail, {
        once: true,
        signal: ended.signal,
      });
    },
    async pull(controller) {
      try {
        const text = await nextText(iterator, { ...options, signal });
        if (signal.aborted) return;
        if (text !== undefined) {
          return controller.enqueue(encoder.encode(text));
        }
        ended.abort();
        controller.close();
      } catch (error) {
        if (signal.aborted) return;
        ended.abort();
        controller.error(error);
      }
    },
    cancel(reason) {
      ended.abort(reason);
    },
  }, { highWaterMark: 0 });
}

/** Takes steps up to the next text; `undefined` when there are none left. */
async function nextText(
  iterator: Iterator<Step>,
  options: SpeakOptions,
): Promise<string | undefined> {
  for (;;) {
    const { value: step, done } = iterator.next();
    if (done) return undefined;
    if (step.kind === "hang") await waitForAbort(options.signal);
    else if (step.kind === "break") throw brokenConnection();
    else if (step.kind === "wait") await options.wait(step.ms, options.signal);
    else {
      const ms = step.wordCount * options.wordMs;
      if (ms > 0) await options.wait(ms, options.signal);
      return step.text;
    }
  }
}

/** What `fetch` throws when the other side goes away in the middle of a body. */
function brokenConnection(): TypeError {
  return new TypeError("error reading a body from connection");
}
