import type { GatewayError } from "@gateway/base/error";
import type { SseComment, SseFrame } from "@gateway/base/frame";
import type { Ids } from "@gateway/base/ids";
import type { JsonObject, JsonValue } from "@gateway/base/json";
import type { Endpoint, Protocol } from "@gateway/base/protocol";
import type { Emit, Stage } from "@gateway/base/stage";
import type { Answer, Usage } from "./answer/answer.ts";
import type { SealBinding } from "./content/sealed.ts";
import type { Failure } from "./failure/failure.ts";
import type { Ability, AbilityRow } from "./request/ability.ts";
import type { LossReport } from "./request/loss.ts";
import type {
  CanonicalRequest,
  RequestField,
  Turn,
} from "./request/request.ts";
import type { AnswerEvent } from "./stream/event.ts";

/**
 * The codec of one protocol. Decoding converts the protocol to the canonical form, and encoding converts back. All
 * functions are pure: no I/O, no clock, no shared state, so a retry can call them again. An encoder does not depend on
 * the protocol from which its input was decoded.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { CODECS } from "../codecs.ts";
 * import { runStage } from "@gateway/base/stage";
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

  /** Returns the kinds of tools that the target takes. Before encoding, `bridgeTools` replaces all other tools. */
  toolSupport(target: ModelTarget): ToolSupport;

  /** Returns the parts of a request that the target takes. The target's rows of the configuration are applied. */
  ability(target: ModelTarget): Ability;

  /** The names of the canonical fields in this protocol, for `x-gateway-dropped` and `param`. */
  readonly fieldNames: Readonly<Record<RequestField, string>>;

  /** Other names that callers of this protocol use: older names, or names of some providers. */
  readonly otherNames?: Readonly<
    Partial<Record<RequestField, readonly string[]>>
  >;

  /**
   * Reads a caller's request.
   *
   * @throws {GatewayError} `invalid_request` with `param`, for a missing or invalid field and for state that the
   * gateway does not keep (docs/design.md#native-and-translated).
   */
  decodeRequest(body: JsonObject): CanonicalRequest;

  /**
   * Writes a request to an upstream. If `request.stream` is true, the body requests a stream with usage.
   *
   * @throws {GatewayError} As `context.reportDropped` does.
   */
  encodeRequest(request: CanonicalRequest, context: RequestContext): JsonObject;

  /**
   * Removes from a request's body the earlier reasoning that the upstream would reject. Returns the new body, and the
   * conversation to which the upstream will bind the answer's reasoning. Returns `undefined` if the upstream binds
   * reasoning to no conversation. Absent when no upstream of this protocol binds reasoning.
   */
  settleReasoning?(
    body: JsonObject,
    options: SettleReasoningOptions,
  ): SettledReasoning | undefined;

  /**
   * Reads an upstream's JSON answer.
   *
   * @param ids The source of ids for calls without an id.
   * @throws {UpstreamFailure} When the body is no answer of this protocol, reports an error, or is incomplete.
   */
  decodeAnswer(body: JsonValue, ids: Ids): Answer;

  /**
   * Returns a function that maps the ids of an answer's calls to ids for the caller. The caller's next request repeats
   * these ids. Call the function once for each call, in order. Absent when calls keep their ids.
   */
  createAnswerIds?(request: CanonicalRequest): (id: string) => string;

  /**
   * Returns the part of the history that the encoders of the answer need. All other turns are released before the
   * answer arrives. Absent when the encoders need no history.
   */
  historyForAnswer?(turns: readonly Turn[]): readonly Turn[];

  /** Writes a JSON answer to a caller. */
  encodeAnswer(answer: Answer, context: AnswerContext): JsonObject;

  /**
   * Returns a decoder of an upstream's stream. The decoder never throws, and its output always follows the grammar of
   * {@linkcode AnswerEvent}. A malformed frame, an error frame, an exceeded size limit and an early end become one
   * `failure` event. Frames after a terminal event are ignored.
   *
   * @param ids The source of ids for calls without an id.
   */
  createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent>;

  /** Returns an encoder of a caller's stream, for any events in the grammar of {@linkcode AnswerEvent}. */
  createStreamEncoder(context: AnswerContext): StreamEncoder;

  /**
   * Reads an upstream's error.
   *
   * @param status The HTTP status; 200 for an error found inside an answer.
   * @param body The parsed body; `undefined` when it is not JSON.
   */
  decodeFailure(status: number, body: JsonValue | undefined): Failure;

  /** Writes the error response to a caller when the upstream fails before any output. */
  encodeFailure(failure: Failure, requestId: string): EncodedFailure;

  /** Writes an error of the gateway as the body of a response to a caller (docs/design.md#errors). */
  encodeError(error: GatewayError, requestId: string): object;

  /** The header in which the SDKs of this protocol read the request id, if it is not `x-request-id`. */
  readonly requestIdHeader: string | undefined;

  /**
   * Returns the protocol's own headers for an upstream, with the version that {@linkcode Codec.encodeRequest} writes.
   *
   * @param messagesVendor `<vendor_b>`, the prefix of the version header of Messages.
   * @param target The target of the request, if {@linkcode Codec.encodeRequest} wrote the request.
   */
  requestHeaders(
    messagesVendor: string,
    target?: Target,
  ): readonly [name: string, value: string][];

  /**
   * Returns the prefixes, in lower case, of headers that control this protocol or describe its clients. Translated
   * requests omit these headers, because other protocols do not know them or give them another meaning.
   *
   * @param messagesVendor As for {@linkcode Codec.requestHeaders}.
   */
  headerPrefixes(messagesVendor: string): readonly string[];

  /** The functions that read native answers for the log. */
  readonly watch: AnswerWatch;
}

/** The functions of a codec for the caller's side of a translation. */
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
 * Writes canonical events as frames with one line of data. `push` throws an {@linkcode UpstreamFailure} when the
 * encoder would hold more than `MAX_HELD_CHARACTERS`. After that, push this failure as the next event.
 */
export interface StreamEncoder extends Stage<AnswerEvent, SseFrame> {
  /** Emits a keep-alive while the upstream is silent, or nothing when the protocol allows no keep-alive now. */
  keepAlive(emit: Emit<SseFrame | SseComment>): void;
}

/** The kinds of tools that a request may contain. */
export interface ToolSupport {
  /** True when tools may take free text as input. If false, such tools become functions with one string argument. */
  readonly custom: boolean;
  /** True when tools may be in namespaces. If false, a tool in a namespace is renamed to `namespace__name`. */
  readonly namespaces: boolean;
  /** The longest tool name, in characters of `A-Z a-z 0-9 _ -`. Longer names are cut and get a hash. */
  readonly maxNameLength: number;
  /** True when tool names must begin with a letter, and may not contain `-`; absent: false. */
  readonly hasPlainNames?: boolean | undefined;
  /** True when names of tools must begin with a letter; absent: false. */
  readonly letterFirst?: boolean | undefined;
  /** True when the names of arguments must have the form that Claude demands; absent: false. */
  readonly limitsPropertyNames?: boolean | undefined;
  /** The most tools of a request; absent: no limit is known. */
  readonly maxTools?: number | undefined;
}

/**
 * The context in which a request is encoded. An encoder omits each field that it reports as dropped, and does not catch
 * the errors of `reportDropped`.
 */
export interface RequestContext extends LossReport {
  readonly target: Target;
}

/** The options of {@linkcode Codec.settleReasoning}. */
export interface SettleReasoningOptions {
  readonly target: Target;
  /** Returns the binding of the sealed reasoning with this value; `undefined` when the binding is unknown. */
  boundOf(value: string): SealBinding | undefined;
}

/** A body with only the reasoning that its upstream accepts. */
export interface SettledReasoning {
  readonly body: JsonObject;
  /** The binding of the answer's reasoning. */
  readonly bound: SealBinding;
  /** The digests of the sealed reasoning in the body. */
  readonly reasoning: readonly string[];
  /** True when some reasoning was removed. */
  readonly isCut: boolean;
}

/** The connection and model that get the request. */
export interface Target {
  /** The kind of service, such as `zai`. It decides in which dialect the encoder writes. */
  readonly service: string;
  /** The id of the connection. A sealed part goes back only to the connection that issued the part. */
  readonly connectionId: string;
  /** The upstream's id of the model. */
  readonly model: string;
  /** The highest output limit of the model, in tokens, if configured. */
  readonly maxOutputTokens: number | undefined;
  /** The rows of the configuration about requests to the model. A later row replaces parts of earlier rows. */
  readonly ability?: readonly (AbilityRow | undefined)[] | undefined;
  /** The base URLs of the connection, if known. */
  readonly endpoints?: Readonly<Partial<Record<Endpoint, string>>> | undefined;
}

/** The facts of a target by which its dialect is found. */
export type ModelTarget = Pick<
  Target,
  "service" | "model" | "endpoints" | "ability"
>;

/** The context in which an answer is encoded. */
export interface AnswerContext {
  readonly ids: Ids;
  /** The start of the answer in milliseconds since 1970, for upstreams that report no start. */
  readonly nowMs: number;
  /** Returns the current time in milliseconds since 1970, for streamed answers; absent for a complete answer. */
  readonly now?: (() => number) | undefined;
  /** The model to name in the answer. */
  readonly model: string;
  /**
   * The caller's request as the same codec decoded it. An answer repeats some fields of the request. The history of the
   * request has only the turns of {@linkcode Codec.historyForAnswer}.
   */
  readonly request: CanonicalRequest;
  /** An estimate of the request's tokens. Some streams must state their count before the upstream reports the count. */
  readonly estimatedInputTokens: number;
  /** The gateway's id of the request, for errors that name the request. */
  readonly requestId: string;
  /** The id of the connection that answers, for the envelopes of sealed parts. */
  readonly connectionId: string;
  /** Reports a part of the answer that the protocol cannot represent, by a short name for the log. */
  drop(part: string): void;
}

/** The functions that read native answers for the log. Native answers are not decoded. */
export interface AnswerWatch {
  /** ASCII text in every stream event with token counts. It begins with rare characters, so a search for it is fast. */
  readonly usageMark: string;
  /** Returns true when the unparsed text of a stream event or a whole answer may contain token counts. */
  mayCount(text: string): boolean;
  /** Returns true when a whole answer with these first 256 characters may be a failure. */
  mayBeFailure(start: string): boolean;
  /** Returns true when a stream event has output that the caller sees: text, reasoning or a call. */
  isOutput(event: JsonObject): boolean;
  /** The names of the fields with output in stream events. Only strings in these fields are output. */
  readonly writtenKeys: ReadonlySet<string>;
  /** Returns the failure in a stream event or a whole answer, for `decodeFailure`; `undefined` when there is none. */
  failureOf(body: JsonObject): JsonObject | undefined;
  /** Returns the model that a stream event or a whole answer names, if any. */
  modelOf(body: JsonObject): string | undefined;
  /**
   * Returns the token counts after a stream event or a whole answer; `undefined` when the body has no token counts.
   *
   * @param before The token counts after the previous event.
   */
  usageOf(body: JsonObject, before?: Usage): Usage | undefined;
  /**
   * Returns the provider's reasons for dropping earlier reasoning of the request, from an event or an answer that
   * counts tokens. Absent when no provider of this protocol reports such reasons.
   */
  droppedOf?(body: JsonObject): readonly string[];
  /**
   * Returns true when an event is the protocol's regular end of a stream. Called with each of the last few events,
   * because some providers send a `[DONE]` or token counts after the end.
   *
   * @param data The event's data; for very long data at least the first and the last 256 characters.
   */
  isEnd(data: string): boolean;
  /** Returns true when an event may be a failure that ends a stream. Called with the same events as `isEnd`. */
  isFailure(data: string): boolean;
}
