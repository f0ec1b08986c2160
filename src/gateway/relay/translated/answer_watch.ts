import { OPERATIONS, type Protocol } from "@gateway/base/protocol";
import type { RequestRecord } from "../../observe/record.ts";
import {
  type AnswerContext,
  type AnswerEvent,
  type callerCodec,
  type Failure,
  isOutput,
  type TranslatedBody,
  type WrittenAnswer,
} from "@gateway/codecs";
import { type Attempt, fallbackHeader, quotaHeaders } from "../attempt.ts";
import { idHeaders, NOT_STORED, streamHeaders } from "../request_id.ts";
import type { Uses } from "../services.ts";
import type { ReasoningMemory } from "./reasoning_memory.ts";

/** The options for watching a translated answer. */
interface AnswerWatchOptions {
  readonly record: RequestRecord;
  readonly reasoningMemory: ReasoningMemory;
  readonly callerSha256: string;
  /** The earlier reasoning in the request. */
  readonly translated: Pick<TranslatedBody, "bound" | "reasoning">;
  /** The field of sealed reasoning in the caller's protocol. */
  readonly reasoningField: string;
}

/** Watches the events of a translated answer. */
export interface TranslatedWatch {
  see(event: AnswerEvent): void;
  /** Returns true after the first output. No attempt may follow then. */
  hasOutput(): boolean;
  /** Returns the number of characters written so far. */
  outputCharacters(): number;
  /** Returns the failure that ended the answer early. */
  failure(): Failure | undefined;
  /** Returns true when the answer came to its end. */
  isWhole(): boolean;
}

/** Creates a watch that records the first output, the model and the usage. */
export function createTranslatedWatch(
  options: AnswerWatchOptions,
): TranslatedWatch {
  const { record } = options;
  const { facts } = record;
  let failure: Failure | undefined;
  let isWhole = false;
  let hasOutput = false;
  let written = 0;

  return {
    see(event) {
      if (event.type === "block-delta") written += event.text.length;
      if (!hasOutput && isOutput(event)) {
        hasOutput = true;
        facts.answer.firstOutputMs = record.elapsedMs();
      }
      if (event.type === "start" && event.model !== "") {
        facts.answer.model = event.model;
      }
      if ("reasoningDropped" in event) {
        noteDropped(event.reasoningDropped, options);
      }
      if ("usage" in event && event.usage !== undefined) {
        facts.answer.usage = event.usage;
        facts.answer.isUsageFinal = event.type === "end";
      }
      if (event.type === "failure") {
        failure = event.failure;
        // A failure after the end means that the rest was not written to the caller.
        isWhole = false;
      }
      if (event.type !== "end") return;
      isWhole = true;
      facts.answer.stopReason = event.stop.reason;
    },
    hasOutput: () => hasOutput,
    outputCharacters: () => written,
    failure: () => failure,
    isWhole: () => isWhole,
  };
}

/** Records a whole translated answer, as {@linkcode createTranslatedWatch} does for a stream. */
export function noteWhole(
  answer: WrittenAnswer,
  options: AnswerWatchOptions,
): void {
  const { record } = options;
  const { model, usage, stopReason, droppedParts } = answer;
  noteDropped(answer.reasoningDropped, options);
  record.facts.answer.firstOutputMs = record.elapsedMs();
  if (model !== "") record.facts.answer.model = model;
  if (usage !== undefined) record.facts.answer.usage = usage;
  record.facts.answer.stopReason = stopReason;
  if (droppedParts.length > 0) record.facts.answer.droppedParts = droppedParts;
  if (answer.reasoning !== undefined) {
    options.reasoningMemory.keep(options.callerSha256, answer.reasoning);
  }
}

/**
 * Records that the upstream left out earlier reasoning. If the content before the reasoning has changed, the reasoning
 * is marked as refused, because the upstream would leave out all later reasoning too.
 */
function noteDropped(
  reasons: readonly string[] = [],
  {
    record,
    reasoningMemory,
    callerSha256,
    translated,
    reasoningField,
  }: AnswerWatchOptions,
): void {
  if (reasons.length === 0) return;
  const { answer } = record.facts;
  answer.dropped = [...new Set([...answer.dropped ?? [], reasoningField])];
  answer.reasoningDropped = [
    ...new Set([...answer.reasoningDropped ?? [], ...reasons]),
  ];
  if (translated.bound !== undefined && reasons.some(isAboutPrefix)) {
    reasoningMemory.refuse(callerSha256, translated.reasoning);
  }
}

function isAboutPrefix(reason: string): boolean {
  return reason.startsWith("prefix_");
}

/** The options for translating an answer from the upstream's protocol to the caller's. */
export interface TranslateAnswerOptions {
  readonly attempt: Attempt;
  /** The caller's protocol. */
  readonly from: ReturnType<typeof callerCodec>;
  /** The upstream's protocol. */
  readonly to: Protocol;
  readonly translated: Omit<TranslatedBody, "body" | "learned" | "probe">;
  readonly services: Uses<
    | "reasoningMemory"
    | "deadlines"
    | "ids"
    | "clock"
    | "translation"
    | "codexQuota"
  >;
}

/** Returns the plain data that the caller's codec may need to write an answer. */
export function plainContextOf(
  { attempt: { deployment, exchange }, translated, services }:
    TranslateAnswerOptions,
): Omit<AnswerContext, "ids" | "drop" | "now"> {
  return {
    nowMs: services.clock.now(),
    model: deployment.model.id,
    request: translated.request,
    estimatedInputTokens: translated.estimatedInputTokens,
    requestId: exchange.record.requestId,
    connectionId: deployment.connection.id,
  };
}

/** Returns all that the caller's codec may need to write an answer. */
export function contextOf(options: TranslateAnswerOptions): AnswerContext {
  const { facts } = options.attempt.exchange.record;
  return {
    ...plainContextOf(options),
    ids: options.services.ids,
    now: options.services.clock.now,
    drop(part) {
      facts.answer.droppedParts = [
        ...new Set([...facts.answer.droppedParts ?? [], part]),
      ];
    },
  };
}

/**
 * Returns the headers of an answer with the content type `type`. They name the dropped fields of the request that are
 * known so far.
 */
export function headersOf(
  { attempt, translated, services }: TranslateAnswerOptions,
  type: string,
): [string, string][] {
  const { record } = attempt.exchange;
  const dropped = new Set([
    ...translated.dropped,
    ...record.facts.answer.dropped ?? [],
  ]);
  const { protocol } = OPERATIONS[attempt.operation];
  const headers: [string, string][] = [
    ["content-type", type],
    ...idHeaders(protocol, record.requestId),
    ...fallbackHeader(attempt),
    ...quotaHeaders(attempt, services.codexQuota),
  ];
  if (dropped.size > 0) {
    headers.push([
      "x-gateway-dropped",
      [...dropped].map(headerSafe).join(","),
    ]);
  }
  return type === "text/event-stream"
    ? streamHeaders(headers)
    : [...headers, NOT_STORED];
}

/** Replaces characters that a header cannot hold. A caller's field name may contain any. */
function headerSafe(name: string): string {
  return name.replace(/[^\x21-\x7e]|,/g, "?");
}
