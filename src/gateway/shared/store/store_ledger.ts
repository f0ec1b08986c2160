import { memoized } from "@gateway/base/memo";
import type { Clock } from "@gateway/base/time/timers";
import { type Hold, HOLD_MS, holdsOf } from "../../usage/sums.ts";
import type { Ledger } from "../ledger.ts";
import { StoreError, type StoreLink, type StoreScript } from "./store_link.ts";
import { digestOf } from "@gateway/base/sha256";
import applyBatchLua from "./apply_batch.lua" with { type: "text" };
import reserveLua from "./reserve.lua" with { type: "text" };

/** The dependencies of a store's ledger. */
interface StoreLedgerOptions {
  readonly link: StoreLink;
  /** The prefix of every key. */
  readonly prefix: string;
  readonly clock: Pick<Clock, "now">;
}

/**
 * The time for which a table stays in the store after the end of its window, in milliseconds. The clocks of replicas
 * may differ by this much.
 */
const GRACE_MS = 3_600_000;

const MAX_KNOWN_DIGESTS = 50_000;

/**
 * The time for which the store remembers a batch, in milliseconds. The time exceeds the life of any sum, so that a
 * batch counts once even when the batch is sent again much later.
 */
const BATCH_MS = 42 * 86_400_000;

const APPLY: StoreScript = { lua: applyBatchLua };
const RESERVE: StoreScript = { lua: reserveLua };

/** The scripts of a ledger. */
export const LEDGER_SCRIPTS: readonly StoreScript[] = [APPLY, RESERVE];

/**
 * Creates a ledger in the store that all replicas share: a hash for each table, and a sorted set for the holds of each
 * limit. Holds expire by the store's clock. The sums are only in the store: if the store loses them, they are lost.
 */
export function createStoreLedger(
  { link, prefix, clock }: StoreLedgerOptions,
): Ledger {
  const sinceKey = `${prefix}since`;
  const knownDigest = memoized(digestOf, MAX_KNOWN_DIGESTS);

  function keyOf(kind: "sums" | "holds" | "once", name: string): string {
    return `${prefix}${kind}:${knownDigest(name)}`;
  }

  return {
    get isAway() {
      return link.isAway;
    },
    async apply({ id, additions, holds, releases }) {
      const keys = createKeyList(`${prefix}${id.replace("_", ":")}`, sinceKey);
      const held = (hold: Hold) => ({
        key: keys.placeOf(keyOf("holds", hold.key)),
        member: memberOf(hold),
      });
      const batch = {
        batch_ms: BATCH_MS,
        hold_ms: HOLD_MS,
        additions: additions.map(({ table, endsAtMs, isLife, amounts }) => ({
          key: keys.placeOf(keyOf("sums", table)),
          ends_at_ms: isLife ? endsAtMs : endsAtMs + GRACE_MS,
          amounts: amounts.map(({ field, amount }) => [
            // The parser of the store rejects half of a surrogate pair.
            field.toWellFormed(),
            String(amount),
          ]),
        })),
        holds: holds.map(held),
        releases: releases.map(held),
      };
      await link.run(APPLY, keys.all, [JSON.stringify(batch)]);
    },
    async reserve({ id, claims }) {
      const keys = createKeyList(sinceKey);
      const members = new Map(
        holdsOf(id, claims).map((hold) => [hold.key, memberOf(hold)]),
      );
      const request = {
        id,
        hold_ms: HOLD_MS,
        claims: claims.map(({ sums, key, amount, most }) => ({
          table: keys.placeOf(keyOf("sums", sums[0]?.table ?? "")),
          holds: keys.placeOf(keyOf("holds", key)),
          member: members.get(key),
          amount,
          most: Math.min(most, Number.MAX_SAFE_INTEGER),
          is_life: sums[0]?.isLife,
          fields: sums.map(({ field }) => field.toWellFormed()),
        })),
      };
      const [isGranted, since, ...uses] = listOf(
        await link.run(RESERVE, keys.all, [JSON.stringify(request)]),
      );
      return {
        isGranted: isGranted === 1,
        uses: uses.map((use, index) => {
          const [held = 0, ...counted] = listOf(use).map(Number);
          if (!claims[index]?.sums[0]?.isLife) return { counted, held };
          const leftMs = counted.pop() ?? 0;
          const endsAtMs = leftMs > 0 ? clock.now() + leftMs : undefined;
          return { counted, held, endsAtMs };
        }),
        sinceMs: sinceOf(since),
      };
    },
    async table(name) {
      const [since, reply] = await Promise.all([
        link.send(["GET", sinceKey]),
        link.send(["HGETALL", keyOf("sums", name)]),
      ]);
      const found = listOf(reply);
      const values = new Map<string, number>();
      for (let index = 0; index + 1 < found.length; index += 2) {
        values.set(String(found[index]), Number(found[index + 1]));
      }
      return { values, sinceMs: sinceOf(since) };
    },
    async once({ name, endsAtMs }) {
      const key = keyOf("once", name);
      const lifetimeMs = Math.max(0, endsAtMs - clock.now()) + GRACE_MS;
      return await link.send(
        ["SET", key, "1", "NX", "PX", String(lifetimeMs)],
      ) !== null;
    },
  };
}

/** Returns the member for a hold in the set of its limit. */
function memberOf({ id, amount }: Hold): string {
  return `${amount} ${id}`;
}

/** Collects the keys of a script without repetitions. */
function createKeyList(...first: readonly string[]) {
  const places = new Map(first.map((key, index) => [key, index + 1]));
  return {
    /** Returns the index of a key, from 1. */
    placeOf(key: string): number {
      const place = places.get(key) ?? places.size + 1;
      places.set(key, place);
      return place;
    },
    get all(): readonly string[] {
      return [...places.keys()];
    },
  };
}

function listOf(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new StoreError("REPLY");
  return reply;
}

/** Returns milliseconds since 1970; `undefined` when the script returned `false`. The store sends `false` as null. */
function sinceOf(reply: unknown): number | undefined {
  return typeof reply === "string" ? Number(reply) : undefined;
}
