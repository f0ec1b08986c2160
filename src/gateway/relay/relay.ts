import type { AnyResponse } from "@gateway/http1";
import { GatewayError } from "@gateway/base/error";
import { MAIN_OPERATIONS, OPERATIONS } from "@gateway/base/protocol";
import { isMetered } from "../usage/bounds.ts";
import { readBody } from "./request/body.ts";
import {
  bodyProtocolOf,
  createRequestHeadReader,
  type PathHead,
  type RequestHead,
} from "./request/request_head.ts";
import { endRequest } from "./end_request.ts";
import type { Exchange } from "./exchange.ts";
import { tryCandidates } from "./failover.ts";
import { type Candidates, findCandidates } from "./routing/candidate.ts";
import { allowNamedModels } from "./routing/named_in_body.ts";
import type { MemoryShare } from "./request/body_memory.ts";
import { type HeldBody, keepBody, type KeptBody } from "./request/held_body.ts";
import type { FindPrompt } from "./request/prompt_parts.ts";
import { promptPartsOf } from "./request/prompt_scan.ts";
import type { RelayServices } from "./services.ts";

/** A request as its route describes it. */
export interface RelayTask extends PathHead {
  readonly maxBodyBytes: number;
}

/**
 * Sends a request's body to an upstream and returns the response (docs/design.md#native-and-translated). Ends the
 * request when the answer ends. After an error, the code that catches the error ends the request.
 *
 * @throws {GatewayError} The error for the caller.
 * @throws {CallerLeft} When the caller disconnects.
 */
export async function relay(
  exchange: Exchange,
  relayTask: RelayTask,
  services: RelayServices,
): Promise<AnyResponse> {
  const { caller, config, record, holds } = exchange;
  const { operation } = relayTask;
  services.admission.enter(exchange, caller, config);
  const memory = services.memory.open(
    config.server.maxBodyMemoryBytes,
    caller.sha256,
  );
  holds.memory = memory;
  const { held, body, head } = await readTask(exchange, relayTask, {
    memory,
    deadlines: services.deadlines,
    findPrompt: services.cacheMisses.findPrompt(caller),
  });
  record.facts.model = head.model;
  record.facts.isStream = head.stream;
  record.facts.effort = head.prompt.effort;
  if (head.deferredBy !== undefined && isMetered(caller)) {
    throw uncountable(head.deferredBy);
  }
  const bodyProtocol = head.hasInput ? await bodyProtocolOf(held) : undefined;
  record.facts.bodyProtocol = bodyProtocol;
  const { model, prompt } = head;
  const query = { operation, bodyProtocol, model, prompt };
  const serving = findCandidates(query, exchange);
  noteAlias(serving, head.model, exchange);
  const named = {
    names: head.namedModels,
    protocol: bodyProtocol ?? OPERATIONS[operation].protocol,
  };
  const found = allowNamedModels(serving, named, caller);
  const candidates = await services.conversations.route(
    found,
    exchange,
    {
      body: held,
      operation: bodyProtocol === undefined
        ? operation
        : MAIN_OPERATIONS[bodyProtocol],
    },
  );
  // Counting tokens is free.
  const tally = operation === "count_tokens" ? undefined : services.usage.open({
    record,
    caller,
    estimatedTokens: head.estimatedTokens,
    maxOutputTokens: head.maxOutputTokens,
  });
  if (tally !== undefined) {
    holds.tally = tally;
    holds.judgeCache = (ended) =>
      services.cacheMisses.judge(exchange, head.prompt, ended, holds.sent);
  }
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
  const answer = await tryCandidates(exchange, task, services);
  // A stream ends its request when the caller has read it.
  if (isWhole(answer)) endRequest(exchange, "complete");
  return answer;
}

/** A request whose body is read. */
interface ReadTask {
  readonly held: HeldBody;
  /** Keeps `held` for the attempts. The body is released when the request ends, or earlier. */
  readonly body: KeptBody;
  readonly head: RequestHead;
}

/**
 * Reads the body and its head. This is a separate function, so that a waiting request does not keep the scanner in
 * memory.
 */
async function readTask(
  exchange: Exchange,
  { maxBodyBytes, ...path }: RelayTask,
  { memory, deadlines, findPrompt }: Pick<RelayServices, "deadlines"> & {
    readonly memory: MemoryShare;
    readonly findPrompt: FindPrompt;
  },
): Promise<ReadTask> {
  const { config, record: { facts }, holds } = exchange;
  const reader = createRequestHeadReader(path, findPrompt);
  const held = await readBody(exchange, {
    deadlines,
    maxBytes: maxBodyBytes,
    deadlineMs: config.timeouts.bodyMs,
    memory,
    onChunk(chunk) {
      facts.bytesIn += chunk.length;
      reader.push(chunk);
    },
  });
  const body = keepBody(held, () => memory.give(held.length));
  // If the request is rejected, only its end releases the body.
  holds.body = body;
  const head = reader.end();
  if (!head.prompt.isIncomplete) return { held, body, head };
  return { held, body, head: { ...head, prompt: await promptPartsOf(held) } };
}

/**
 * Creates the error for a request whose answer is fetched later. The gateway cannot count the usage of such an answer.
 */
function uncountable(param: string): GatewayError {
  return new GatewayError(
    "invalid_request",
    `Cannot count the request against the limits of this token: with \`${param}\` its answer is fetched later. Send the request without \`${param}\`.`,
    { param },
  );
}

/**
 * If a request names its model by an alias, records the alias and the model's id. The log, the metrics and the spans
 * name a model by its id.
 */
function noteAlias(
  { own: [{ deployment }] }: Candidates,
  requested: string,
  { record: { facts } }: Exchange,
): void {
  const { id } = deployment.model;
  if (id === requested) return;
  facts.alias = requested;
  facts.model = id;
}

/**
 * Returns true for a complete answer. A platform's `Response` is complete, because the relay creates none with a
 * stream.
 */
function isWhole(answer: AnyResponse): boolean {
  return answer instanceof Response || answer.source instanceof Uint8Array;
}
