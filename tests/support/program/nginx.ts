import { until } from "../within.ts";
import { canConnect } from "./can_connect.ts";

/** An nginx in front of something. */
export interface RunningNginx extends AsyncDisposable {
  readonly url: string;
  /** What it has complained about. */
  errors(): string;
}

/** Whether this machine has an nginx. */
export async function hasNginx(): Promise<boolean> {
  try {
    return (await new Deno.Command("nginx", {
      args: ["-v"],
      stdout: "null",
      stderr: "null",
    }).output()).success;
  } catch {
    return false;
  }
}

/**
 * Starts an nginx.
 *
 * @param site What stands in its `http` block, with one `server` that listens at `port`.
 */
export async function startNginx(
  site: string,
  port: number,
): Promise<RunningNginx> {
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(`${directory}/nginx.conf`, wholeConfig(site));
  const child = new Deno.Command("nginx", {
    args: ["-p", directory, "-e", "stderr", "-c", `${directory}/nginx.conf`],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let written = "";
  const collecting = collect();

  async function collect(): Promise<void> {
    for await (
      const part of child.stderr.pipeThrough(new TextDecoderStream())
    ) written += part;
  }

  async function stop(): Promise<void> {
    try {
      child.kill("SIGTERM");
    } catch {
      // It has ended already.
    }
    await collecting;
    await child.status;
    await Deno.remove(directory, { recursive: true });
  }

  try {
    await until(() => canConnect(port), "nginx to listen");
  } catch (cause) {
    await stop();
    throw new Error(`nginx did not start:\n${written}`, { cause });
  }
  return {
    url: `http://127.0.0.1:${port}`,
    errors: () => written,
    [Symbol.asyncDispose]: stop,
  };
}

/** One process in the foreground, which needs no directory but its own. */
function wholeConfig(site: string): string {
  const directories = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${name};`);
  return `daemon off;
master_process off;
pid nginx.pid;
error_log stderr error;
events {}
http {
access_log off;
${directories.join("\n")}
${site}
}
`;
}
