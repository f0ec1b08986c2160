import type { AnswerBlock } from "./block.ts";
import type { Marks, Raw } from "../request/extras.ts";
import type { Stop } from "./stop.ts";
import type { Usage } from "./usage.ts";

/** A whole answer. */
export interface Answer {
  /** The upstream's id with its prefix; empty where it gave none. */
  readonly id: string;
  /** The model as the upstream names it; empty where it does not. */
  readonly model: string;
  /** Milliseconds since 1970, where the upstream says. */
  readonly createdAtMs?: number | undefined;
  /** In the order in which they began. */
  readonly blocks: readonly AnswerBlock[];
  readonly stop: Stop;
  /** Absent when the upstream did not count. */
  readonly usage?: Usage | undefined;
  /** The service tier that served it, in the upstream's word. */
  readonly serviceTier?: Raw | undefined;
  /** Why the upstream left out earlier reasoning of the request, in its words; absent where it left out none. */
  readonly reasoningDropped?: readonly string[] | undefined;
  readonly marks?: Marks | undefined;
}
