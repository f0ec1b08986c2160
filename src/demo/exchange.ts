import { type Operation, OPERATIONS } from "../core/protocol.ts";
import { readBody, readModel } from "./admission.ts";
import type { Ask } from "./ask.ts";
import type { Demo } from "./demo.ts";
import {
  type Fault,
  overloaded,
  refusalOf,
  SLOW_MS,
  withFault,
} from "./faults.ts";
import { faultOf } from "./models.ts";
import { type Rendering, SERVICES } from "./operations.ts";
import type { Provider } from "./providers.ts";
import { quotaHeaders } from "./quota_headers.ts";
import { wordCountOf } from "./render.ts";
import type { Script } from "./script.ts";
import { speak } from "./speak.ts";
import { type Step, write } from "./step.ts";
import { waitForAbort } from "./wait.ts";

/** One call of a model. */
export interface Call {
  readonly request: Request;
  readonly provider: Provider;
  readonly operation: Operation;
  readonly requestId: string;
}

/** A call with everything that was made of it. */
interface Prepared extends Call {
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
    ? streamAnswer(prepared, demo, stream)
    : await wholeAnswer(prepared, demo);
}

async function prepare(call: Call, demo: Demo): Promise<Prepared> {
  const { provider, operation } = call;
  const { protocol } = OPERATIONS[operation];
  const service = SERVICES[operation];
  const body = await readBody(call.request);
  const model = readModel(body, { provider, protocol });
  const fault = faultOf(model, provider.family);
  const refusal = refusalOf(fault);
  if (refusal !== undefined) throw refusal;
  if (fault === "silent") await waitForAbort(call.request.signal);
  const { family } = provider;
  const ask = { family, protocol, model, ...service.read(body) };
  const script = service.compose(ask);
  const createdAt = Math.floor(demo.clock.now() / 1000);
  const context = { ids: demo.ids, createdAt, ask, body };
  const rendering = service.render(script, context);
  return { ...call, ask, fault, script, rendering };
}

function streamAnswer(
  prepared: Prepared,
  demo: Demo,
  stream: NonNullable<Rendering["stream"]>,
): Response {
  const steps = withFault(stream.steps, prepared.fault, stream.failure);
  return answer(steps, "text/event-stream; charset=utf-8", prepared, demo);
}

/** How long a whole answer may take, however many words it has, in milliseconds. */
const MAX_THINKING_MS = 3000;

/** A whole answer is sent when the last word of it is thought of. */
async function wholeAnswer(
  prepared: Prepared,
  demo: Demo,
): Promise<Response> {
  const { fault, script, request } = prepared;
  if (fault === "error-in-stream") throw overloaded();
  const thinkingMs = Math.min(
    wordCountOf(script) * demo.wordMs,
    MAX_THINKING_MS,
  );
  const ms = fault === "slow" ? thinkingMs + SLOW_MS : thinkingMs;
  if (ms > 0) await demo.wait(ms, request.signal);
  const whole = write(JSON.stringify(prepared.rendering.whole));
  const steps = withFault([whole], fault, () => []);
  return answer(steps, "application/json", prepared, demo);
}

function answer(
  steps: Iterable<Step>,
  contentType: string,
  { request, provider, requestId, ask }: Prepared,
  demo: Demo,
): Response {
  const { family } = provider;
  const isMessages = ask.protocol === "messages";
  const body = speak(steps, { ...demo, signal: request.signal });
  return new Response(body, {
    headers: {
      "content-type": contentType,
      [isMessages ? "request-id" : "x-request-id"]: requestId,
      ...(family === "C" ? { "openai-model": ask.model } : {}),
      ...quotaHeaders(demo.quota.read(family), {
        family,
        nowMs: demo.clock.now(),
      }),
    },
  });
}
