import type { Deadlines } from "../core/deadlines.ts";
import type { Harvest } from "../limits/harvest.ts";
import type { Fetch } from "../upstream/call.ts";
import type { Admission } from "./admission.ts";

/** What the relay works with; one set for the whole program. */
export interface RelayTools {
  readonly admission: Admission;
  /** Reaches the upstreams. */
  readonly fetch: Fetch;
  /** Learns quotas from relayed answers. */
  readonly harvest: Harvest;
  readonly deadlines: Deadlines;
}
