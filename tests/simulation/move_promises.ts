import { limitsOn } from "../../src/gateway/config/usage_limits.ts";
import { failedConnections } from "./attempt_promises.ts";
import {
  isServed,
  lineOf,
  objects,
  type Promised,
  wasSent,
} from "./look_ups.ts";

/** The longest time in which a notice reaches another replica, in milliseconds. */
const NOTICE_MS = 2000;

/** The time after its first request in which a process may still read older notices from the store, in milliseconds. */
const FRESH_MS = 10_000;

/** The promises of docs/failover.md about moves of conversations. */
export const MOVE_PROMISES: Readonly<Record<string, Promised>> = {
  "a move's logged reason is true": function* (world) {
    const { config, log, providers } = world;
    const measured = new Set(
      providers.filter(({ quota }) => quota !== undefined)
        .map(({ name }) => name),
    );
    const troubled = failedConnections(world);
    for (const { fields } of log.entries) {
      const { moved_from, moved_for, attempts, token } = fields;
      if (moved_for === undefined) continue;
      const from = config.connections.find(({ name }) => name === moved_from);
      const caller = [...config.callers.values()]
        .find(({ name }) => name === token);
      const mayBeFull = from?.maxConcurrent !== undefined ||
        from?.queue !== undefined ||
        caller !== undefined && limitsOn(caller).length > 0;
      const failed = objects(attempts).some(({ connection, failure }) =>
        connection === moved_from && failure === moved_for
      );
      const isTrue = failed ||
        moved_for === "cooling_down" && troubled.has(moved_from) ||
        moved_for === "exhausted" && measured.has(String(moved_from)) ||
        moved_for === "full" && mayBeFull;
      if (!isTrue) yield `${fields.request_id} moved for ${moved_for}`;
    }
  },
  "a conversation moves only for a reason that the log names": function* (
    world,
  ) {
    const sessions = Map.groupBy(
      world.asked.filter(isServed),
      ({ conversation, model }) => `${conversation} ${model}`,
    );
    const bySession = Map.groupBy(
      world.asked,
      ({ conversation }) => conversation,
    );
    for (const turns of sessions.values()) {
      const all = bySession.get(turns[0]?.conversation ?? "") ?? [];
      for (const [at, one] of turns.entries()) {
        const before = turns[at - 1];
        if (before === undefined) continue;
        const isAfter = (before.endedMs ?? Infinity) < one.startedMs;
        const isAlone = all.every((other) =>
          other === one || other === before && isAfter ||
          (other.endedMs ?? Infinity) < before.startedMs ||
          other.startedMs > (one.endedMs ?? Infinity) || !wasSent(other, world)
        );
        const [from, to] = [lineOf(before, world), lineOf(one, world)];
        if (before.replica !== one.replica || one.ending === "lost") continue;
        const isOwn = from?.served_model === undefined &&
          to?.served_model === undefined;
        if (!isAlone || !isOwn || from?.connection === to?.connection) continue;
        // Another replica may have moved the conversation, and its notice may have come after the earlier request
        // began: within two seconds, or later to a process that had just started. That costs one more write of the
        // prompt cache, which is acceptable after a start.
        const isFresh = world.asked.every((other) =>
          other.replica !== before.replica ||
          other.startedMs > before.startedMs - FRESH_MS
        );
        const places = [to?.connection, to?.moved_from];
        const isHeard = all.some((other) =>
          other.replica !== one.replica && other.startedMs < one.startedMs &&
          (isFresh ||
            (other.endedMs ?? Infinity) > before.startedMs - NOTICE_MS) &&
          places.includes(lineOf(other, world)?.connection)
        );
        const isNamed = to?.moved_from === from?.connection &&
          to?.moved_for !== undefined;
        if (!isNamed && !isHeard) {
          yield `#${one.number} moved from ${from?.connection} to ${to?.connection} after #${before.number}`;
        }
      }
    }
  },
};
