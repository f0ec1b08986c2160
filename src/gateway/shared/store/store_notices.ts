import type { Config } from "../../config/config.ts";
import type { Deadlines } from "@gateway/base/time/deadlines";
import { parseJson } from "@gateway/base/json";
import type { Notice, Notices } from "../notice.ts";
import type { StoreLink } from "./store_link.ts";
import {
  fromStored,
  leftAfter,
  type StoredNotice,
  storedNoticeSchema,
  toStored,
} from "./wire.ts";

/** Notices between this process and the replicas. */
interface StoreNotices extends Notices {
  /** Stops reading notices. */
  close(): void;
}

interface StoreNoticesOptions {
  readonly link: StoreLink;
  /** The prefix of every key. */
  readonly prefix: string;
  /** The id of this process. */
  readonly id: string;
  readonly config: () => Config;
  readonly deadlines: Deadlines;
}

/** The interval between two reads of the store, in milliseconds. */
const POLL_MS = 100;

/**
 * The age of the oldest useful notice, in milliseconds. A provider's request to wait is followed for at most an hour.
 */
const MEMORY_MS = 3_600_000;

/** The approximate number of notices that the store keeps. */
const MAX_KEPT = {
  cool_down: 5000,
  quota: 500,
  conversation: 10_000,
  line: 200,
} as const;

/**
 * The stream of each kind of notice. Lessons share a stream with cool-downs, because both are rare and urgent. Notices
 * about quotas can wait for the next read of the store.
 */
const STREAM_BY_KIND = {
  cool_down: "cool_down",
  lesson: "cool_down",
  polled: "quota",
  harvested: "quota",
  placed: "conversation",
  line: "line",
} as const satisfies Record<StoredNotice["kind"], keyof typeof MAX_KEPT>;

/** The largest number of notices that wait while the store is away. The oldest notice is dropped first. */
const MAX_WAITING = 1000;

/** The shortest interval between two notices about the same quota in headers, in milliseconds. */
const HARVEST_PACE_MS = 5000;

const MAX_READ = 200;

/**
 * Creates the notices between replicas. A notice is an entry in a stream of the store. The clocks of replicas may
 * differ, so a notice holds remaining times instead of moments, and the store's clock measures the age of the notice.
 */
export function createStoreNotices(
  options: StoreNoticesOptions,
): StoreNotices {
  const { link, prefix, id, config, deadlines } = options;
  const streams = {
    cool_down: `${prefix}cool-downs`,
    quota: `${prefix}quotas`,
    conversation: `${prefix}conversations`,
    line: `${prefix}lines`,
  };
  const listeners: ((notice: Notice) => void)[] = [];
  const waiting: { readonly stored: StoredNotice; readonly atMs: number }[] =
    [];
  /** The time of the last notice about a connection's quota, by connection id. */
  const harvestSentMs = new Map<string, number>();
  /** The id of the last entry that was read, by stream. */
  let positions: ReadonlyMap<string, string> | undefined;
  /** The time of the store's clock minus the time of our monotonic clock, in milliseconds. */
  let aheadMs = 0;
  let isPolling = false;
  let isClosed = false;
  let cancel = () => {};

  function publish(notice: Notice): void {
    const stored = toStored(notice, config());
    if (stored === undefined || isTooSoon(notice)) return;
    // Notices about conversations and lines are sent again later. Waiting, they would take the space of cool-downs.
    const isRenewed = stored.kind === "placed" || stored.kind === "line";
    if (isRenewed && link.isAway) return;
    waiting.push({ stored, atMs: deadlines.elapsedMs() });
    if (waiting.length > MAX_WAITING) waiting.shift();
    if (STREAM_BY_KIND[stored.kind] !== "quota" && !link.isAway) sendWaiting();
  }

  function isTooSoon(notice: Notice): boolean {
    if (notice.kind !== "harvested") return false;
    const nowMs = deadlines.elapsedMs();
    const sentMs = harvestSentMs.get(notice.connectionId) ?? -Infinity;
    if (nowMs - sentMs < HARVEST_PACE_MS) return true;
    harvestSentMs.set(notice.connectionId, nowMs);
    return false;
  }

  function sendWaiting(): void {
    for (const { stored, atMs } of waiting.splice(0)) {
      const left = leftAfter(stored, deadlines.elapsedMs() - atMs);
      if (left === undefined) continue;
      const kind = STREAM_BY_KIND[stored.kind];
      const command = ["XADD", streams[kind], "MAXLEN", "~"];
      const entry = ["*", "from", id, "notice", JSON.stringify(left)];
      link.send([...command, String(MAX_KEPT[kind]), ...entry]).catch(() => {});
      link.send(["PEXPIRE", streams[kind], String(2 * MEMORY_MS)])
        .catch(() => {});
    }
  }

  async function poll(): Promise<void> {
    if (link.isAway || isPolling || isClosed) return;
    isPolling = true;
    try {
      positions ??= await findBeginning();
      sendWaiting();
      await readNotices(positions);
    } catch {
      // The link reports the failure. Reading resumes when the store is back.
    } finally {
      isPolling = false;
    }
    pollLater();
  }

  function pollLater(): void {
    cancel();
    if (!isClosed) cancel = deadlines.start(POLL_MS, poll);
  }

  async function findBeginning(): Promise<ReadonlyMap<string, string>> {
    const reply = await link.send(["TIME"]);
    const [seconds, microseconds] = Array.isArray(reply) ? reply : [];
    const nowMs = Number(seconds) * 1000 + Number(microseconds) / 1000;
    aheadMs = nowMs - deadlines.elapsedMs();
    const since = String(Math.max(0, Math.floor(nowMs - MEMORY_MS)));
    return new Map(Object.values(streams).map((stream) => [stream, since]));
  }

  async function readNotices(
    before: ReadonlyMap<string, string>,
  ): Promise<void> {
    const places = [...before.keys(), ...before.values()];
    const reply = await link.send(
      ["XREAD", "COUNT", String(MAX_READ), "STREAMS", ...places],
    );
    const next = new Map(before);
    for (const { stream, entryId, fields } of entriesOf(reply)) {
      next.set(stream, entryId);
      handle(entryId, fields);
    }
    positions = next;
  }

  function handle(entryId: string, fields: ReadonlyMap<string, string>): void {
    if (fields.get("from") === id) return;
    const text = fields.get("notice") ?? "";
    const { success, data } = storedNoticeSchema.safeParse(parseJson(text));
    if (!success) return;
    const sentMs = Number.parseInt(entryId);
    const ageMs = deadlines.elapsedMs() + aheadMs - sentMs;
    const left = leftAfter(data, Math.max(0, ageMs));
    const notice = left && fromStored(left, config());
    if (notice === undefined) return;
    for (const listener of listeners) listener(notice);
  }

  link.onChange((isAway) => {
    for (const listener of listeners) listener({ kind: "store", isAway });
    // A store that was away may have been replaced by a store with another clock.
    positions = undefined;
    poll();
  });
  return {
    publish,
    onNotice: (listener) => void listeners.push(listener),
    close() {
      isClosed = true;
      cancel();
    },
  };
}

/** An entry of a stream. */
interface StreamEntry {
  readonly stream: string;
  /** Milliseconds since 1970 by the store's clock, a hyphen, and a counter. */
  readonly entryId: string;
  readonly fields: ReadonlyMap<string, string>;
}

/**
 * Yields the entries in a reply of `XREAD`. The reply is a list of streams, each with a list of entries. It is null
 * when there are no entries.
 */
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
