import { until } from "../within.ts";
import { canConnect } from "./can_connect.ts";
import { freePort } from "./free_port.ts";
import { hasProgram } from "./has_program.ts";

/** A Valkey or Redis server of a test. */
export interface StoreServer extends AsyncDisposable {
  readonly port: number;
  /** The URL without a credential. */
  readonly url: string;
  /** Ends it at once; its data is lost. */
  kill(): Promise<void>;
  /** Starts it again on the same port, without data. */
  restart(): Promise<void>;
  /** Sends a command and returns the raw reply of the server. */
  ask(...command: readonly string[]): Promise<string>;
}

/** The known server programs, the preferred one first. */
const PROGRAMS = ["valkey-server", "redis-server"];

const found = await Promise.all(PROGRAMS.map((name) => hasProgram(name)));

/** The server program of this machine; `undefined` when there is none. */
export const storeProgram = PROGRAMS.find((_, index) => found[index]);

/**
 * Starts a server on a free port of this machine; it writes nothing to disk.
 *
 * @param options Further options of the command line, such as `--requirepass`.
 * @param settings.isTls True for a server with TLS.
 */
export async function startStoreServer(
  options: readonly string[] = [],
  { isTls = false } = {},
): Promise<StoreServer> {
  const directory = await Deno.makeTempDir();
  const port = freePort();
  let child = start();

  function start(): Deno.ChildProcess {
    return new Deno.Command(storeProgram ?? "", {
      args: [
        ...["--bind", "127.0.0.1", "--dir", directory],
        ...(isTls ? ["--port", "0", "--tls-port"] : ["--port"]),
        String(port),
        ...["--save", "", "--appendonly", "no", "--daemonize", "no"],
        ...options,
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
  }

  async function kill(): Promise<void> {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await child.status;
  }

  const listening = () => until(() => canConnect(port), "the store to listen");
  await listening();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    kill,
    async restart() {
      child = start();
      await listening();
    },
    ask: (...command) => ask(port, command),
    async [Symbol.asyncDispose]() {
      await kill();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** Sends one command and `QUIT` over a new connection. */
async function ask(port: number, command: readonly string[]): Promise<string> {
  const encoder = new TextEncoder();
  const written = [command, ["QUIT"]].map((parts) =>
    `*${parts.length}\r\n` +
    parts.map((part) => `$${encoder.encode(part).length}\r\n${part}\r\n`).join(
      "",
    )
  ).join("");
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const writer = connection.writable.getWriter();
  await writer.write(encoder.encode(written));
  writer.releaseLock();
  const text = await new Response(connection.readable).text();
  return text.replace(/\+OK\r\n$/, "");
}
