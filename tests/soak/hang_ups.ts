import { pause } from "./ask.ts";
import { type Findings, quantile, sizeText, slope } from "./findings.ts";
import { hangUpOnce, STAGES } from "./hang_up.ts";
import type { Scene, Use } from "./scene.ts";
import { shortnessOf } from "./plan.ts";
import { hasProc, WAYS } from "./scene.ts";
import type { SceneOptions } from "./soak_options.ts";

/** The number of hang-ups in each round, and of rounds. The soak measures memory between rounds. */
const HANG_UPS = 2_500;
const ROUNDS = 8;

const WARM_UP = 5_000;

/** The number of simultaneous hang-ups while memory is measured, and while times are measured. */
const CROWD = 32;
const FEW = 4;

/** The number of timed hang-ups. */
const TIMED = 1_000;

/**
 * The upstream must notice a hang-up within this time, in milliseconds (docs/design.md#streams).
 */
const MAX_MS = 100;

/** The time in which cancelled requests must end, in milliseconds. */
const SETTLE_MS = 10_000;

const MAX_MORE_DESCRIPTORS = 40;

/**
 * The limit on the gateway's heap, in MiB: twice its use. Without a limit, V8 collects old objects only after the heap
 * has grown by some hundred MiB. Old garbage of hang-ups would look like a leak of 2 KiB each.
 */
export const MAX_HEAP_MIB = 64;

/**
 * A larger growth per hang-up is a leak. Garbage collection varies by less, averaged over all of
 * them.
 */
const MAX_GROWTH_BYTES = 1.5 * 1024;

/**
 * Hangs up at every stage, natively and translated, and measures the remaining memory and
 * descriptors.
 */
export async function soakHangUps(options: SceneOptions): Promise<void> {
  const { scene, findings, effort } = options;
  const each = Math.ceil(HANG_UPS * effort);
  await hangUpOften(Math.ceil(WARM_UP * effort), CROWD, options);
  await settle(scene, findings);
  const uses = [await scene.use()];
  for (let round = 0; round < ROUNDS; round++) {
    await hangUpOften(each, CROWD, options);
    await settle(scene, findings);
    uses.push(await scene.use());
  }
  findings.note(
    "hang-ups",
    `${ROUNDS * each} at ${STAGES.length} stages; no request in flight, ` +
      "nothing open at the upstream",
  );
  if (hasProc) report(uses, options);
  await timeHangUps(options);
}

/** Reports the remains of each round. */
function report(
  uses: readonly Use[],
  { findings, effort }: SceneOptions,
): void {
  const each = Math.ceil(HANG_UPS * effort);
  const perHangUp = slope(
    uses.map(({ residentBytes }, round) => [round * each, residentBytes]),
  );
  const sizes = uses.map(({ residentBytes }) => sizeText(residentBytes));
  const descriptors = uses.map((use) => use.descriptors);
  findings.note(
    "  remaining memory",
    `${sizeText(1000 * perHangUp)} per 1000 hang-ups (${sizes.join(", ")}); ` +
      `${descriptors.join(", ")} descriptors`,
  );
  if (perHangUp > MAX_GROWTH_BYTES) {
    findings.exceed(
      `1000 hang-ups leak ${sizeText(1000 * perHangUp)}`,
      shortnessOf({ effort }),
    );
  }
  const [first = NaN] = descriptors;
  if ((descriptors.at(-1) ?? NaN) > first + MAX_MORE_DESCRIPTORS) {
    findings.exceed("Hang-ups leave descriptors open");
  }
}

/** @returns The time of each hang-up, by tag. */
async function hangUpOften(
  count: number,
  atATime: number,
  { scene, random }: SceneOptions,
): Promise<Map<string, number>> {
  const hungUpMs = new Map<string, number>();
  let left = count;
  await Promise.all(Array.from({ length: atATime }, async () => {
    while (left-- > 0) {
      const index = left;
      const tag = `h${count}x${index}`;
      const stage = STAGES[index % STAGES.length] ?? STAGES[0];
      const way = random.pick(WAYS);
      hungUpMs.set(tag, await hangUpOnce({ scene, way, random, tag, stage }));
    }
  }));
  return hungUpMs;
}

/** Waits until no request runs. */
async function settle(scene: Scene, findings: Findings): Promise<void> {
  const lastMs = performance.now() + SETTLE_MS;
  for (;;) {
    const running = await scene.inFlight();
    const { open } = await scene.account();
    if (running === 0 && open === 0) return;
    if (performance.now() > lastMs) {
      return findings.exceed(
        `${running} requests still run and ${open} answers are still open ` +
          `${SETTLE_MS / 1000} s after their callers hung up`,
      );
    }
    await pause(50);
  }
}

async function timeHangUps(options: SceneOptions): Promise<void> {
  const { scene, findings, effort } = options;
  await scene.account();
  const hungUpMs = await hangUpOften(Math.ceil(TIMED * effort), FEW, options);
  await pause(500);
  const { leftMs } = await scene.account();
  const tookMs = Object.entries(leftMs).map(([tag, ms]) =>
    Math.max(0, ms - (hungUpMs.get(tag) ?? NaN))
  );
  const [middle, most, worst] = [0.5, 0.99, 1].map((share) =>
    quantile(tookMs, share)
  );
  findings.note(
    "  until the upstream notices",
    `${middle?.toFixed(1)} ms (half), ${most?.toFixed(1)} ms (99 of 100), ` +
      `${worst?.toFixed(1)} ms (all ${tookMs.length})`,
  );
  if (!(most !== undefined && most < MAX_MS)) {
    findings.exceed(`A hang-up reaches the upstream after ${most} ms`);
  }
}
