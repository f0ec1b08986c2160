import { runCli } from "./cli/mod.ts";

const encoder = new TextEncoder();

Deno.exit(
  await runCli(Deno.args, {
    write: (text) => Deno.stdout.writeSync(encoder.encode(text)),
    writeError: (text) => Deno.stderr.writeSync(encoder.encode(text)),
    env: (name) => Deno.env.get(name),
  }),
);
