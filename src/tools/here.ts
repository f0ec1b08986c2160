import type { CliIo } from "./command.ts";
import { writeWhole } from "@gateway/base/write_whole";

/** The streams and the environment of this process. */
export const HERE: CliIo = {
  write: (text) => writeWhole(Deno.stdout, text, fail),
  writeError: (text) => writeWhole(Deno.stderr, text),
  env: (name) => Deno.env.get(name),
};

/** Ends the program when its output cannot be written, as on a full disk. Prints a message without a stack. */
function fail(reason: string): never {
  writeWhole(Deno.stderr, `Cannot write the output: ${reason}.\n`);
  Deno.exit(1);
}
