import type { Ids } from "@gateway/base/ids";
import { GatewayError } from "@gateway/base/error";
import type { Clock } from "@gateway/base/time/timers";
import { compose } from "./answers.ts";
import { INTERFACES, readBody, readModel } from "./interfaces.ts";
import {
  faultOf,
  OVERLOADED,
  protocolOf,
  type Provider,
  rejectFault,
  type SimulatedOperation,
  SLOW_MS,
} from "./providers.ts";
import { QUOTAS } from "./quota/report.ts";
import type { DemoCodec, Rendering } from "./script.ts";
import { speak, type Wait, waitForAbort, write } from "./speak.ts";
import type { Quota } from "./quota/quota.ts";

/** One request to a model. */
interface ModelCall {
  readonly request: Request;
  readonly provider: Provider;
  readonly operation: SimulatedOperation;
  readonly requestId: string;
}

/** The longest delay of a whole answer, in milliseconds. */
const MAX_DELAY_MS = 3000;

/**
 * Serves one request to a model: as a stream, or as JSON after the total delay of the answer's words.
 *
 * @throws {GatewayError} When the provider rejects the request.
 * @throws The reason of the request's signal, when it aborts before the headers are sent.
 */
export async function serveModelCall(
  { request, provider, operation, requestId }: ModelCall,
  demo: Demo,
): Promise<Response> {
  const { family, modelHeader } = provider;
  const { signal } = request;
  const protocol = protocolOf(operation);
  const body = await readBody(request);
  const model = readModel(body.model, { provider, protocol });
  const fault = faultOf(model, family);
  rejectFault(fault);
  if (fault === "silent") await waitForAbort(signal);
  const parsed = demo.codec.read(operation, body);
  const ask = { ...parsed.request, family, protocol, model };
  const script = compose(operation, ask);
  const context = { ids: demo.ids, nowMs: demo.clock.now(), requestId, ask };
  const { whole, steps }: Rendering = operation === "count_tokens"
    ? { whole: () => ({ input_tokens: script.usage.inputTokens }) }
    : parsed.render(script, context);
  if (operation !== "count_tokens") demo.quota.spend(family, script.usage);
  const isFailing = fault === "error-in-stream";
  const isStream = ask.stream && steps !== undefined;
  if (!isStream) {
    if (isFailing) {
      const { kind, message, code } = OVERLOADED;
      throw new GatewayError(kind, message, { code });
    }
    const words = script.blocks.flatMap(({ text }) => text.split(/\s+/));
    const delayMs = Math.min(words.length * demo.wordMs, MAX_DELAY_MS) +
      (fault === "slow" ? SLOW_MS : 0);
    if (delayMs > 0) await demo.wait(delayMs, signal);
  }
  const sent = isStream
    ? steps({ isFailing })
    : [write(JSON.stringify(whole()))];
  return new Response(speak(sent, { ...demo, signal, fault }), {
    headers: {
      "content-type": isStream
        ? "text/event-stream; charset=utf-8"
        : "application/json",
      [INTERFACES[protocol].requestIdHeader]: requestId,
      ...(modelHeader === undefined ? {} : { [modelHeader]: model }),
      ...QUOTAS[family].headers(demo.quota.read(family), demo.clock.now()),
    },
  });
}

/** The dependencies of the simulated provider. */
export interface DemoOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  /** Waits for a delay; default: with the clock of this machine. */
  readonly wait?: Wait;
  /** The delay of one word of an answer, in milliseconds, not negative; default 20; 0 sends without delay. */
  readonly wordMs?: number;
  /** The protocols of the providers; default: the program's own codecs. */
  readonly codec?: DemoCodec;
}

/** The shared state of the simulation, one for each program or test. */
export interface Demo extends Required<DemoOptions> {
  readonly quota: Quota;
}
