import type { Fault } from "./fault.ts";
import { EXCHANGE_FAULTS } from "./exchange.ts";
import { IDENTITY_FAULTS } from "./identity.ts";
import { LESSON_FAULTS } from "./lessons.ts";
import { QUEUE_FAULTS } from "./queue.ts";
import { RELAY_FAULTS } from "./relay.ts";
import { ROUTING_FAULTS } from "./routing.ts";
import { SHARED_FAULTS } from "./shared.ts";
import { UPSTREAM_FAULTS } from "./upstream.ts";
import { USAGE_FAULTS } from "./usage.ts";

const ROOT = new URL("../../../", import.meta.url);

/** A fault with its place. */
export interface PlacedFault extends Fault {
  readonly group: string;
  readonly file: string;
}

/** Every fault. */
export const FAULTS: readonly PlacedFault[] = Object.entries({
  relay: RELAY_FAULTS,
  routing: ROUTING_FAULTS,
  usage: USAGE_FAULTS,
  upstream: UPSTREAM_FAULTS,
  shared: SHARED_FAULTS,
  identity: IDENTITY_FAULTS,
  queue: QUEUE_FAULTS,
  exchange: EXCHANGE_FAULTS,
  lessons: LESSON_FAULTS,
}).flatMap(([group, byFile]) =>
  Object.entries(byFile).flatMap(([file, all]) =>
    all.map((fault) => ({ ...fault, file, group }))
  )
);

/**
 * Returns the problems of the table: texts that their file does not have exactly once, and names that are not unique.
 */
export async function problemsOf(
  all: readonly PlacedFault[],
): Promise<string[]> {
  const found: string[] = [];
  const names = new Set<string>();
  for (const { name, file, text } of all) {
    const source = await Deno.readTextFile(new URL(`src/${file}`, ROOT))
      .catch(() => "");
    const count = source.split(text).length - 1;
    if (count !== 1) {
      found.push(
        `Cannot plant "${name}": src/${file} has its text ${count} times. Bring the table up to date.`,
      );
    }
    if (names.has(name)) found.push(`Two faults have the name "${name}".`);
    names.add(name);
  }
  return found;
}
