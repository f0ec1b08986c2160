import { PATHS } from "../support/wire/ask.ts";
import { memory, resetPeak } from "../bench/processes.ts";
import { bodyOf } from "./ask.ts";
import { sizeText } from "./findings.ts";
import type { LongBody } from "./long_bodies.ts";
import { hasProc, type Scene, startScene, WAYS } from "./scene.ts";
import { sendLong, statusText } from "./send_long.ts";
import type { SoakOptions } from "./soak_options.ts";

const MIB = 1024 * 1024;

const BODY_BYTES = 30 * MIB;

/** The most memory of all held bodies together, as a multiple of `max_body_memory`. */
const MAX_SHARE = 1.1;

/** The model that serves a Messages request, natively or translated. */
const MODELS = { native: "all", translated: "chat-only" } as const;

/** The number of small requests before the measurement, natively and translated. */
const WARM_UPS = 200;

/** Bodies that arrive at once. */
interface Crowd extends Pick<LongBody, "behaviour"> {
  readonly maxBodyMemory: number;
  readonly way: keyof typeof MODELS;
  readonly isStream: boolean;
  readonly count: number;
}

/** More bodies than fit, held while the upstream is silent. A stream's body comes in chunks without a length. */
const HELD: readonly Crowd[] = [256 * MIB, 1024 * MIB].flatMap(
  (maxBodyMemory) =>
    (["native", "translated"] as const).flatMap((way) =>
      [false, true].map((isStream) => ({
        maxBodyMemory,
        way,
        isStream,
        behaviour: "late" as const,
        count: Math.ceil(1.5 * maxBodyMemory / BODY_BYTES),
      }))
    ),
);

const FORTY: Crowd = {
  maxBodyMemory: 1024 * MIB,
  way: "translated",
  isStream: false,
  count: 40,
};

/** Sends many long bodies at once. Together they may raise the process's memory by the option and a tenth. */
export async function soakHeldBodies({ findings }: SoakOptions): Promise<void> {
  if (!hasProc) return;
  for (const crowd of [...HELD, FORTY]) {
    const { maxBodyMemory, way, isStream, count } = crowd;
    await using scene = await startScene({ maxBodyMemory });
    await warmUp(scene);
    const { pid } = scene.gateway;
    await resetPeak(pid);
    const before = (await memory(pid)).now;
    const sent = await sendLong({
      ...crowd,
      shape: "one text",
      model: MODELS[way],
      bytes: BODY_BYTES,
      isChunked: isStream,
    }, scene);
    const rise = (await memory(pid)).peak - before;
    const what = `${count} bodies of 30 MiB, ${way}, ${
      isStream ? "streamed" : "whole"
    }, with ${sizeText(maxBodyMemory)} for them`;
    const share = (100 * rise / maxBodyMemory).toFixed(0);
    findings.note(
      what,
      `peak of memory ${sizeText(rise)} up (${share}%); ${statusText(sent)}; ${
        sent.seconds.toFixed(1)
      } s`,
    );
    // A busy machine is no excuse: it does not raise the use of memory.
    if (rise > MAX_SHARE * maxBodyMemory) {
      findings.fail(`${what} take ${sizeText(rise)} of memory`);
    }
    if (sent.statuses[200] === undefined) {
      findings.fail(`${what}: none got through (${statusText(sent)})`);
    }
  }
}

/** Sends short requests, so that the program loads and compiles their code. */
async function warmUp({ gateway, headers }: Scene): Promise<void> {
  const question = { tag: "warm", behaviour: "whole", words: 8 } as const;
  for (const way of WAYS) {
    const url = gateway.url + PATHS[way.protocol];
    const body = bodyOf({ way, question, isStream: false });
    for (let sent = 0; sent < WARM_UPS; sent++) {
      const answer = await fetch(url, { method: "POST", headers, body });
      await answer.body?.cancel();
    }
  }
}
