import { type RunningProxy, startProxy } from "./front_proxy.ts";
import { hasProgram } from "./has_program.ts";

/** Returns true when this machine has nginx. */
export async function hasNginx(): Promise<boolean> {
  return await hasProgram("nginx", ["-v"]);
}

/**
 * Starts nginx.
 *
 * @param site The content of its `http` block, with one `server` that listens at `port`.
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

/** Returns a configuration with one process in the foreground, which writes only to its own directory. */
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
