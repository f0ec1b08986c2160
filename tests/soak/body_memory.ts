import { memory, resetPeak } from "../bench/processes.ts";
import { sizeText } from "./findings.ts";
import { askOthers, impactText, judgeImpact } from "./others.ts";
import { hasProc } from "./scene.ts";
import { sendLong, statusText } from "./send_long.ts";
import type { SceneOptions } from "./soak_options.ts";

const MIB = 1024 * 1024;

/** The number of simultaneous long bodies, and the length of each. */
const BODIES = { count: 100, bytes: 30 * MIB };

/** The default of `max_body_memory`, plus the memory of the program and its garbage. */
const MAX_BYTES = 1024 * MIB + 768 * MIB;

/** The number of other callers with small requests. */
const OTHERS = 1_000;

/** Sends a hundred long bodies to translate at once, beside a thousand other callers. */
export async function soakBodyMemory(
  { scene, findings, effort }: SceneOptions,
): Promise<void> {
  const count = Math.ceil(BODIES.count * effort);
  for (const shape of ["one text", "a long history"]) {
    if (hasProc) await resetPeak(scene.gateway.pid);
    const lateBefore = await scene.lateTimers();
    const before = hasProc ? (await memory(scene.gateway.pid)).now : 0;
    const sending = sendLong({
      shape,
      model: "chat-only",
      bytes: BODIES.bytes,
      count,
    }, scene);
    const others = await askOthers({
      url: scene.gateway.url,
      headers: () => scene.headers,
      count: Math.ceil(OTHERS * effort),
    });
    const sent = await sending;
    const rise = hasProc ? (await memory(scene.gateway.pid)).peak - before : 0;
    const what = `${count} bodies of 30 MiB of ${shape}, translated`;
    findings.note(
      what,
      `peak of memory ${sizeText(rise)} up; ${statusText(sent)}; ${
        impactText(others)
      }; the gateway's own timers were late ${
        await scene.lateTimers() - lateBefore
      } times by more than 100 ms`,
    );
    if (rise > MAX_BYTES) {
      findings.exceed(`${what} take ${sizeText(rise)} of memory`);
    }
    judgeImpact(what, others, findings);
    if (sent.statuses[200] === undefined) {
      findings.fail(`${what}: none got through (${statusText(sent)})`);
    }
  }
}
