import { runCli } from "./cli/mod.ts";
import { writeWhole } from "./cli/log/open_log.ts";

/** Ends the program with a message, and no stack, where its output takes no more, as on a full disk. */
function fail(reason: string): never {
  writeWhole(Deno.stderr, `Cannot write the output: ${reason}.\n`);
  Deno.exit(1);
}

Deno.exit(
  await runCli(Deno.args, {
    write: (text) => writeWhole(Deno.stdout, text, fail),
    writeError: (text) => writeWhole(Deno.stderr, text),
    env: (name) => Deno.env.get(name),
  }),
);
