import { isHelp } from "./command.ts";
import { HERE } from "./here.ts";
import { login } from "./login/here.ts";

const [command, ...rest] = Deno.args;

/** Runs every command but `login`. */
async function runOther(): Promise<number> {
  // Only a compiled program gives up its permission to write. From the sources, the program has every permission. If it
  // gave up this permission, Deno would refuse to read /dev/stdin, too.
  if (Deno.build.standalone && command !== "token") {
    Deno.permissions.revokeSync({ name: "write" });
  }
  // To save time and memory, a server loads no other command.
  if (command === "serve" && !rest.some(isHelp)) {
    const { runServe } = await import("./commands/serve.ts");
    return await runServe(rest, HERE);
  }
  const { runCli } = await import("./mod.ts");
  return await runCli(Deno.args, HERE);
}

// Clients run `login` often, so `login` loads no other command.
const isLogin = command === "login";
Deno.exit(isLogin ? await login(rest, HERE) : await runOther());
