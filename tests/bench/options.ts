import { parseArgs } from "node:util";
import type { Rounds } from "./compare.ts";

/** The options of the benchmark's command line. */
export interface Options {
  /** A text in the names of the parts to run. */
  readonly only: string;
  readonly rounds: Rounds;
  /** The address of another gateway. */
  readonly against: string | undefined;
  /** The caller's token at the other gateway. */
  readonly token: string | undefined;
}

/** The default of `--warm-up`: V8 compiles for the first seconds of load. */
const WARM_UP_ROUNDS = "10";

/**
 * Parses the command line of the benchmark.
 *
 * @throws {TypeError} For an unknown option.
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
