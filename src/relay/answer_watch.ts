import type { RequestRecord } from "../observe/record.ts";
import { type AnswerEvent, isOutput } from "../protocols/canonical/event.ts";
import { laterUsage } from "../protocols/canonical/watch.ts";
import type { SealOwner, SealStore } from "./seal_store.ts";
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
  /** The terminal event, once it has come. */
  readonly last: "end" | "failure" | undefined;
}

/** Notes first output and usage in the record, and keeps sealed reasoning for the tool results to come. */
export function createTranslatedWatch(
  { record, seals, callerSha256, connectionId }: AnswerWatchOptions,
): TranslatedWatch {
  const { facts } = record;
  const sealWatch = createSealWatch();
  let last: TranslatedWatch["last"];
  let hasOutput = false;

  function keepSeals(): void {
    const sealed = sealWatch.answer();
    if (sealed === undefined) return;
    const { blocks, callIds } = sealed;
    const owners = callIds.map((callId): SealOwner => ({
      callerSha256,
      callId,
    }));
    seals.keep(owners, { connectionId, blocks });
  }

  return {
    see(event) {
      sealWatch.see(event);
      if (!hasOutput && isOutput(event)) {
        hasOutput = true;
        facts.firstOutputMs = record.elapsedMs();
      }
      if ("usage" in event && event.usage !== undefined) {
        facts.usage = laterUsage(facts.usage, event.usage);
      }
      if (event.type === "end") keepSeals();
      if (event.type === "end" || event.type === "failure") last = event.type;
    },
    get hasOutput() {
      return hasOutput;
    },
    get last() {
      return last;
    },
  };
}
