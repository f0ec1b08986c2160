import { runCli } from "./cli/mod.ts";
import { writeWhole } from "./cli/log/open_log.ts";

Deno.exit(
  await runCli(Deno.args, {
    write: (text) => writeWhole(Deno.stdout, text),
    writeError: (text) => writeWhole(Deno.stderr, text),
    env: (name) => Deno.env.get(name),
  }),
);
