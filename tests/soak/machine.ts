import { processorMs } from "../bench/processes.ts";
import { pause } from "./ask.ts";
import { hasProc } from "./scene.ts";

/** The most that other programs may use during a measurement, as a share of all processors. */
const MAX_OTHERS_SHARE = 0.25;

/** The longest acceptable delay of a sleeping thread, in milliseconds. */
const MAX_LATE_MS = 100;

/** The time between two pings of that thread, in milliseconds. */
const PING_MS = 20;

/** Linux counts processor time in hundredths of a second. */
const MS_PER_TICK = 10;

/** The load of the machine by other programs. */
export interface Busyness {
  /**
   * The share of all processors that other programs used; `NaN` when the system does not report it.
   */
  readonly othersShare: number;
  /** The longest delay of a thread that only sleeps, in milliseconds. */
  readonly lateMs: number;
}

/** Watches the machine until it is stopped. */
export interface MachineWatch {
  end(): Promise<Busyness>;
}

/** Begins to watch, from a separate thread. */
export function watchMachine(): MachineWatch {
  const pinger = new Worker(new URL("./pinger.ts", import.meta.url), {
    type: "module",
  });
  const { port1: port, port2: remote } = new MessageChannel();
  const late = new Promise<number>((resolve) => {
    port.onmessage = ({ data }) => resolve(data);
  });
  pinger.postMessage(PING_MS, [remote]);
  const before = readTimes();
  return {
    async end() {
      const [from, to] = [await before, await readTimes()];
      port.postMessage("end");
      const lateMs = await late;
      port.close();
      pinger.terminate();
      const others = (to.busyMs - to.oursMs) - (from.busyMs - from.oursMs);
      const othersShare = Math.max(0, others) / (to.totalMs - from.totalMs);
      return { othersShare, lateMs };
    },
  };
}

/**
 * Returns the reason why measurements of that time are inconclusive.
 *
 * @returns `undefined` when the machine was quiet enough.
 */
export function excuseOf(
  { othersShare, lateMs }: Busyness,
): string | undefined {
  if (othersShare > MAX_OTHERS_SHARE) {
    return `other programs used ${percent(othersShare)} of the processors`;
  }
  if (lateMs > MAX_LATE_MS) {
    return `a thread that only sleeps woke ${lateMs.toFixed(0)} ms late`;
  }
}

/** Formats the load as a short text. */
export function busynessText({ othersShare, lateMs }: Busyness): string {
  const [load = NaN] = Deno.loadavg();
  const others = Number.isNaN(othersShare)
    ? ""
    : `others used ${percent(othersShare)} of the processors, `;
  return `${others}a sleeping thread woke at most ${
    lateMs.toFixed(0)
  } ms late, ` +
    `load ${load.toFixed(1)} on ${navigator.hardwareConcurrency} processors`;
}

/** Watches the machine for a second, before the soak begins. */
export async function probeMachine(): Promise<Busyness> {
  const watch = watchMachine();
  await pause(1_000);
  return await watch.end();
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)}%`;
}

/** Processor time so far, in milliseconds. */
interface Times {
  readonly totalMs: number;
  readonly busyMs: number;
  /** The time of this process and of all that it has started. */
  readonly oursMs: number;
}

async function readTimes(): Promise<Times> {
  if (!hasProc) return { totalMs: NaN, busyMs: NaN, oursMs: NaN };
  const stat = await Deno.readTextFile("/proc/stat");
  const [first = ""] = stat.split("\n");
  // The later columns, the time of guests, are included in the first two.
  const ticks = first.trim().split(/\s+/).slice(1, 9).map(Number);
  const total = ticks.reduce((sum, one) => sum + one, 0);
  const [, , , idle = 0, waiting = 0] = ticks;
  return {
    totalMs: total * MS_PER_TICK,
    busyMs: (total - idle - waiting) * MS_PER_TICK,
    oursMs: await oursMs(),
  };
}

async function oursMs(): Promise<number> {
  let sum = await processorMs(Deno.pid) + await endedMs();
  for (const pid of await childrenOf(Deno.pid)) {
    // A process that ends at this moment counts as ended the next time.
    sum += await processorMs(pid).catch(() => 0);
  }
  return sum;
}

/** Returns the processor time of this process's ended children. */
async function endedMs(): Promise<number> {
  const stat = await Deno.readTextFile("/proc/self/stat");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * MS_PER_TICK;
}

/** Returns the running children of a process, of all its threads. */
async function childrenOf(pid: number): Promise<number[]> {
  const pids: number[] = [];
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    const text = await Deno.readTextFile(
      `/proc/${pid}/task/${name}/children`,
    ).catch(() => "");
    pids.push(...text.split(" ").filter(Boolean).map(Number));
  }
  return pids;
}
