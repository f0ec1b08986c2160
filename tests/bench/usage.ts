import { V8_FLAGS } from "../../release/v8_flags.ts";
import { loggedLine } from "../support/wire/logged_line.ts";
import { memory, processorMs } from "./processes.ts";

const LINES = 1_000_000;

/** The number of lines in one write. */
const BATCH = 1000;

const MIB = 1024 * 1024;

/**
 * Prints the time and memory of `usage` for a log of a million requests, by two groupings (Linux).
 */
export async function reportUsage(): Promise<void> {
  const log = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    await writeLog(log);
    const { size } = await Deno.stat(log);
    console.log(
      `\nusage over a log of ${LINES} requests, ${Math.round(size / MIB)} MiB`,
    );
    for (const by of ["token", "day,token,model,connection", "session"]) {
      const { seconds, processorSeconds, peakBytes } = await measure(log, by);
      console.log(
        `  --by ${by.padEnd(26)} ${seconds.toFixed(1)} s, ${
          processorSeconds.toFixed(1)
        } s of processors, peak ${Math.round(peakBytes / MIB)} MiB`,
      );
    }
  } finally {
    await Deno.remove(log);
  }
}

/** Writes a month of 200 callers, 12 models, 5 connections and 50,000 sessions. */
async function writeLog(path: string): Promise<void> {
  using file = await Deno.open(path, { write: true, truncate: true });
  const encoder = new TextEncoder();
  for (let start = 0; start < LINES; start += BATCH) {
    const lines = Array.from(
      { length: BATCH },
      (_, index) => lineOf(start + index),
    );
    const bytes = encoder.encode(lines.join(""));
    for (let written = 0; written < bytes.length;) {
      written += await file.write(bytes.subarray(written));
    }
  }
}

function lineOf(number: number): string {
  return loggedLine({
    time: new Date(Date.UTC(2026, 9, 1) + number * 2592).toISOString(),
    request_id: `req_${crypto.randomUUID()}`,
    token: `person-${number % 200}`,
    session: `5f6c8c1e-0000-4000-8000-${
      String(number % 50_000).padStart(12, "0")
    }`,
    method: "POST",
    route: "/v1/messages",
    model: `model-${number % 12}`,
    upstream_model: "an-upstream-model",
    connection: `connection ${number % 5}`,
    mode: "native",
    bytes_in: 82_000 + number,
    bytes_out: 52_500,
    first_byte_ms: 384.4,
    first_output_ms: 385.4,
    usage: {
      input_tokens: 15_000 + number % 1000,
      cached_input_tokens: 12_000,
      cache_write_tokens: 300,
      output_tokens: 280 + number % 77,
      reasoning_tokens: 100,
    },
    cost_usd: 0.0123,
    upstream_request_id: "req_011CSHoEeqs5C35K2UUqR7Fy",
    total_ms: 3385.8,
  });
}

/** The time between two readings of the program's peak memory, which never falls. */
const POLL_MS = 20;

async function measure(log: string, by: string): Promise<{
  readonly seconds: number;
  readonly processorSeconds: number;
  readonly peakBytes: number;
}> {
  const main = new URL("../../src/tools/main.ts", import.meta.url).pathname;
  const startedMs = performance.now();
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", V8_FLAGS],
      ...["--allow-net", "--allow-read", "--allow-env"],
      ...[main, "usage", log, "--by", by, "--json"],
    ],
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  let peakBytes = 0;
  let processorSeconds = 0;
  const poll = async () => {
    try {
      const { peak } = await memory(process.pid);
      if (peak > 0) peakBytes = peak;
      processorSeconds = await processorMs(process.pid) / 1000;
    } catch {
      // The program has ended.
    }
  };
  const polling = setInterval(poll, POLL_MS);
  const { success } = await process.status;
  clearInterval(polling);
  if (!success) {
    throw new Error(
      "Cannot measure usage: the program failed to read its log.",
    );
  }
  const seconds = (performance.now() - startedMs) / 1000;
  return { seconds, processorSeconds, peakBytes };
}
