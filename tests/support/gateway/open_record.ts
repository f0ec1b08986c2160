import {
  openRecord,
  type RequestRecord,
} from "../../../src/gateway/observe/record.ts";
import type { Ending } from "../../../src/gateway/observe/facts.ts";
import { endRequest } from "../../../src/gateway/relay/end_request.ts";
import { Holds } from "../../../src/gateway/relay/exchange.ts";
import { createFakeClock, type FakeClock } from "../fakes/fake_clock.ts";
import { createMemoryLog, type MemoryLog } from "../fakes/memory_log.ts";

/** A record with the clock and the log of a test. */
export interface OpenRecord {
  readonly record: RequestRecord;
  readonly holds: Holds;
  readonly clock: FakeClock;
  readonly log: MemoryLog;
  /** Returns the recorded ending of the request; `undefined` until it has ended. */
  ended(): unknown;
  /** Ends the request. */
  end(ending: Ending): void;
}

/** Opens the record of a POST with the id `req_1`. */
export function openTestRecord(): OpenRecord {
  const clock = createFakeClock(0);
  const log = createMemoryLog();
  const record = openRecord("req_1", "POST", { clock, log });
  const holds = new Holds();
  return {
    record,
    holds,
    clock,
    log,
    ended: () => log.entries[0]?.fields.ended,
    end: (ending) => endRequest({ record, holds }, ending),
  };
}
