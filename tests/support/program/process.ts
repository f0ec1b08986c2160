/** A running program that listens. */
export interface ListeningProcess {
  /** The URL from its ready line. */
  readonly url: string;
  readonly pid: number;
  readonly ended: Promise<Deno.CommandStatus>;
  kill(signal: Deno.Signal): void;
  /** Returns its standard output and standard error so far. */
  output(): string;
}

/** The options for starting a program. */
export interface StartOptions {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly clearEnv?: boolean;
  /** The user that runs it; default: the user of the test. Only root may set it. */
  readonly uid?: number;
  readonly gid?: number;
}

/** The timeout of a start, in milliseconds. */
const START_MS = 60_000;

/**
 * Starts a program and waits for its line `listening on URL`.
 *
 * @throws {Error} When the program ends or does not get ready; the error contains its output.
 */
export async function startProcess(
  path: string,
  options: StartOptions,
): Promise<ListeningProcess> {
  const { args, ...rest } = options;
  const child = new Deno.Command(path, {
    ...rest,
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let written = "";
  const ready = Promise.withResolvers<string>();
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      written += part;
      const url = written.match(/listening on (\S+)\n/)?.[1];
      if (url !== undefined) ready.resolve(url);
    }
  };
  const collected = Promise.all([collect(child.stdout), collect(child.stderr)]);
  const fail = () => ready.reject(new Error(`It did not start:\n${written}`));
  const timer = setTimeout(fail, START_MS);
  const ended = collected.then(() => child.status).finally(fail);
  try {
    const url = await ready.promise;
    return {
      url,
      pid: child.pid,
      ended,
      kill: (signal) => child.kill(signal),
      output: () => written,
    };
  } catch (error) {
    try {
      child.kill("SIGKILL");
    } catch {
      // The program has ended already.
    }
    await ended;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
