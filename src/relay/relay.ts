import type { Operation } from "../core/protocol.ts";
import { readBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { serve } from "./failover.ts";
import { allowNamedModels } from "./allow_named_models.ts";
import { bodyLength } from "./held_body.ts";
import { createQuestionReader } from "./question.ts";
import type { RelayTools } from "./tools.ts";
import { findWays } from "./ways.ts";

/** What a route asks the relay to do. */
export interface RelayTask {
  readonly operation: Operation;
  readonly maxBodyBytes: number;
}

/**
 * The way of one request from its body to an upstream and back (docs/design.md#native-and-translated). Finishes the exchange's
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
  const reader = createQuestionReader();
  const body = await readBody(exchange.request, {
    deadlines: tools.deadlines,
    maxBytes: maxBodyBytes,
    deadlineMs: config.timeouts.bodyMs,
    onPiece: reader.push,
  });
  facts.bytesIn = bodyLength(body);
  const question = reader.end();
  facts.model = question.model;
  const found = allowNamedModels(
    findWays({ operation, model: question.model }, exchange),
    question.namedModels,
    caller,
  );
  const ways = await tools.routing.route(found, exchange, body);
  return await serve(exchange, { operation, body, question, ways }, tools);
}
