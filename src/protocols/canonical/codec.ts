import type { GatewayError } from "../../core/error.ts";
import type { SseComment, SseFrame } from "../../core/frame.ts";
import type { Ids } from "../../core/ids.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { Endpoint, Protocol } from "../../core/protocol.ts";
import type { Emit, Stage } from "../../core/stage.ts";
import type { Answer, Usage } from "./answer/answer.ts";
import type { Bound } from "./content/sealed.ts";
import type { Failure } from "./failure/failure.ts";
import type { Loss } from "./request/loss.ts";
import type {
  CanonicalRequest,
  RequestField,
  Turn,
} from "./request/request.ts";
import type { AnswerEvent } from "./stream/event.ts";

/**
 * One wire protocol, both directions: decode = wire to canonical, encode = canonical to wire. Pure: no I/O,
 * no clock, no shared state; safe to call again on a retry. An encoder never asks where what it encodes
 * came from.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { CODECS } from "../mod.ts";
 * import { runStage } from "../../core/stage.ts";
 *
 * // The canonical events of a stream of Chat Completions that is cut short.
 * const decoder = CODECS.chat.createStreamDecoder({ next: (prefix) => `${prefix}_1` });
 * const events = runStage(decoder, [
 *   { data: '{"id":"a","model":"m","choices":[{"delta":{"content":"Hi"}}]}' },
 * ]);
 * assert.deepEqual(events.map(({ type }) => type), [
 *   "start",
 *   "block-start",
 *   "block-delta",
 *   "failure",
 * ]);
 * ```
 */
export interface Codec {
  readonly protocol: Protocol;

  /**
   * What kinds of tool {@linkcode Codec.encodeRequest} can spell for the target; `bridgeTools` replaces the
   * others first.
   */
  toolSupport(target: Target): ToolSupport;

  /** Whether the target takes strings that end the answer; else the gateway cuts the answer there. */
  takesStops(target: Target): boolean;

  /** How callers of this protocol spell the canonical fields, for `x-gateway-dropped` and `param`. */
  readonly fieldNames: Readonly<Record<RequestField, string>>;

  /** Further spellings that callers of this protocol use, older ones or those of some providers. */
  readonly otherNames?: Readonly<
    Partial<Record<RequestField, readonly string[]>>
  >;

  /**
   * Reads a caller's request.
   *
   * @throws {GatewayError} `invalid_request` with `param`, for a missing or wrong field and for state that the
   * gateway does not keep (docs/design.md#native-and-translated).
   */
  decodeRequest(body: JsonObject): CanonicalRequest;

  /**
   * Writes a request to an upstream; asks for a stream when `request.stream` is set, with usage in it.
   *
   * @throws {GatewayError} What `context.lose` throws.
   */
  encodeRequest(request: CanonicalRequest, context: RequestContext): JsonObject;

  /**
   * Leaves out of a body the earlier reasoning that its upstream would refuse there, and returns what the answer's
   * reasoning is bound to; `undefined` where the upstream binds reasoning to nothing. Absent where no upstream of this
   * protocol does.
   */
  settleReasoning?(
    body: JsonObject,
    options: SettleReasoningOptions,
  ): SettledReasoning | undefined;

  /**
   * Reads an upstream's JSON answer.
   *
   * @param ids For calls that come without an id.
   * @throws {UpstreamFailure} When it is no answer of this protocol, reports an error, or did not end well.
   */
  decodeAnswer(body: JsonValue, ids: Ids): Answer;

  /**
   * How the calls of an answer are named to the caller, who names them so in the next request; absent where they
   * keep their ids. To be asked once for each call, in their order.
   */
  createAnswerIds?(request: CanonicalRequest): (id: string) => string;

  /**
   * What of a request's history its answer's encoders look at; absent: nothing. The rest is let go before the answer
   * comes.
   */
  historyForAnswer?(turns: readonly Turn[]): readonly Turn[];

  /** Writes a JSON answer to a caller. */
  encodeAnswer(answer: Answer, context: AnswerContext): JsonObject;

  /**
   * Reads an upstream's stream. Keeps the grammar of {@linkcode AnswerEvent} whatever comes in and never
   * throws: a malformed frame, an error frame, too much of anything and an end before the end become one
   * `failure` event, and what follows a terminal event is ignored.
   *
   * @param ids For calls that come without an id.
   */
  createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent>;

  /** Writes a stream to a caller; takes any sequence that keeps the grammar of {@linkcode AnswerEvent}. */
  createStreamEncoder(context: AnswerContext): StreamEncoder;

  /**
   * Reads an upstream's error.
   *
   * @param status The HTTP status; 200 for an error found inside an answer.
   * @param body The parsed body; `undefined` when it is not JSON.
   */
  decodeFailure(status: number, body: JsonValue | undefined): Failure;

  /** Writes an upstream's failure as an error response to a caller, before any output. */
  encodeFailure(failure: Failure, requestId: string): EncodedFailure;

  /** Writes an error of the gateway's own as the body of a response to a caller (docs/design.md#errors). */
  encodeError(error: GatewayError, requestId: string): object;

  /** Where the SDKs of this protocol look for the id of a request, if not in `x-request-id`. */
  readonly requestIdHeader: string | undefined;

  /**
   * What upstreams of this protocol are sent in headers of its own, in the version that
   * {@linkcode Codec.encodeRequest} writes.
   *
   * @param messagesVendor `<vendor_b>`, the prefix of the version header of Messages.
   * @param target Of a request that {@linkcode Codec.encodeRequest} wrote.
   */
  requestHeaders(
    messagesVendor: string,
    target?: Target,
  ): readonly [name: string, value: string][];

  /**
   * What the names of headers begin with, in lower case, that steer this protocol or tell about its clients. They
   * mean nothing, or something else, in another one, so a translated request goes without them.
   *
   * @param messagesVendor As for {@linkcode Codec.requestHeaders}.
   */
  headerPrefixes(messagesVendor: string): readonly string[];

  /** What the log learns from native answers, which pass without being decoded. */
  readonly watch: AnswerWatch;
}

/** The half of a codec that a caller's side of a translation needs. */
export type CallerCodec = Pick<
  Codec,
  | "protocol"
  | "fieldNames"
  | "otherNames"
  | "decodeRequest"
  | "createAnswerIds"
  | "historyForAnswer"
  | "encodeAnswer"
  | "createStreamEncoder"
  | "encodeFailure"
>;

/** An HTTP error to a caller. */
export interface EncodedFailure {
  readonly status: number;
  readonly body: JsonObject;
}

/**
 * Writes canonical events as frames, whose data is of one line each. Its `push` throws an {@linkcode UpstreamFailure}
 * when the answer is more than the gateway can hold to write it; it takes that failure as the next event, and nothing
 * else.
 */
export interface StreamEncoder extends Stage<AnswerEvent, SseFrame> {
  /** Says that the stream is alive while the upstream is silent; nothing when the protocol forbids it now. */
  keepAlive(emit: Emit<SseFrame | SseComment>): void;
}

/** Which kinds of tool a request may hold. */
export interface ToolSupport {
  /** Whether tools with free-text input exist; else they become functions with one string. */
  readonly custom: boolean;
  /** Whether tools may stand in namespaces; else they are flattened to `namespace__name`. */
  readonly namespaces: boolean;
  /** The longest tool name, in characters of `A-Z a-z 0-9 _ -`; longer ones are cut and hashed. */
  readonly maxNameLength: number;
}

/** What writing a request may need from outside. */
export interface RequestContext {
  readonly target: Target;
  /**
   * Reports what cannot be carried; the encoder then leaves it out.
   *
   * @throws {GatewayError} When the loss refuses the request: an encoder lets it pass.
   */
  reportDropped(loss: Loss): void;
}

/** What settling a request's reasoning needs to know. */
export interface SettleReasoningOptions {
  readonly target: Target;
  /** Returns what sealed reasoning is bound to, by its value; `undefined` where that is not known. */
  boundOf(value: string): Bound | undefined;
}

/** A body with the reasoning that its upstream takes. */
export interface SettledReasoning {
  readonly body: JsonObject;
  /** For the answer's reasoning. */
  readonly bound: Bound;
  /** The digests of the sealed reasoning in it. */
  readonly reasoning: readonly string[];
  /** Whether some reasoning was left out. */
  readonly isCut: boolean;
}

/** Who gets the request. */
export interface Target {
  /** Kind of service, such as `zai`: the encoder's key to known dialects of its protocol. */
  readonly service: string;
  /** Of the connection; sealed parts go back only to their issuer. */
  readonly connectionId: string;
  /** The upstream's name of the model. */
  readonly model: string;
  /** The most that the model may be asked to write, where configured. */
  readonly maxOutputTokens: number | undefined;
  /** Base URLs of the connection, where they are known. */
  readonly endpoints?: Readonly<Partial<Record<Endpoint, string>>> | undefined;
}

/** What writing an answer may need from outside. */
export interface AnswerContext {
  readonly ids: Ids;
  /** When the answer began, in milliseconds since 1970; for answers whose upstream does not say. */
  readonly nowMs: number;
  /** The time at any moment, in the same unit, for answers that take a while; absent where one is whole already. */
  readonly now?: (() => number) | undefined;
  /** The model to name in the answer. */
  readonly model: string;
  /**
   * The caller's request, which the same codec decoded: for fields that an answer repeats. Of its history there is
   * what {@linkcode Codec.historyForAnswer} gives.
   */
  readonly request: CanonicalRequest;
  /** A rough count of the request's tokens, for streams that must state one before the upstream has. */
  readonly estimatedInputTokens: number;
  /** The gateway's id of the request, for errors that name it. */
  readonly requestId: string;
  /** The id of the connection that answers; goes into envelopes of sealed parts. */
  readonly connectionId: string;
  /** Reports a part of the answer that the protocol cannot show, by a short name for the log. */
  drop(part: string): void;
}

/** What the log learns from native answers, which pass without being decoded. */
export interface AnswerWatch {
  /**
   * ASCII text that stands in every stream event which counts tokens; it begins with what is rare, to be found fast.
   */
  readonly usageMark: string;
  /** Whether a stream event or a whole answer may count tokens; asked before it is parsed. */
  mayCount(text: string): boolean;
  /** Whether a whole answer may be a failure; asked of its first 256 characters, before it is parsed. */
  mayBeFailure(start: string): boolean;
  /** Whether a stream event shows the caller some of the answer: text, reasoning or a call. */
  isOutput(event: JsonObject): boolean;
  /**
   * The names of the fields in which stream events have what a model writes: text, reasoning, arguments of calls. Only
   * text in them counts.
   */
  readonly writtenKeys: ReadonlySet<string>;
  /** What a stream event or a whole answer says of a failure, for `decodeFailure`; `undefined` when it says none. */
  failureOf(body: JsonObject): JsonObject | undefined;
  /** Returns the model that a stream event or a whole answer names, if any. */
  modelOf(body: JsonObject): string | undefined;
  /**
   * The tokens that are counted once a stream event or a whole answer is seen; `undefined` when it counts none.
   *
   * @param before What the events before it counted.
   */
  usageOf(body: JsonObject, before?: Usage): Usage | undefined;
  /**
   * Whether an event is the protocol's regular end of a stream. Asked of the last few, since some providers put a
   * `[DONE]` or a count of tokens behind it.
   *
   * @param data The event's data; of very long data at least the first and the last 256 characters.
   */
  isEnd(data: string): boolean;
  /** Whether an event may be a failure that ends a stream; asked as `isEnd` is. */
  isFailure(data: string): boolean;
}
