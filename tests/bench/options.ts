import { parseArgs } from "../../src/core/std.ts";
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
const WARM_UP_ROUNDS = 25;

const MEASURED_ROUNDS = 9;

/** Reads the command line of the benchmark. */
export function readOptions(args: readonly string[]): Options {
  const options = parseArgs(args, {
    string: ["only", "rounds", "warm-up", "against", "token"],
  });
  const text = (name: string) => {
    const value = options[name];
    return typeof value === "string" ? value : undefined;
  };
  return {
    only: text("only") ?? "",
    rounds: {
      warmUp: Number(text("warm-up") ?? WARM_UP_ROUNDS),
      measured: Number(text("rounds") ?? MEASURED_ROUNDS),
    },
    against: text("against"),
    token: text("token"),
  };
}
