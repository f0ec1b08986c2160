import type { Ids } from "@gateway/base/ids";
import { GatewayError } from "@gateway/base/error";
import type { Clock } from "@gateway/base/time/timers";
import { compose, composeCompaction, inputTokens } from "./answers.ts";
import type { Ask } from "./ask.ts";
import { INTERFACES, readBody, readModel } from "./interfaces.ts";
import {
  type Fault,
  faultOf,
  OVERLOADED,
  protocolOf,
  type Provider,
  refusalOf,
  type SimulatedOperation,
  SLOW_MS,
  withFault,
} from "./providers.ts";
import { quotaHeaders } from "./quota/report.ts";
import {
  type DemoCodec,
  type Rendering,
  type Script,
  wordCountOf,
} from "./script.ts";
import { speak, type Step, type Wait, waitForAbort, write } from "./speak.ts";
import type { Quota } from "./quota/quota.ts";

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
 * @throws {GatewayError} When the provider rejects the request.
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
  return prepared.ask.isStream && prepared.rendering.steps !== undefined
    ? streamAnswer(prepared, prepared.rendering.steps)
    : await wholeAnswer(prepared);
}

async function prepare(call: ModelCall, demo: Demo): Promise<Prepared> {
  const { provider, operation } = call;
  const protocol = protocolOf(operation);
  const body = await readBody(call.request);
  const model = readModel(body, { provider, protocol });
  const fault = faultOf(model, provider.family);
  const refusal = refusalOf(fault);
  if (refusal !== undefined) throw refusal;
  if (fault === "silent") await waitForAbort(call.request.signal);
  const { family } = provider;
  const parsed = demo.codec.read(operation, body);
  const ask = { family, protocol, model, ...parsed.ask };
  const script = composeFor(operation, ask);
  const rendering = parsed.render(script, {
    ids: demo.ids,
    nowMs: demo.clock.now(),
    requestId: call.requestId,
    ask,
  });
  return { ...call, demo, ask, fault, script, rendering };
}

function composeFor(operation: SimulatedOperation, ask: Ask): Script {
  if (operation === "compact") return composeCompaction(ask);
  if (operation !== "count_tokens") return compose(ask);
  const usage = { inputTokens: inputTokens(ask), outputTokens: 0 };
  return { blocks: [], stop: { reason: "end" }, usage };
}

function streamAnswer(
  prepared: Prepared,
  steps: NonNullable<Rendering["steps"]>,
): Response {
  const { fault, rendering } = prepared;
  const body = fault === "error-in-stream"
    ? rendering.failingSteps()
    : withFault(steps(), fault);
  return answer(prepared, body, "text/event-stream; charset=utf-8");
}

/** The longest delay of a whole answer, in milliseconds. */
const MAX_DELAY_MS = 3000;

/** Sends a whole answer after the delay of all its words. */
async function wholeAnswer(prepared: Prepared): Promise<Response> {
  const { demo, fault, script, request } = prepared;
  if (fault === "error-in-stream") {
    const { kind, message, code } = OVERLOADED;
    throw new GatewayError(kind, message, { code });
  }
  const delayMs = Math.min(wordCountOf(script) * demo.wordMs, MAX_DELAY_MS);
  const ms = fault === "slow" ? delayMs + SLOW_MS : delayMs;
  if (ms > 0) await demo.wait(ms, request.signal);
  const whole = write(JSON.stringify(prepared.rendering.whole()));
  return answer(prepared, withFault([whole], fault), "application/json");
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
  readonly codec: DemoCodec;
}
