import { soakBigAnswers } from "./big_answers.ts";
import { soakBodyMemory } from "./body_memory.ts";
import { soakConnections } from "./connections.ts";
import { soakCounts } from "./counts.ts";
import { soakCrowd } from "./crowd.ts";
import { soakEventLoop } from "./event_loop.ts";
import { soakHalfHandshakes } from "./half_handshakes.ts";
import { soakHeldBodies } from "./held_bodies.ts";
import { MAX_HEAP_MIB, soakHangUps } from "./hang_ups.ts";
import type { Duration } from "./plan.ts";
import { soakPoison } from "./poison.ts";
import { soakProxies } from "./proxies.ts";
import { startScene } from "./scene.ts";
import { soakShortage } from "./shortage.ts";
import { soakSignIn } from "./sign_in.ts";
import { soakSlowClients } from "./slow_clients.ts";
import type { SceneOptions, SoakOptions } from "./soak_options.ts";
import { soakTraffic } from "./traffic.ts";

/** A part of the soak. */
export interface Part {
  readonly run: (options: SoakOptions) => Promise<void>;
  readonly duration: Duration;
}

/** Builds a part that uses the usual gateway, perhaps with a limited heap, and upstream. */
function inScene(
  run: (options: SceneOptions) => Promise<void>,
  limits: Parameters<typeof startScene>[0] = {},
): Part["run"] {
  return async (options) => {
    await using scene = await startScene(limits);
    await run({ ...options, scene });
  };
}

/** All parts by their names, in the order of execution. Mixed traffic takes the remaining time. */
export const PARTS = {
  "traffic": { run: inScene(soakTraffic), duration: { fixed: 0, scaled: 0 } },
  "hang-ups": {
    run: inScene(soakHangUps, { maxHeapMib: MAX_HEAP_MIB }),
    duration: { fixed: 2, scaled: 18 },
  },
  "slow-clients": { run: soakSlowClients, duration: { fixed: 19, scaled: 60 } },
  "crowd": { run: inScene(soakCrowd), duration: { fixed: 2, scaled: 9 } },
  "connections": { run: soakConnections, duration: { fixed: 6, scaled: 17 } },
  "proxies": { run: soakProxies, duration: { fixed: 55, scaled: 45 } },
  "shortage": { run: soakShortage, duration: { fixed: 6, scaled: 20 } },
  "half-handshakes": {
    run: soakHalfHandshakes,
    duration: { fixed: 42, scaled: 2 },
  },
  "poison": { run: soakPoison, duration: { fixed: 2, scaled: 24 } },
  "event-loop": {
    run: inScene(soakEventLoop),
    duration: { fixed: 2, scaled: 9 },
  },
  "body-memory": {
    run: inScene(soakBodyMemory),
    duration: { fixed: 4, scaled: 12 },
  },
  "held-bodies": { run: soakHeldBodies, duration: { fixed: 240, scaled: 0 } },
  "big-answers": {
    run: inScene(soakBigAnswers),
    duration: { fixed: 1, scaled: 11 },
  },
  "sign-in": { run: soakSignIn, duration: { fixed: 6, scaled: 33 } },
  "counts": { run: soakCounts, duration: { fixed: 40, scaled: 80 } },
} as const satisfies Readonly<Record<string, Part>>;

/** The name of a part. */
export type PartName = keyof typeof PARTS;

/** Returns true when an argument names a part. */
export function isPartName(name: string): name is PartName {
  return Object.hasOwn(PARTS, name);
}
