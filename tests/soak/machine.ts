import { processorMs } from "../bench/processes.ts";
import { pause } from "./ask.ts";
import { hasProc } from "./scene.ts";

/** Of all processors, what others may use while something is judged. */
const MAX_OTHERS_SHARE = 0.25;

/** By how much a thread that does nothing else may wake too late, in milliseconds. */
const MAX_LATE_MS = 100;

/** Between two pings of that thread, in milliseconds. */
const PING_MS = 20;

/** Linux counts the time of processors in hundredths of a second. */
const MS_PER_TICK = 10;

/** How busy the machine was with something else. */
export interface Busyness {
  /** The share of all processors that other programs used; `NaN` where the system does not tell. */
  readonly othersShare: number;
  /** The longest that a thread which only sleeps was late, in milliseconds. */
  readonly lateMs: number;
}

/** Watches the machine until it is told to stop. */
export interface MachineWatch {
  end(): Promise<Busyness>;
}

/** Begins to watch, from a thread of its own. */
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
 * Why nothing that was measured meanwhile can be judged.
 *
 * @returns `undefined` where the machine was quiet enough.
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

/** Tells in a few words how busy it was. */
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

/** Looks at the machine for a second while nothing of ours runs. */
export async function lookAtMachine(): Promise<Busyness> {
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
  /** Of this process and of all that it has started. */
  readonly oursMs: number;
}

async function readTimes(): Promise<Times> {
  if (!hasProc) return { totalMs: NaN, busyMs: NaN, oursMs: NaN };
  const stat = await Deno.readTextFile("/proc/stat");
  const [first = ""] = stat.split("\n");
  // The time of guests, behind these, is part of the first two already.
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
    // One that ends at this moment is among the ended ones the next time.
    sum += await processorMs(pid).catch(() => 0);
  }
  return sum;
}

/** What the programs that this process has started and seen end have used. */
async function endedMs(): Promise<number> {
  const stat = await Deno.readTextFile("/proc/self/stat");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * MS_PER_TICK;
}

/** The programs that a process has started and that still run, whichever of its threads did. */
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
