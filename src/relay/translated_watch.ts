import type { RequestRecord } from "../observe/record.ts";
import { type AnswerEvent, isOutput } from "../protocols/canonical/event.ts";
import type { Failure } from "../protocols/canonical/failure.ts";
import type { SealStore } from "./seal_store.ts";
import { createSealWatch } from "./seal_watch.ts";

/** What a translated answer is watched for. */
export interface AnswerWatchOptions {
  readonly record: RequestRecord;
  readonly seals: SealStore;
  readonly callerSha256: string;
  readonly connectionId: string;
}

/** Watches the events of a translated answer. */
export interface TranslatedWatch {
  see(event: AnswerEvent): void;
  /** Whether something was seen that the caller will see; nothing may be sent again then. */
  readonly hasOutput: boolean;
  /** What ended the answer before its end. */
  readonly failure: Failure | undefined;
  /** Whether the answer came to its end. */
  readonly isWhole: boolean;
}

/** Notes first output and usage in the record, and keeps sealed reasoning for the tool results to come. */
export function createTranslatedWatch(
  { record, seals, callerSha256, connectionId }: AnswerWatchOptions,
): TranslatedWatch {
  const { facts } = record;
  const sealWatch = createSealWatch();
  let failure: Failure | undefined;
  let isWhole = false;
  let hasOutput = false;

  function keepSeals(): void {
    const thoughts = sealWatch.thoughts();
    if (thoughts === undefined) return;
    const owners = thoughts.callIds.map((callId) => ({ callerSha256, callId }));
    const blocks = thoughts.blocks.map((block) => ({
      ...block,
      sealed: block.sealed && { ...block.sealed, origin: connectionId },
    }));
    seals.keep(owners, blocks);
  }

  return {
    see(event) {
      sealWatch.see(event);
      if (!hasOutput && isOutput(event)) {
        hasOutput = true;
        facts.firstOutputMs = record.elapsedMs();
      }
      if ("usage" in event && event.usage !== undefined) {
        facts.usage = event.usage;
      }
      if (event.type === "failure") failure = event.failure;
      if (event.type !== "end") return;
      isWhole = true;
      facts.stopReason = event.stop.reason;
      keepSeals();
    },
    get hasOutput() {
      return hasOutput;
    },
    get failure() {
      return failure;
    },
    get isWhole() {
      return isWhole;
    },
  };
}
