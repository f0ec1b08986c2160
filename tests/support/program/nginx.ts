import { type RunningProxy, startProxy } from "./front_proxy.ts";
import { hasProgram } from "./has_program.ts";

/** Whether this machine has an nginx. */
export async function hasNginx(): Promise<boolean> {
  return await hasProgram("nginx", ["-v"]);
}

/**
 * Starts an nginx.
 *
 * @param site What stands in its `http` block, with one `server` that listens at `port`.
 */
export async function startNginx(
  site: string,
  port: number,
): Promise<RunningProxy> {
  return await startProxy({
    program: "nginx",
    args: (
      directory,
    ) => ["-p", directory, "-e", "stderr", "-c", `${directory}/nginx.conf`],
    file: "nginx.conf",
    config: wholeConfig(site),
    port,
    endsBy: "SIGTERM",
  });
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
