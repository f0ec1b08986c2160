import { parseArgs } from "node:util";
import type { Rounds } from "./compare.ts";

/** What the command line of the benchmark says. */
export interface Options {
  /** A part of the names of what is to be measured. */
  readonly only: string;
  readonly rounds: Rounds;
  /** The address of another gateway. */
  readonly against: string | undefined;
  /** What the other gateway knows its caller by. */
  readonly token: string | undefined;
}

/** V8 goes on compiling for some 20,000 requests. */
const WARM_UP_ROUNDS = "25";

/**
 * Reads the command line of the benchmark.
 *
 * @throws {TypeError} For an option that it does not know.
 */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", default: "" },
      rounds: { type: "string", default: "9" },
      "warm-up": { type: "string", default: WARM_UP_ROUNDS },
      against: { type: "string" },
      token: { type: "string" },
    },
  });
  return {
    only: values.only,
    rounds: {
      warmUp: Number(values["warm-up"]),
      measured: Number(values.rounds),
    },
    against: values.against,
    token: values.token,
  };
}
