import type { ClientProgram, GatewayAddress, Launch } from "./programs.ts";

/** The result of a client's run. */
export interface ClientRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Reads a file of its working folder; `undefined` when there is none. */
  file(name: string): string | undefined;
}

/** A client that can be started. */
export type Startable = Pick<ClientProgram, "launch">;

/** The parameters of a run. */
export interface RunOptions {
  readonly program: Startable;
  /** `{work}` in it is replaced by the working folder. */
  readonly prompt: string;
  readonly address: GatewayAddress;
  /** The files in the working folder, by name; default: none. */
  readonly work?: Readonly<Record<string, Uint8Array>>;
  /** The most retries, for clients with such a setting; default: 0. */
  readonly retries?: number;
  /** The timeout of the client in milliseconds; default: two minutes. */
  readonly runMs?: number;
  /** Reads the client's home before it is removed. */
  readonly inspect?: (home: string) => Promise<void>;
}

/** More time than a run takes, unless the test sets another, in milliseconds. */
const RUN_MS = 120_000;

/**
 * Starts a client in an empty home and an empty working folder, and waits for its end, at most
 * `runMs`.
 *
 * @param command The client's program, after its runtime if it has one.
 */
export async function runClient(
  command: readonly string[],
  options: RunOptions,
): Promise<ClientRun> {
  const home = await Deno.makeTempDir({ prefix: "client-" });
  try {
    const { child, launch, work } = await startClient(command, home, options);
    const output = child.output();
    const input = child.stdin.getWriter();
    // A client that does not read its input may have ended already.
    await input.write(new TextEncoder().encode(launch.stdin ?? ""))
      .then(() => input.close()).catch(() => {});
    const { code, stdout, stderr } = await output;
    const files = await filesIn(work);
    await options.inspect?.(home);
    return {
      code,
      stdout: new TextDecoder().decode(stdout),
      stderr: new TextDecoder().decode(stderr),
      file: (name) => files.get(name),
    };
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

/** A running client, which is killed after a timeout. */
export interface StartedClient {
  readonly child: Deno.ChildProcess;
  readonly launch: Launch;
  /** Its working folder. */
  readonly work: string;
}

/** Starts a client in an empty working folder below its home, with an empty standard input. */
export async function startClient(
  [path = "", ...before]: readonly string[],
  home: string,
  { program, prompt, address, retries = 0, runMs = RUN_MS, work: files = {} }:
    RunOptions,
): Promise<StartedClient> {
  const work = `${home}/work`;
  const launch = program.launch(prompt.replaceAll("{work}", work), {
    ...address,
    retries,
  });
  for (const [name, text] of Object.entries(launch.files)) {
    const file = `${home}/${name}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, text);
  }
  await Deno.mkdir(work);
  for (const [name, bytes] of Object.entries(files)) {
    await Deno.writeFile(`${work}/${name}`, bytes);
  }
  const start = ({ args, env }: Pick<Launch, "args" | "env">) =>
    new Deno.Command(path, {
      args: [...before, ...args],
      cwd: work,
      clearEnv: true,
      env: {
        PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
        HOME: home,
        ...env,
      },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(runMs),
    }).spawn();
  if (launch.before !== undefined) {
    const first = start(launch.before);
    await first.stdin.close();
    await first.output();
  }
  const child = start(launch);
  return { child, launch, work };
}

async function filesIn(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (isFile) files.set(name, await Deno.readTextFile(`${folder}/${name}`));
  }
  return files;
}
