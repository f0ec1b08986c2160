import {
  openRecord,
  type RequestRecord,
} from "../../../src/gateway/observe/record.ts";
import { createFakeClock, type FakeClock } from "../fakes/fake_clock.ts";
import { createMemoryLog, type MemoryLog } from "../fakes/memory_log.ts";

/** A record with the clock and the log of a test. */
export interface OpenRecord {
  readonly record: RequestRecord;
  readonly clock: FakeClock;
  readonly log: MemoryLog;
  /** Returns the recorded ending of the request; `undefined` until it has ended. */
  ended(): unknown;
}

/** Opens the record of a POST with the id `req_1`. */
export function openTestRecord(): OpenRecord {
  const clock = createFakeClock(0);
  const log = createMemoryLog();
  const record = openRecord("req_1", "POST", { clock, log });
  return { record, clock, log, ended: () => log.entries[0]?.fields.ended };
}
