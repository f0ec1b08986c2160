import type { Clock } from "../../core/time/clock.ts";
import type { Reservation } from "../../usage/sums.ts";
import type {
  Batch,
  RemoteLedger,
  RemoteReservation,
} from "../sums/remote_ledger.ts";
import { StoreError } from "./connection.ts";
import { digestOf } from "./keys.ts";
import { APPLY, HIDDEN, NAME, RESERVE } from "./scripts.ts";
import type { StoreLink } from "./store_link.ts";

/** What {@linkcode createStoreLedger} works with. */
export interface StoreLedgerOptions {
  readonly link: StoreLink;
  /** Before every key. */
  readonly prefix: string;
  /** Of this process, to be told from all others. */
  readonly id: string;
  readonly clock: Pick<Clock, "now">;
  /** Told since when the store has sums, in milliseconds since 1970, as soon as it can be reached. */
  readonly onNamed: (sinceMs: number) => void;
}

/** A table stays so much longer than its window, in milliseconds, since clocks differ. */
const GRACE_MS = 3_600_000;

/** The keys of so many tables are remembered, which saves digests. */
const MAX_KNOWN_KEYS = 50_000;

/** Keeps sums in the store, which all replicas reach: a hash for each table. */
export function createStoreLedger(
  { link, prefix, id, clock, onNamed }: StoreLedgerOptions,
): RemoteLedger {
  const nameKey = `${prefix}name`;
  const tableKeys = new Map<string, string>();
  /** What the store is called since this process knows it, by which a loss shows. */
  let name: Promise<string> | undefined;
  let knownName = "";

  function tableKey(table: string): string {
    const known = tableKeys.get(table);
    if (known !== undefined) return known;
    if (tableKeys.size >= MAX_KNOWN_KEYS) tableKeys.clear();
    const key = `${prefix}sums:${digestOf(table)}`;
    tableKeys.set(table, key);
    return key;
  }

  async function askName(): Promise<string> {
    const wanted = `${clock.now()} ${id}`;
    knownName = String(await link.run(NAME, [nameKey], [wanted]));
    onNamed(Number.parseInt(knownName));
    return knownName;
  }

  /** Waits only the first time: what is sent first must be done first. */
  async function learnName(): Promise<void> {
    name ??= askName();
    try {
      await name;
    } catch (error) {
      name = undefined;
      throw error;
    }
  }

  function isLost(told: readonly string[]): boolean {
    if (told[0] !== "lost") return false;
    name = undefined;
    knownName = "";
    return true;
  }

  return {
    get isAway() {
      return link.isAway;
    },
    async apply({ number, losses, operations }: Batch) {
      if (knownName === "") await learnName();
      const batchKey = `${prefix}batch:${id}:${losses}`;
      const keys = createKeyList(nameKey, batchKey);
      const args = operations.flatMap(({ kind, sum, amount, known }) => [
        ...[kind, keys.placeOf(tableKey(sum.table))],
        ...[sum.field, amount, known, sum.endsAtMs + GRACE_MS],
      ]);
      const told = textsOf(
        await link.run(APPLY, keys.all, [knownName, number, ...args]),
      );
      return isLost(told) ? "lost" : told.map(Number);
    },
    async reserve(list) {
      if (knownName === "") await learnName();
      const keys = createKeyList(nameKey);
      const args = list.flatMap(({ sum, amount, most }: Reservation) => [
        ...[keys.placeOf(tableKey(sum.table)), sum.field, amount],
        ...[Math.min(most, Number.MAX_SAFE_INTEGER), sum.endsAtMs + GRACE_MS],
      ]);
      const told = textsOf(
        await link.run(RESERVE, keys.all, [knownName, ...args]),
      );
      return isLost(told) ? "lost" : reservationOf(told);
    },
    async table(table) {
      const told = textsOf(await link.send(["HGETALL", tableKey(table)]));
      const values = new Map<string, number>();
      for (let index = 0; index + 1 < told.length; index += 2) {
        const field = told[index] ?? "";
        if (field.startsWith(HIDDEN)) continue;
        values.set(field, Number(told[index + 1]));
      }
      return values;
    },
  };
}

/** The keys of a script, each once. */
function createKeyList(...first: readonly string[]) {
  const places = new Map(first.map((key, index) => [key, index + 1]));
  return {
    /** Where a key stands, from 1. */
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

function reservationOf(told: readonly string[]): RemoteReservation {
  const [word, ...rest] = told;
  if (word === "added") return { values: rest.map(Number) };
  const [place, used] = rest;
  return { refused: Number(place), used: Number(used) };
}

/** The elements of a list that the store answered; scripts are told whole numbers as numbers. */
function textsOf(reply: unknown): readonly string[] {
  if (!Array.isArray(reply)) throw new StoreError("REPLY");
  return reply.map(String);
}
