import {
  type AnswerEvent,
  type Failure,
  isOutput,
  type TranslatedBody,
  UpstreamFailure,
  type WrittenAnswer,
} from "@gateway/codecs";
import { abandon, type LookAhead } from "@gateway/base/streams/byte_reader";
import type { Deadlines } from "@gateway/base/time/deadlines";
import { type AnswerEnd, holdBack } from "../answer_body.ts";
import { type Attempt, firstOutputRestMs } from "../attempt.ts";
import type { Exchange } from "../exchange.ts";
import type { ReasoningMemory } from "./reasoning_memory.ts";

interface TranslatedWatchOptions {
  readonly exchange: Pick<Exchange, "caller" | "record">;
  readonly reasoningMemory: ReasoningMemory;
  /** The earlier reasoning in the request. */
  readonly translated: Pick<TranslatedBody, "bound" | "reasoning">;
  /** The field of sealed reasoning in the caller's protocol. */
  readonly reasoningField: string;
}

/** Watches a translated answer: the events of a stream, or the whole answer at once. */
export interface TranslatedWatch {
  /** Takes the next event of a stream. */
  see(event: AnswerEvent): void;
  /** Takes a part that the caller's protocol cannot express. */
  drop(part: string): void;
  /** Takes a whole answer. */
  seeWhole(answer: WrittenAnswer): void;
  /** Returns the number of characters written so far. */
  outputCharacters(): number;
  /** Returns the failure that ended the answer early. */
  failure(): Failure | undefined;
  /**
   * Holds a stream back until its first output. Keep-alive comments are sent only after that.
   *
   * @throws {UpstreamFailure} When the stream fails before its first output.
   * @throws {GatewayError} `timeout` when the first output is late.
   * @throws The reason of the attempt's signal when the signal aborts.
   */
  holdBeginning(
    source: LookAhead,
    attempt: Attempt,
    deadlines: Deadlines,
  ): Promise<void>;
  /** Returns the end of the answer so far. */
  end(): AnswerEnd;
}

/**
 * Creates a watch that records the first output, the model, the usage and the parts that were left out. The watch also
 * keeps the reasoning of a whole answer until the tool results arrive.
 */
export function createTranslatedWatch(
  { exchange, reasoningMemory, translated, reasoningField }:
    TranslatedWatchOptions,
): TranslatedWatch {
  const { caller, record } = exchange;
  const { answer } = record.facts;
  let failure: Failure | undefined;
  let isWhole = false;
  let hasOutput = false;
  let written = 0;

  /**
   * Records that the upstream left out earlier reasoning. If the content before the reasoning has changed, the
   * reasoning is marked as refused, because the upstream would leave out all later reasoning too.
   */
  function noteDropped(reasons: readonly string[] = []): void {
    if (reasons.length === 0) return;
    answer.dropped = united(answer.dropped, [reasoningField]);
    answer.reasoningDropped = united(answer.reasoningDropped, reasons);
    if (translated.bound !== undefined && reasons.some(isAboutPrefix)) {
      reasoningMemory.refuse(caller.sha256, translated.reasoning);
    }
  }

  return {
    see(event) {
      if (event.type === "block-delta") written += event.text.length;
      if (!hasOutput && isOutput(event)) {
        hasOutput = true;
        answer.firstOutputMs = record.elapsedMs();
      }
      if (event.type === "start" && event.model !== "") {
        answer.model = event.model;
      }
      if ("reasoningDropped" in event) noteDropped(event.reasoningDropped);
      if ("usage" in event && event.usage !== undefined) {
        answer.usage = event.usage;
        answer.isUsageFinal = event.type === "end";
      }
      if (event.type === "failure") {
        failure = event.failure;
        // A failure after the end means that the rest was not written to the caller.
        isWhole = false;
      }
      if (event.type !== "end") return;
      isWhole = true;
      answer.stopReason = event.stop.reason;
    },
    drop(part) {
      answer.droppedParts = united(answer.droppedParts, [part]);
    },
    seeWhole({ model, usage, stopReason, droppedParts, ...whole }) {
      noteDropped(whole.reasoningDropped);
      answer.firstOutputMs = record.elapsedMs();
      if (model !== "") answer.model = model;
      if (usage !== undefined) answer.usage = usage;
      answer.stopReason = stopReason;
      if (droppedParts.length > 0) answer.droppedParts = droppedParts;
      if (whole.reasoning === undefined) return;
      reasoningMemory.keep(caller.sha256, whole.reasoning);
    },
    outputCharacters: () => written,
    failure: () => failure,
    async holdBeginning(source, attempt, deadlines) {
      const { signal } = attempt.controller;
      try {
        await holdBack(source, {
          judge: {
            push: () => hasOutput || failure !== undefined ? answer : undefined,
            end: () => answer,
          },
          deadlines,
          outputMs: firstOutputRestMs(attempt, deadlines),
          // The first events of Responses repeat the instructions and tools of the request.
          maxBytes: Infinity,
        });
        if (failure === undefined || hasOutput) return;
        throw signal.aborted ? signal.reason : new UpstreamFailure(failure);
      } catch (error) {
        abandon(source);
        throw error;
      }
    },
    end() {
      if (isWhole) return "whole";
      return failure === undefined ? "cut" : "failed";
    },
  };
}

function united(
  names: readonly string[] = [],
  others: readonly string[],
): readonly string[] {
  return [...new Set([...names, ...others])];
}

function isAboutPrefix(reason: string): boolean {
  return reason.startsWith("prefix_");
}
