import type { CliIo } from "./cli/command.ts";
import { writeWhole } from "./cli/log/write_whole.ts";
import { login } from "./cli/login/here.ts";

/** Ends the program with a message, and no stack, where its output takes no more, as on a full disk. */
function fail(reason: string): never {
  writeWhole(Deno.stderr, `Cannot write the output: ${reason}.\n`);
  Deno.exit(1);
}

const io: CliIo = {
  write: (text) => writeWhole(Deno.stdout, text, fail),
  writeError: (text) => writeWhole(Deno.stderr, text),
  env: (name) => Deno.env.get(name),
};

const [command, ...rest] = Deno.args;
const isPlain = !rest.includes("--help") && !rest.includes("-h");

/** Runs every command but `login`, which is the only one that writes files. */
async function runOther(): Promise<number> {
  // With every permission, as from the source, Deno would then refuse to read /dev/stdin, too.
  if (Deno.build.standalone) Deno.permissions.revokeSync({ name: "write" });
  // A server loads no other command, which saves time and memory.
  if (command === "serve" && isPlain) {
    const { runServe } = await import("./cli/commands/serve.ts");
    return await runServe(rest, io);
  }
  const { runCli } = await import("./cli/mod.ts");
  return await runCli(Deno.args, io);
}

// Clients run `login` often, so it loads nothing else.
const isLogin = command === "login" && isPlain;
Deno.exit(isLogin ? await login(rest, io) : await runOther());
