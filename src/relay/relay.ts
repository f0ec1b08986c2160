import { GatewayError } from "../core/error.ts";
import type { Operation } from "../core/protocol.ts";
import type { Admission } from "./admission.ts";
import { assign } from "./assign.ts";
import { readBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { relayNative } from "./native.ts";
import { type Plan, plan } from "./plan.ts";
import { readQuestion } from "./question.ts";
import type { RelayTools } from "./tools.ts";
import { relayTranslated } from "./translated.ts";

/** What a route asks the relay to do. */
export interface RelayTask {
  readonly operation: Operation;
  readonly maxBodyBytes: number;
}

/**
 * The way of one request from its body to an upstream and back (design section 2). Finishes the exchange's
 * record when an answer has ended; whoever catches what is thrown finishes it otherwise.
 *
 * @throws {GatewayError} Whatever the caller is to be told.
 * @throws {CallerLeft} When the caller is gone.
 */
export async function relay(
  exchange: Exchange,
  { operation, maxBodyBytes }: RelayTask,
  tools: RelayTools,
): Promise<Response> {
  const { caller, config, record: { facts } } = exchange;
  tools.admission.enter(exchange, caller, config);
  const body = await readBody(exchange.request, {
    deadlines: tools.deadlines,
    maxBytes: maxBodyBytes,
    deadlineMs: config.timeouts.bodyMs,
  });
  facts.bytesIn = body.length;
  const question = readQuestion(body);
  facts.model = question.model;
  const plans = plan(operation, assign(question.model, caller, config));
  const chosen = choose(plans, exchange, tools.admission);
  const { candidate } = chosen;
  facts.connection = candidate.connection.name;
  facts.upstreamModel = candidate.model.upstream;
  facts.mode = chosen.mode;
  return chosen.mode === "native"
    ? await relayNative(
      exchange,
      { operation, candidate, body, question },
      tools,
    )
    : await relayTranslated(
      exchange,
      { operation, candidate, body, protocol: chosen.protocol },
      tools,
    );
}

/** The first way whose connection has a place free. */
function choose(
  plans: readonly Plan[],
  { record }: Exchange,
  admission: Admission,
): Plan {
  const free = plans.find(({ candidate }) =>
    admission.occupy(candidate.connection, record)
  );
  if (free !== undefined) return free;
  throw new GatewayError(
    "overloaded",
    "Cannot serve the model now: every connection that has it serves as many requests as it may, try again in a moment",
    { code: "connection_overloaded", headers: { "retry-after": "1" } },
  );
}
