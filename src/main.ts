import { runCli } from "./cli/mod.ts";
import { writeWhole } from "./cli/log/write_whole.ts";

Deno.exit(
  await runCli(Deno.args, {
    write: (text) => writeWhole(Deno.stdout, text),
    writeError: (text) => writeWhole(Deno.stderr, text),
    env: (name) => Deno.env.get(name),
  }),
);
