import type { Operation } from "../core/protocol.ts";
import { wait } from "../core/wait.ts";
import { readBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { serve } from "./failover.ts";
import { holdBody } from "./held_body.ts";
import { readQuestion } from "./question.ts";
import type { RelayTools } from "./tools.ts";
import { findWays } from "./ways.ts";

/** What a route asks the relay to do. */
export interface RelayTask {
  readonly operation: Operation;
  readonly maxBodyBytes: number;
}

/** How long others have their turn while a long body is looked through. */
const PAUSE_MS = 1;

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
  const bytes = await readBody(exchange.request, {
    deadlines: tools.deadlines,
    maxBytes: maxBodyBytes,
    deadlineMs: config.timeouts.bodyMs,
  });
  facts.bytesIn = bytes.length;
  const { signal } = exchange.line.controller;
  const question = await readQuestion(
    bytes,
    () => wait(PAUSE_MS, { deadlines: tools.deadlines, signal }),
  );
  facts.model = question.model;
  const found = findWays({ operation, model: question.model }, exchange);
  const ways = tools.routing.route(found, exchange, bytes);
  const isSentOn = ways.own[0].mode === "native";
  const body = isSentOn ? holdBody(bytes) : bytes;
  return await serve(exchange, { operation, body, question, ways }, tools);
}
