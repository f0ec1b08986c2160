import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { LogEntry } from "../support/fakes/memory_log.ts";
import type { World } from "./history.ts";
import type { Asked } from "./world/caller.ts";
import type { LedgerEntry } from "./world/provider.ts";

/** Checks a promise of the documents. Yields a line for each breach, with the request's `#number`. */
export type Promised = (world: World) => Iterable<string>;

/** The requests of a history, the attempts that providers received, and the log, each by request. */
interface Index {
  readonly asked: ReadonlyMap<number, Asked>;
  readonly entries: ReadonlyMap<number, LedgerEntry[]>;
  readonly lines: ReadonlyMap<unknown, LogEntry["fields"]>;
}

/** An index for each history that is over: nothing in it changes any more. */
const INDEXES = new WeakMap<World, Index>();

function indexOf(world: World): Index {
  const known = INDEXES.get(world);
  if (known !== undefined) return known;
  const lines = world.log.entries.filter(({ event }) => event === "request")
    .map(({ fields }) => [fields.request_id, fields] as const);
  const index = {
    asked: new Map(world.asked.map((one) => [one.number, one])),
    entries: Map.groupBy(world.ledger, ({ request }) => request),
    // The first line of a request counts.
    lines: new Map(lines.reverse()),
  };
  INDEXES.set(world, index);
  return index;
}

/** Returns the request with a number. */
export function askedOf(number: number, world: World): Asked | undefined {
  return indexOf(world).asked.get(number);
}

/** Returns the attempts of a request that providers received, in order. */
export function attemptsOf(
  { number }: Asked,
  world: World,
): readonly LedgerEntry[] {
  return indexOf(world).entries.get(number) ?? [];
}

/** Returns the line of a request in the log. */
export function lineOf(
  { headers }: Asked,
  world: World,
): LogEntry["fields"] | undefined {
  return indexOf(world).lines.get(headers?.get("x-request-id"));
}

/** Yields each request with the attempts that providers received. */
export function* exchanges(
  world: World,
): Iterable<readonly [one: Asked, entries: readonly LedgerEntry[]]> {
  for (const one of world.asked) yield [one, attemptsOf(one, world)];
}

/** Returns how many logged requests the starts of processes did not count, because their token was not in the file. */
export function unknownAtStarts({ log }: World): number {
  return sumOf(
    log.entries.filter(({ event }) => event === "usage_replayed"),
    ({ fields }) => Number(fields.unknown_token),
  );
}

/** Returns true when the request's process may have ended before it wrote the request's line. */
export function mayLackLine(
  { ending, replica }: Asked,
  { replicas }: World,
): boolean {
  if (replica === undefined) return true;
  if (ending === "complete" || ending === "broken") return false;
  const hasEnded = replicas.some(({ name, starts }) =>
    replica.startsWith(`${name}.`) && replica !== `${name}.${starts}`
  );
  return hasEnded || ending === "lost";
}

/** Returns true when the caller got 200. */
export function isServed(one: Asked): boolean {
  return one.status === 200;
}

/** Returns true when a provider received the request. */
export function wasSent(one: Asked, world: World): boolean {
  return attemptsOf(one, world).length > 0;
}

/** Returns the sum of the amounts of a list. */
export function sumOf<One>(
  list: readonly One[],
  amountOf: (one: One) => number,
): number {
  return list.reduce((sum, one) => sum + amountOf(one), 0);
}

/** Returns the objects in a JSON list; none for any other value. */
export function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

const SESSION_MS = 24 * 3600_000;

/**
 * Returns the start of the limit window of a request's session, in milliseconds since 1970. The window lasts a day from
 * the first request that was sent.
 */
export function sessionStartOf(one: Asked, world: World): number {
  const starts = world.asked.filter((other) =>
    other.agent.name === one.agent.name &&
    other.conversation === one.conversation &&
    attemptsOf(other, world).length > 0 && other.startedMs <= one.startedMs
  ).map(({ startedMs }) => startedMs).sort((first, second) => first - second);
  const firstMs = starts.reduce(
    (begun, startedMs) => startedMs < begun + SESSION_MS ? begun : startedMs,
    -Infinity,
  );
  return world.time.startMs + firstMs;
}
