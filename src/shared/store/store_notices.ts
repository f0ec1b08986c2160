import type { Config } from "../../config/config.ts";
import type { Deadlines } from "../../core/time/deadlines.ts";
import { parseJson } from "../../core/json.ts";
import type { Notice, Notices } from "../notice.ts";
import type { StoreLink } from "./store_link.ts";
import {
  fromStored,
  leftAfter,
  type StoredNotice,
  storedNoticeSchema,
  toStored,
} from "./wire.ts";

/** Tells replicas what this process learned, and the other way round. */
interface StoreNotices extends Notices {
  /** Ends the looking for news. */
  close(): void;
}

/** What {@linkcode createStoreNotices} works with. */
interface StoreNoticesOptions {
  readonly link: StoreLink;
  /** Before every key. */
  readonly prefix: string;
  /** Of this process, to be told from all others. */
  readonly id: string;
  readonly config: () => Config;
  readonly deadlines: Deadlines;
}

/** Between two looks at the store, in milliseconds. */
const LOOK_MS = 150;

/** A provider's request to wait counts for an hour at most, in milliseconds; nothing older is of use. */
const MEMORY_MS = 3_600_000;

/** How many of the last notices the store keeps, about. */
const MAX_KEPT = { cool_down: 5000, quota: 500 } as const;

/** How many wait to be told while the store is away; the oldest go first. */
const MAX_WAITING = 1000;

/** What headers tell of one quota is told to replicas so often at most, in milliseconds. */
const HARVEST_PACE_MS = 5000;

const MAX_READ = 200;

/**
 * Notices in two streams of the store: cool-downs, and quotas. Times are told as what is left of them, and the
 * store's clock alone says how old a notice is, so that the clocks of replicas may differ.
 */
export function createStoreNotices(
  options: StoreNoticesOptions,
): StoreNotices {
  const { link, prefix, id, config, deadlines } = options;
  const streams = {
    cool_down: `${prefix}cool-downs`,
    quota: `${prefix}quotas`,
  };
  const listeners: ((notice: Notice) => void)[] = [];
  const waiting: { readonly stored: StoredNotice; readonly atMs: number }[] =
    [];
  /** When the quota of a connection was told last, by its id. */
  const harvestToldMs = new Map<string, number>();
  let positions: readonly [string, string] | undefined;
  /** What the store's clock is ahead of ours that never jumps, in milliseconds. */
  let aheadMs = 0;
  let isLooking = false;
  let isClosed = false;
  let cancel = () => {};

  function tell(notice: Notice): void {
    const stored = toStored(notice, config());
    if (stored === undefined || isTooSoon(notice)) return;
    waiting.push({ stored, atMs: deadlines.elapsedMs() });
    if (waiting.length > MAX_WAITING) waiting.shift();
    if (stored.kind === "cool_down" && !link.isAway) sendWaiting();
  }

  function isTooSoon(notice: Notice): boolean {
    if (notice.kind !== "harvested") return false;
    const nowMs = deadlines.elapsedMs();
    const toldMs = harvestToldMs.get(notice.connectionId) ?? -Infinity;
    if (nowMs - toldMs < HARVEST_PACE_MS) return true;
    harvestToldMs.set(notice.connectionId, nowMs);
    return false;
  }

  function sendWaiting(): void {
    for (const { stored, atMs } of waiting.splice(0)) {
      const left = leftAfter(stored, deadlines.elapsedMs() - atMs);
      if (left === undefined) continue;
      const kind = stored.kind === "cool_down" ? "cool_down" : "quota";
      const command = ["XADD", streams[kind], "MAXLEN", "~"];
      const entry = ["*", "from", id, "notice", JSON.stringify(left)];
      link.send([...command, String(MAX_KEPT[kind]), ...entry]).catch(() => {});
      link.send(["PEXPIRE", streams[kind], String(2 * MEMORY_MS)])
        .catch(() => {});
    }
  }

  async function look(): Promise<void> {
    if (link.isAway || isLooking || isClosed) return;
    isLooking = true;
    try {
      positions ??= await findBeginning();
      sendWaiting();
      await readNews(positions);
    } catch {
      // The link knows, and looks again when the store is back.
    } finally {
      isLooking = false;
    }
    lookLater();
  }

  function lookLater(): void {
    cancel();
    if (!isClosed) cancel = deadlines.start(LOOK_MS, look);
  }

  async function findBeginning(): Promise<readonly [string, string]> {
    const reply = await link.send(["TIME"]);
    const [seconds, microseconds] = Array.isArray(reply) ? reply : [];
    const nowMs = Number(seconds) * 1000 + Number(microseconds) / 1000;
    aheadMs = nowMs - deadlines.elapsedMs();
    const since = String(Math.max(0, Math.floor(nowMs - MEMORY_MS)));
    return [since, since];
  }

  async function readNews(
    [coolDowns, quotas]: readonly [string, string],
  ): Promise<void> {
    const reply = await link.send([
      ...["XREAD", "COUNT", String(MAX_READ), "STREAMS"],
      ...[streams.cool_down, streams.quota, coolDowns, quotas],
    ]);
    const next = new Map([
      [streams.cool_down, coolDowns],
      [streams.quota, quotas],
    ]);
    for (const { stream, entryId, fields } of entriesOf(reply)) {
      next.set(stream, entryId);
      hear(entryId, fields);
    }
    positions = [
      next.get(streams.cool_down) ?? coolDowns,
      next.get(streams.quota) ?? quotas,
    ];
  }

  function hear(entryId: string, fields: ReadonlyMap<string, string>): void {
    if (fields.get("from") === id) return;
    const text = fields.get("notice") ?? "";
    const { success, data } = storedNoticeSchema.safeParse(parseJson(text));
    if (!success) return;
    const toldMs = Number.parseInt(entryId);
    const ageMs = deadlines.elapsedMs() + aheadMs - toldMs;
    const left = leftAfter(data, Math.max(0, ageMs));
    const notice = left && fromStored(left, config());
    if (notice === undefined) return;
    for (const listener of listeners) listener(notice);
  }

  link.onChange((isAway) => {
    for (const listener of listeners) listener({ kind: "store", isAway });
    // A store that was away may be another one, with another clock.
    positions = undefined;
    look();
  });
  return {
    tell,
    onHear: (listener) => void listeners.push(listener),
    close() {
      isClosed = true;
      cancel();
    },
  };
}

/** An entry of a stream. */
interface StreamEntry {
  readonly stream: string;
  /** Milliseconds since 1970 by the store's clock, and a counter behind a hyphen. */
  readonly entryId: string;
  readonly fields: ReadonlyMap<string, string>;
}

/** The entries in a reply of `XREAD`: a list of streams, each with a list of entries; null when there are none. */
function* entriesOf(reply: unknown): Iterable<StreamEntry> {
  for (const one of listOf(reply)) {
    const [stream, entries] = listOf(one);
    for (const entry of listOf(entries)) {
      const [entryId, parts] = listOf(entry);
      const texts = listOf(parts).map(String);
      const fields = new Map<string, string>();
      for (let index = 0; index + 1 < texts.length; index += 2) {
        fields.set(texts[index] ?? "", texts[index + 1] ?? "");
      }
      yield { stream: String(stream), entryId: String(entryId), fields };
    }
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
