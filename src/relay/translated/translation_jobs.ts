import { GatewayError } from "../../core/error.ts";
import type { Ids } from "../../core/ids.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../core/json.ts";
import {
  MAIN_OPERATIONS,
  type Operation,
  OPERATIONS,
  type Protocol,
} from "../../core/protocol.ts";
import { runStage } from "../../core/stage.ts";
import type { Answer } from "../../protocols/canonical/answer/answer.ts";
import type { ToolAliases } from "../../protocols/canonical/tools/bridge_tools.ts";
import type {
  AnswerContext,
  CallerCodec,
  Target,
} from "../../protocols/canonical/codec.ts";
import {
  type AnswerEvent,
  isOutput,
} from "../../protocols/canonical/stream/event.ts";
import { estimateTokens } from "../../protocols/canonical/request/estimate.ts";
import { unfoldAnswer } from "../../protocols/canonical/answer/fold.ts";
import { isToolCall } from "../../protocols/canonical/request/history.ts";
import type { CanonicalRequest } from "../../protocols/canonical/request/request.ts";
import { restoreAnswer } from "../../protocols/canonical/tools/restore_tools.ts";
import { settleAnswerCalls } from "../../protocols/canonical/tools/settle_calls.ts";
import { cutAnswer } from "../../protocols/canonical/answer/stop_strings.ts";
import {
  recallThoughts,
  type Thoughts,
} from "../../protocols/canonical/answer/thoughts.ts";
import type { Usage } from "../../protocols/canonical/answer/usage.ts";
import { completionsCodec } from "../../protocols/completions/mod.ts";
import { responsesInChatCodec } from "../../protocols/responses_in_chat/mod.ts";
import { keptRequest } from "../../protocols/kept_request.ts";
import { CODECS } from "../../protocols/mod.ts";
import {
  type ReadRequest,
  readRequest,
  writeRequest,
} from "../../protocols/translate_request.ts";
import { formatFrame } from "../../streams/sse_format.ts";
import { brokenUpstream } from "../../upstream/failure.ts";
import { createSealWatch } from "./seal_watch.ts";

/*
 * What translating a body comes down to: plain data in, plain data out, nothing else touched. So it can be done
 * here or in another thread, and the bytes are the same.
 */

/** A request to translate. */
export interface RequestJob {
  readonly body: Uint8Array<ArrayBuffer>;
  /** The caller's. */
  readonly operation: Operation;
  /** The protocol of the caller's body, where that is not the operation's. */
  readonly bodyProtocol?: Protocol | undefined;
  /** The model that the caller asks for, and whether for a stream, wherever the request says so. */
  readonly model: string;
  readonly stream: boolean;
  /** The upstream's. */
  readonly to: Protocol;
  readonly target: Target;
  /** Whether every loss refuses the request. */
  readonly strict: boolean;
  /** Whether the upstream is asked for a stream even if the caller wants JSON. */
  readonly streamOnly: boolean;
  /** Fields of the upstream's body to set. */
  readonly force: Readonly<JsonObject>;
  /** Fields of the upstream's body to remove. */
  readonly omit: readonly string[];
  /** The calls of the caller for which there is reasoning to recall. */
  readonly recallable: ReadonlySet<string>;
}

/** A request in the upstream's protocol, and what its answer needs. */
export interface TranslatedBody {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Whether it asks the upstream for a stream. */
  readonly stream: boolean;
  /** What of the caller's request the encoder of the answer looks at. */
  readonly request: CanonicalRequest;
  /** For `restoreTools`. */
  readonly aliases: ToolAliases;
  /** The strings at which the answer must be cut. */
  readonly cuts: readonly string[];
  /** A rough count of the request's tokens. */
  readonly estimatedInputTokens: number;
  /** What was dropped, in the caller's spelling. */
  readonly dropped: ReadonlySet<string>;
}

/** The reasoning that is kept for calls, by their ids. */
export type RecalledReasoning = ReadonlyMap<string, Thoughts>;

/** Fetches reasoning that is kept for calls. */
export type Recall = (
  callIds: readonly string[],
) => RecalledReasoning | Promise<RecalledReasoning>;

/**
 * Translates a request.
 *
 * @throws {GatewayError} `invalid_request`: the request is wrong, or something that changes the answer cannot be
 * carried.
 */
export async function translateBody(
  job: RequestJob,
  recall: Recall,
): Promise<TranslatedBody> {
  const from = callerCodec(job);
  const parsed = parseJson(decoder.decode(job.body));
  if (!isJsonObject(parsed)) throw noObject();
  const read = withHead(readRequest(parsed, from), job);
  const callIds = recallableIn(read.request, job.recallable);
  const reasoning = callIds.length === 0 ? undefined : await recall(callIds);
  const { body, request, aliases, cuts, dropped } = writeRequest(read, {
    ...job,
    to: CODECS[job.to],
    prepare: reasoning && ((read) => ({
      ...read,
      turns: recallThoughts(read.turns, (callId) => reasoning.get(callId)),
    })),
  });
  return {
    body: encoder.encode(JSON.stringify(body)),
    stream: isStreamAsked(body, read.request, job),
    request: keptRequest(request, from),
    aliases,
    cuts,
    estimatedInputTokens: estimateTokens(job.body.length, request),
    dropped,
  };
}

/** What the path of a request says cannot be read in its body. */
function withHead(
  read: ReadRequest,
  { operation, model, stream }: RequestJob,
): ReadRequest {
  const { modelField, streamField } = OPERATIONS[operation];
  if (modelField !== undefined && streamField !== undefined) return read;
  return { ...read, request: { ...read.request, model, stream } };
}

/** Whether an upstream is asked for a stream, of which the connection may have its say in the body. */
function isStreamAsked(
  body: JsonObject,
  { stream }: CanonicalRequest,
  { to, streamOnly }: RequestJob,
): boolean {
  const { streamField } = OPERATIONS[MAIN_OPERATIONS[to]];
  return streamField === undefined
    ? stream || streamOnly
    : body[streamField] === true;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** What a caller asks for, and the protocol of the body where that is another. */
export type CallerForm = Pick<RequestJob, "operation" | "bodyProtocol">;

/** How the callers of an operation are read and written. */
export function callerCodec(
  { operation, bodyProtocol }: CallerForm,
): CallerCodec {
  if (bodyProtocol === "responses" && operation === "chat_completions") {
    return responsesInChatCodec;
  }
  return operation === "completions"
    ? completionsCodec
    : CODECS[OPERATIONS[operation].protocol];
}

function noObject(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "Cannot read the body: it is not one JSON object",
  );
}

function recallableIn(
  { turns }: CanonicalRequest,
  recallable: ReadonlySet<string>,
): readonly string[] {
  if (recallable.size === 0) return [];
  const ids = turns.flatMap(({ blocks }) => blocks).filter(isToolCall)
    .map(({ id }) => id);
  return [...new Set(ids)].filter((id) => recallable.has(id));
}

/** A whole answer to translate. */
export interface AnswerJob
  extends Omit<AnswerContext, "ids" | "drop" | "now" | "request"> {
  /** The upstream's bytes, or what its stream told. */
  readonly answer: Uint8Array<ArrayBuffer> | Answer;
  /** The caller's. */
  readonly operation: Operation;
  /** The protocol of the caller's body, where that is not the operation's. */
  readonly bodyProtocol?: Protocol | undefined;
  /** The upstream's. */
  readonly to: Protocol;
  readonly request: CanonicalRequest;
  readonly aliases: ToolAliases;
  /** The strings at which the answer must be cut. */
  readonly cuts: readonly string[];
}

/** A whole answer in the caller's protocol, and what is to be noted of it. */
export interface WrittenAnswer {
  /** One object, or all events of a short stream for a caller who asked for one. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether the caller sees something of it. */
  readonly hasOutput: boolean;
  /** Why the model stopped, in the canonical word. */
  readonly stopReason: Answer["stop"]["reason"];
  readonly usage: Usage | undefined;
  /** What has to come back with the results of its calls. */
  readonly thoughts: Thoughts | undefined;
  /** What the caller's protocol cannot show, by short names. */
  readonly droppedParts: readonly string[];
}

/**
 * Translates a whole answer.
 *
 * @throws {UpstreamFailure} When it reports an error, or is no answer.
 * @throws {GatewayError} `upstream`, when it is no JSON.
 */
export function translateWhole(job: AnswerJob, ids: Ids): WrittenAnswer {
  const cut = cutAnswer(readAnswer(job, ids), job.cuts);
  const answer = settleAnswerCalls(restoreAnswer(cut, job.aliases));
  const events = eventsOf(answer);
  const droppedParts = new Set<string>();
  const text = writeAnswer(answer, job, {
    ...job,
    ids,
    drop: (part) => droppedParts.add(part),
  });
  return {
    bytes: encoder.encode(text),
    hasOutput: events.some(isOutput),
    stopReason: answer.stop.reason,
    usage: answer.usage,
    thoughts: thoughtsIn(events, job),
    droppedParts: [...droppedParts],
  };
}

function thoughtsIn(
  events: readonly AnswerEvent[],
  { request, ...form }: AnswerJob,
): Thoughts | undefined {
  const watch = createSealWatch(
    callerCodec(form).createAnswerIds?.(request),
  );
  for (const event of events) watch.see(event);
  return watch.thoughts();
}

function readAnswer({ answer, to }: AnswerJob, ids: Ids): Answer {
  if (!(answer instanceof Uint8Array)) return answer;
  const json = parseJson(decoder.decode(answer));
  if (json === undefined) throw brokenUpstream("it is not JSON");
  try {
    return CODECS[to].decodeAnswer(json, ids);
  } catch (error) {
    throw error instanceof RangeError
      ? brokenUpstream("it is nested too deep", error)
      : error;
  }
}

function writeAnswer(
  answer: Answer,
  { request, ...form }: AnswerJob,
  context: AnswerContext,
): string {
  const from = callerCodec(form);
  return request.stream
    ? runStage(from.createStreamEncoder(context), eventsOf(answer))
      .map(formatFrame).join("")
    : JSON.stringify(from.encodeAnswer(answer, context));
}

function eventsOf(answer: Answer): readonly AnswerEvent[] {
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  return events;
}
