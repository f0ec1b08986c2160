import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { LogEntry } from "../support/fakes/memory_log.ts";
import type { World } from "./history.ts";
import type { Asked } from "./world/caller.ts";
import type { LedgerEntry } from "./world/provider.ts";

/** A promise of docs/design.md. Yields a line for each time that it was broken, with the request's `#number`. */
export type Promised = (world: World) => Iterable<string>;

/** What a history has about each request. */
interface Index {
  readonly asked: ReadonlyMap<number, Asked>;
  readonly entries: ReadonlyMap<number, LedgerEntry[]>;
  readonly lines: ReadonlyMap<unknown, LogEntry["fields"]>;
}

/** The promises look a world up when it is over, so that nothing changes any more. */
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

/** Returns what the providers received of a request, in order. */
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

/** Yields each request with what the providers received of it. */
export function* exchanges(
  world: World,
): Iterable<readonly [one: Asked, entries: readonly LedgerEntry[]]> {
  for (const one of world.asked) yield [one, attemptsOf(one, world)];
}

/** Returns how many logged requests did not count at the starts of processes, because their token was out of the file. */
export function unknownAtStarts({ log }: World): number {
  return sumOf(
    log.entries.filter(({ event }) => event === "usage_replayed"),
    ({ fields }) => Number(fields.unknown_token),
  );
}

/** Returns true when the process of a request ended before it could log it. */
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

/** Returns the objects of a list in JSON. */
export function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

const LIFE_MS = 24 * 3600_000;

/**
 * Returns the start of the life of a request's session, in milliseconds since 1970. A life has a day from its first
 * request that was sent.
 */
export function lifeOf(one: Asked, world: World): number {
  const starts = world.asked.filter((other) =>
    other.agent.name === one.agent.name &&
    other.conversation === one.conversation &&
    attemptsOf(other, world).length > 0 && other.startedMs <= one.startedMs
  ).map(({ startedMs }) => startedMs).sort((first, second) => first - second);
  const life = starts.reduce(
    (begun, startedMs) => startedMs < begun + LIFE_MS ? begun : startedMs,
    -Infinity,
  );
  return world.time.startMs + life;
}
