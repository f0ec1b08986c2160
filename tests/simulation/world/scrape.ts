import { formatExposition } from "../../../src/gateway/observe/exposition.ts";
import type { GatewayState } from "../../../src/gateway/observe/metrics.ts";
import {
  readExposition,
  type Sample,
} from "../../support/gateway/exposition.ts";
import type { Replica } from "./replica.ts";

const NOTHING: GatewayState = { inFlight: 0, bodyMemoryBytes: 0, quotas: [] };

/** Returns the sums of all processes' metrics, in the form of a scrape. */
export async function scrape(
  replicas: readonly Replica[],
): Promise<readonly Sample[]> {
  const snapshots = replicas.flatMap(({ metrics }) => metrics)
    .map((one) => one.collect(NOTHING));
  return readExposition(await formatExposition(await Promise.all(snapshots)));
}
