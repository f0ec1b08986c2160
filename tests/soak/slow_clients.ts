import { fromFileUrl } from "../support/program/paths.ts";
import { startProgram } from "../bench/processes.ts";
import { askAndCheck } from "./ask_and_check.ts";
import { sizeText } from "./findings.ts";
import { shortnessOf } from "./plan.ts";
import { hasProc, NATIVE, type Scene, startScene, type Way } from "./scene.ts";
import {
  begin,
  costOfFlooded,
  costOfSlow,
  type StreamSizes,
  type Subject,
} from "./slow_streams.ts";
import type { SoakOptions } from "./soak_options.ts";

/** The number of slow clients at a time, in two batches. */
const CLIENTS = 1_000;

/** The number of clients that read nothing of an unthrottled stream. */
const FLOODED = 400;

/** The number of simultaneous requests before the measurement. */
const CONCURRENCY = 50;

/** The time in which the clients read nothing, in milliseconds. */
const SILENT_MS = 6_000;
const MIN_SILENT_MS = 2_000;

/**
 * The most memory of a stream, as a multiple of its memory in a proxy with one empty transform. Most of it belongs to
 * the platform. The proxy's value for unthrottled streams varies by half from run to run.
 */
const FLOOR_SHARES = { slow: 0.75, flooded: 1.5 };

/** The requests before the measurement, so that V8 has compiled the code. */
const WARM_UP = 4_000;

const SLOW_WAYS: Readonly<Record<string, Way>> = {
  native: NATIVE,
  translated: { protocol: "chat", upstream: "messages", model: "b" },
};

/** The sizes of the test, with the number of warm-up requests. */
interface Sizes extends StreamSizes {
  readonly warmUp: number;
}

function sizesOf(effort: number): Sizes {
  return {
    clients: Math.ceil(CLIENTS * effort),
    flooded: Math.ceil(FLOODED * effort),
    warmUp: Math.ceil(WARM_UP * effort),
    silentMs: Math.max(MIN_SILENT_MS, SILENT_MS * effort),
  };
}

/** The memory of a stream through one program, in bytes. */
interface Costs {
  /** Per slow stream, for each of the two batches. */
  readonly slow: readonly [first: number, second: number];
  readonly flooded: number;
}

/** Streams to clients that read nothing. */
export async function soakSlowClients(
  { findings, effort }: SoakOptions,
): Promise<void> {
  const sizes = sizesOf(effort);
  const floor = await costsOfFloor(sizes);
  for (const [name, way] of Object.entries(SLOW_WAYS)) {
    const costs = await costsOfGateway(way, sizes, findings);
    if (!hasProc) continue;
    findings.note(
      `a slow ${name} stream, of ${2 * sizes.clients}`,
      costsText(costs, sizes),
    );
    if (mean(costs.slow) > FLOOR_SHARES.slow * mean(floor.slow)) {
      findings.exceed(
        `A slow ${name} stream costs ${sizeText(mean(costs.slow))}`,
        shortnessOf({ effort }),
      );
    }
    // The platform buffers much of each stream when the upstream sends without throttle.
    if (costs.flooded > FLOOR_SHARES.flooded * floor.flooded) {
      findings.exceed(
        `A flooded ${name} stream costs ${sizeText(costs.flooded)}`,
        shortnessOf({ effort }),
      );
    }
  }
  if (!hasProc) return;
  findings.note(
    "  a stream of a proxy with one empty transform",
    costsText(floor, sizes),
  );
}

function mean([first, second]: Costs["slow"]): number {
  return (first + second) / 2;
}

function costsText({ slow, flooded }: Costs, { clients }: Sizes): string {
  const [first, second] = slow;
  return `${sizeText(mean(slow))} as fast as a model speaks (first ${clients} ${
    sizeText(first)
  }, next ${sizeText(second)}), ${
    sizeText(flooded)
  } as fast as the upstream can`;
}

async function costsOfGateway(
  way: Way,
  sizes: Sizes,
  findings: SoakOptions["findings"],
): Promise<Costs> {
  return {
    slow: await costOfSlowInGateway(way, sizes, findings),
    flooded: await costOfFloodedInGateway(way, sizes),
  };
}

/** Measures a gateway that has served requests before. */
async function costOfSlowInGateway(
  way: Way,
  sizes: Sizes,
  findings: SoakOptions["findings"],
): Promise<Costs["slow"]> {
  await using scene = await startScene();
  await warm(way, sizes.warmUp, scene);
  const subject = { scene, pid: scene.gateway.pid };
  return await costOfSlow(way, sizes, subject, async (streams) => {
    const running = await scene.inFlight();
    if (running !== streams) {
      findings.fail(`${running} of ${streams} slow streams run`);
    }
  });
}

async function warm(way: Way, count: number, scene: Scene): Promise<void> {
  let left = count;
  await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
    while (left-- > 0) {
      const tag = `w${left}`;
      const question = { tag, behaviour: "whole", words: 40 } as const;
      const fault = await askAndCheck({ way, question, isStream: true }, scene);
      if (fault !== undefined) throw new Error(fault);
    }
  }));
}

async function costOfFloodedInGateway(way: Way, sizes: Sizes): Promise<number> {
  await using scene = await startScene();
  return await costOfFlooded(way, sizes, { scene, pid: scene.gateway.pid });
}

/** Measures the proxy. */
async function costsOfFloor(sizes: Sizes): Promise<Costs> {
  return {
    slow: await throughFloor(async (floor) => {
      await begin(NATIVE, floor);
      return await costOfSlow(NATIVE, sizes, floor);
    }),
    flooded: await throughFloor((floor) => costOfFlooded(NATIVE, sizes, floor)),
  };
}

async function throughFloor<Result>(
  measure: (floor: Subject) => Promise<Result>,
): Promise<Result> {
  await using scene = await startScene();
  const path = fromFileUrl(new URL("../bench/floor.ts", import.meta.url));
  const args = [path, "hop", scene.upstreamUrl];
  await using floor = await startProgram("floor", args);
  const port = Number(new URL(floor.url).port);
  return await measure({ scene: { ...scene, port }, pid: floor.pid });
}
