import type { Config } from "../config/config.ts";
import type { Harvest } from "../limits/harvest.ts";
import { fromPlain } from "../limits/plain_reading.ts";
import type { Poller } from "../limits/poller.ts";
import { isGood } from "../limits/reading.ts";
import type { Health } from "../relay/routing/health.ts";
import type { Notice } from "./notice.ts";

/** What learns from what others tell. */
export interface Learners {
  readonly poller: Pick<Poller, "learn">;
  readonly health?: Pick<Health, "follow">;
  readonly harvest?: Pick<Harvest, "learn">;
}

/** Lets those whom a notice concerns learn it, as far as the configuration has what it is about. */
export function followNotice(
  notice: Notice,
  { health, poller, harvest }: Learners,
  config: Pick<Config, "connections">,
): void {
  if (notice.kind === "store") return;
  if (notice.kind === "cool_down") {
    return health?.follow(notice.coolDown, config);
  }
  const connection = config.connections
    .find(({ id }) => id === notice.connectionId);
  if (connection === undefined) return;
  const reading = fromPlain(notice.reading);
  if (notice.kind === "polled") {
    return poller.learn(connection, { reading, ttlMs: notice.ttlMs });
  }
  if (isGood(reading)) harvest?.learn(connection, reading);
}
