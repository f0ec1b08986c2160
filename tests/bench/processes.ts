/** A program of the benchmark that listens. */
export interface Program {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts `deno run ARGS` and waits for its ready line on standard error. */
export async function startProgram(
  name: string,
  args: readonly string[],
): Promise<Program> {
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-net", "--allow-read", "--allow-env", ...args],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const port = await readPort(process.stderr);
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    pid: process.pid,
    async stop() {
      process.kill("SIGKILL");
      await process.status;
    },
  };
}

async function readPort(
  stderr: ReadableStream<Uint8Array>,
): Promise<string> {
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

/** Resets the peak of a process's resident memory to what it has now (Linux). */
export async function resetPeak(pid: number): Promise<void> {
  await Deno.writeTextFile(`/proc/${pid}/clear_refs`, "5");
}

/** Resident memory of a process in bytes: now, and its peak since the last reset (Linux). */
export async function memory(
  pid: number,
): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const read = (key: string) =>
    Number(status.match(new RegExp(`${key}:\\s+(\\d+)`))?.[1] ?? NaN) * 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}
