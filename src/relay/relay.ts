import { GatewayError } from "../core/error.ts";
import { MAIN_OPERATIONS, OPERATIONS } from "../core/protocol.ts";
import { isMetered } from "../usage/bounds.ts";
import { readBody } from "./request/body.ts";
import {
  bodyProtocolOf,
  createRequestHeadReader,
  type PathHead,
} from "./request/request_head.ts";
import type { Exchange } from "./exchange.ts";
import { tryCandidates } from "./failover.ts";
import {
  allowNamedModels,
  type Candidates,
  findCandidates,
} from "./routing/candidate.ts";
import { keepBody } from "./request/held_body.ts";
import type { RelayServices } from "./services.ts";

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
  const memory = services.memory.open(
    config.server.maxBodyMemoryBytes,
    caller.sha256,
  );
  record.onFinish(memory.close);
  const reader = createRequestHeadReader(relayTask);
  const held = await readBody(exchange, {
    deadlines: services.deadlines,
    maxBytes: maxBodyBytes,
    deadlineMs: config.timeouts.bodyMs,
    memory,
    onPiece(piece) {
      record.facts.bytesIn += piece.length;
      reader.push(piece);
    },
  });
  const { length } = held;
  const head = reader.end();
  record.facts.model = head.model;
  if (head.deferredBy !== undefined && isMetered(caller)) {
    throw uncountable(head.deferredBy);
  }
  const bodyProtocol = head.hasInput ? await bodyProtocolOf(held) : undefined;
  record.facts.bodyProtocol = bodyProtocol;
  const asked = { operation, bodyProtocol, model: head.model };
  const serving = findCandidates(asked, exchange);
  noteAlias(serving, head.model, exchange);
  const named = {
    names: head.namedModels,
    protocol: bodyProtocol ?? OPERATIONS[operation].protocol,
  };
  const found = allowNamedModels(serving, named, caller);
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
    named,
    candidates,
    tally,
  };
  return await tryCandidates(exchange, task, services);
}

/** An answer that is fetched later goes past the gateway, and so does what it used. */
function uncountable(param: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot count the request for the limits of this token: with \`${param}\` its answer is fetched later. Wait for the answer instead`,
    { param },
  );
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
