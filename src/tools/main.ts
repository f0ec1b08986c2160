import { isHelp } from "./command.ts";
import { HERE } from "./here.ts";
import { login } from "./login/here.ts";

const [command, ...rest] = Deno.args;

/** Runs every command but `login`. */
async function runOther(): Promise<number> {
  // Only when compiled: from the source, with every permission, Deno would then refuse to read /dev/stdin, too.
  if (Deno.build.standalone && command !== "token") {
    Deno.permissions.revokeSync({ name: "write" });
  }
  // A server loads no other command, which saves time and memory.
  if (command === "serve" && !rest.some(isHelp)) {
    const { runServe } = await import("./commands/serve.ts");
    return await runServe(rest, HERE);
  }
  const { runCli } = await import("./mod.ts");
  return await runCli(Deno.args, HERE);
}

// Clients run `login` often, so it loads nothing else.
const isLogin = command === "login";
Deno.exit(isLogin ? await login(rest, HERE) : await runOther());
