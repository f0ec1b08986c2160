/** A program of the benchmark that listens. */
export interface Program extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  /** `NaN` when the benchmark did not start it. */
  readonly pid: number;
}

/** The options of a program. */
export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Default: http. */
  readonly scheme?: "http" | "https";
  /** The most file descriptors that it may open; default: the limit of this process. */
  readonly maxDescriptors?: number | undefined;
  /** The core that it may use (Linux); default: any. */
  readonly core?: number | undefined;
}

/** Starts `deno run ARGS` and waits for its ready line on standard error. */
export async function startProgram(
  name: string,
  args: readonly string[],
  { env = {}, scheme = "http", maxDescriptors, core }: StartOptions = {},
): Promise<Program> {
  const run = ["run", "--allow-net", "--allow-read", "--allow-env", ...args];
  const isLimited = maxDescriptors !== undefined;
  const limited = `ulimit -n ${maxDescriptors}; exec "$@"`;
  const process = new Deno.Command(isLimited ? "sh" : Deno.execPath(), {
    args: isLimited ? ["-c", limited, "sh", Deno.execPath(), ...run] : run,
    env: { ...env },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const port = await readPort(process.stderr);
  if (core !== undefined) await pin(process.pid, core);
  return {
    name,
    url: `${scheme}://127.0.0.1:${port}`,
    pid: process.pid,
    async [Symbol.asyncDispose]() {
      process.kill("SIGKILL");
      await process.status;
    },
  };
}

/** Restricts a process and all of its threads to one core (Linux). */
export async function pin(pid: number, core: number): Promise<void> {
  const args = ["-a", "-c", "-p", `${core}`, `${pid}`];
  const { success } = await new Deno.Command("taskset", {
    args,
    stdout: "null",
  })
    .output();
  if (!success) throw new Error(`Cannot pin process ${pid} to core ${core}`);
}

async function readPort(stderr: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const [ours, rest] = stderr.tee();
  rest.pipeTo(new WritableStream()).catch(() => {});
  for await (const part of ours.pipeThrough(new TextDecoderStream())) {
    text += part;
    const port = text.match(/listening on \S*:(\d+)/)?.[1];
    if (port !== undefined) return port;
  }
  throw new Error(`A program of the benchmark did not start:\n${text}`);
}

/** Resets the peak of a process's resident memory to its current value (Linux). */
export async function resetPeak(pid: number): Promise<void> {
  await Deno.writeTextFile(`/proc/${pid}/clear_refs`, "5");
}

/**
 * Returns the resident memory of a process in bytes: now, and its peak since the last reset
 * (Linux).
 */
export async function memory(
  pid: number,
): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const read = (key: string) =>
    Number(status.match(new RegExp(`${key}:\\s+(\\d+)`))?.[1] ?? NaN) * 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

/** The ticks of a second: Linux counts processor time in hundredths of a second. */
const MS_PER_TICK = 10;

/**
 * Returns the processor time of a process so far, in its code and in the system for it, in
 * milliseconds (Linux).
 */
export async function processorMs(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  // The name in brackets may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

const NANOS_PER_MS = 1e6;

/**
 * Returns the processor time of a process's live threads so far, in milliseconds (Linux). It is
 * exact to the nanosecond, enough for a short load. Ended threads are not included.
 *
 * @throws {Deno.errors.NotFound} When the kernel does not count it.
 */
export async function threadsMs(pid: number): Promise<number> {
  let nanos = 0;
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    try {
      const stat = await Deno.readTextFile(
        `/proc/${pid}/task/${name}/schedstat`,
      );
      nanos += parseInt(stat, 10);
    } catch (error) {
      // Another thread may have ended meanwhile; the first one lives as long as its process.
      if (name === String(pid)) throw error;
    }
  }
  return nanos / NANOS_PER_MS;
}
