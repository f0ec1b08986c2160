import assert from "node:assert/strict";
import { askAndCheck } from "../../soak/ask_and_check.ts";
import { hangUpOnce, type Stage } from "../../soak/hang_up.ts";
import { type Scene, startScene, WAYS } from "../../soak/scene.ts";
import { createRandom } from "../../support/fakes/random.ts";
import { until } from "../../support/within.ts";

// The soak's mixed traffic, as far as it runs within seconds.

const REQUESTS = 300;

/** One caller in so many disconnects. */
const LEAVING = 5;

/**
 * The number of simultaneous requests. Each may leave one idle connection on either side of the
 * gateway.
 */
const CALLERS = 16;

/** The stages at which they disconnect. */
const STAGES: readonly Stage[] = [
  "in the head",
  "in the body",
  "after the headers",
  "in mid-stream",
];

/** Half a head is not recognised as a request. */
const UNHEARD: Stage = "in the head";

const random = createRandom(32);

/** Sends all requests, and returns the number of hang-ups that the gateway can notice. */
async function sendAll(round: string, scene: Scene): Promise<number> {
  let next = 0;
  let left = 0;
  await Promise.all(Array.from({ length: CALLERS }, async () => {
    while (next < REQUESTS) {
      const index = next++;
      const way = WAYS[index % WAYS.length] ?? assert.fail("no way");
      const tag = `${round}${index}`;
      if (index % LEAVING === 0) {
        const stage = random.pick(STAGES);
        await hangUpOnce({ scene, way, random, tag, stage });
        if (stage !== UNHEARD) left++;
        continue;
      }
      const words = 1 + random.below(40);
      const question = { tag, behaviour: "whole", words } as const;
      const isStream = random.below(2) === 0;
      assert.equal(
        await askAndCheck({ way, question, isStream }, scene),
        undefined,
      );
    }
  }));
  return left;
}

/** The number of a process's descriptors; 0 when the system does not report it. */
async function descriptorsOf(pid: number): Promise<number> {
  if (Deno.build.os !== "linux") return 0;
  const list = new Deno.Command("ls", { args: [`/proc/${pid}/fd`] });
  const { stdout } = await list.output();
  return new TextDecoder().decode(stdout).split("\n").length;
}

Deno.test(`of ${REQUESTS} requests over every pair of protocols a fifth leave, the others get the right answers, and nothing remains`, async () => {
  await using scene = await startScene();
  const settle = (left: number) =>
    until(
      async () =>
        await scene.inFlight() === 0 && (await scene.account()).open === 0 &&
        await scene.ended("client_abort") === left,
      `${left} callers to have left`,
    );
  const first = await sendAll("a", scene);
  await settle(first);
  const before = await descriptorsOf(scene.gateway.pid);
  const second = await sendAll("b", scene);
  await settle(first + second);
  const more = await descriptorsOf(scene.gateway.pid) - before;
  // A leak would leave one per disconnected caller.
  assert.ok(more < REQUESTS / LEAVING, `${more} descriptors stay behind`);
  const served = 2 * (REQUESTS - REQUESTS / LEAVING);
  assert.equal(await scene.ended("complete"), served);
  assert.equal(await scene.ended("error"), 0);
  assert.equal(await scene.ended("upstream_broken"), 0);
});
