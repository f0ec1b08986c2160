import type { ClientProgram, GatewayAddress, Launch } from "./programs.ts";

/** How a client's run ended. */
export interface ClientRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Reads a file of the folder that it worked in; `undefined` when there is none. */
  file(name: string): string | undefined;
}

/** A client that can be started. */
export type Startable = Pick<ClientProgram, "launch">;

/** What a client is started for. */
export interface RunOptions {
  readonly program: Startable;
  /** In it `{work}` stands for the folder that the client works in. */
  readonly prompt: string;
  readonly address: GatewayAddress;
  /** Files to lie in the folder that the client works in, by their name; default: none. */
  readonly work?: Readonly<Record<string, Uint8Array>>;
  /** How often the client may ask again, where it can be told; default 0. */
  readonly retries?: number;
  /** How long the client may take, in milliseconds; default two minutes. */
  readonly runMs?: number;
  /** Looks at the client's home before that is removed. */
  readonly inspect?: (home: string) => Promise<void>;
}

/** Longer than any run of a client takes, unless the test says otherwise, in milliseconds. */
const RUN_MS = 120_000;

/**
 * Starts a client in an empty home and an empty working folder, and waits for its end, but not for ever.
 *
 * @param command The client's program, after what it runs on, if it runs on something.
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
    // A client that does not read may be gone before it is told anything.
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

/** A client that is running, and is ended when it takes too long. */
export interface StartedClient {
  readonly child: Deno.ChildProcess;
  readonly launch: Launch;
  /** The folder that it works in. */
  readonly work: string;
}

/** Starts a client in an empty working folder below its home, with nothing on its standard input yet. */
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
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), {
      recursive: true,
    });
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
