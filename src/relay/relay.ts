import { MAIN_OPERATIONS } from "../core/protocol.ts";
import { readBody } from "./request/body.ts";
import { bodyProtocolOf } from "./request/body_protocol.ts";
import type { Exchange } from "./exchange.ts";
import { serve } from "./failover.ts";
import { allowNamedModels } from "./routing/allow_named_models.ts";
import { keepBody } from "./request/held_body.ts";
import {
  createRequestHeadReader,
  type PathHead,
} from "./request/request_head.ts";
import type { RelayServices } from "./services.ts";
import { type Candidates, findCandidates } from "./routing/candidates.ts";

/** What a route asks the relay to do. */
export interface RelayTask extends PathHead {
  readonly maxBodyBytes: number;
}

/**
 * The way of one request from its body to an upstream and back (docs/design.md#native-and-translated). Finishes the
 * exchange's record when an answer has ended; whoever catches what is thrown finishes it otherwise.
 *
 * @throws {GatewayError} Whatever the caller is to be told.
 * @throws {CallerLeft} When the caller is gone.
 */
export async function relay(
  exchange: Exchange,
  relayTask: RelayTask,
  services: RelayServices,
): Promise<Response> {
  const { caller, config, record } = exchange;
  const { operation, maxBodyBytes } = relayTask;
  services.admission.enter(exchange, caller, config);
  const memory = services.memory.open(config.server.maxBodyMemoryBytes);
  record.onFinish(memory.close);
  const reader = createRequestHeadReader(relayTask);
  const held = await readBody(exchange, {
    deadlines: services.deadlines,
    maxBytes: maxBodyBytes,
    deadlineMs: config.timeouts.bodyMs,
    memory,
    onPiece: reader.push,
  });
  const { length } = held;
  record.facts.bytesIn = length;
  const head = reader.end();
  record.facts.model = head.model;
  const bodyProtocol = head.hasInput ? await bodyProtocolOf(held) : undefined;
  record.facts.bodyProtocol = bodyProtocol;
  const asked = { operation, bodyProtocol, model: head.model };
  const named = findCandidates(asked, exchange);
  noteAlias(named, head.model, exchange);
  const found = allowNamedModels(named, head.namedModels, caller);
  const routed = services.routing.route(
    found,
    exchange,
    held,
    bodyProtocol === undefined ? operation : MAIN_OPERATIONS[bodyProtocol],
  );
  const candidates = routed instanceof Promise ? await routed : routed;
  const body = keepBody(held, () => memory.give(length));
  // To count tokens costs none.
  const tally = operation === "count_tokens" ? undefined : services.usage.open({
    record,
    caller,
    estimatedTokens: head.estimatedTokens,
  });
  const task = {
    operation,
    bodyProtocol,
    body,
    memory,
    head,
    candidates,
    tally,
  };
  return await serve(exchange, task, services);
}

/** The log, the metrics and the spans know a model by its id, whatever it was called. */
function noteAlias(
  { own: [{ deployment }] }: Candidates,
  asked: string,
  { record: { facts } }: Exchange,
): void {
  const { id } = deployment.model;
  if (id === asked) return;
  facts.alias = asked;
  facts.model = id;
}
