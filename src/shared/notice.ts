import type { Config } from "../config/config.ts";
import type { Harvest } from "../quotas/harvest.ts";
import { fromPlain, isGood, type PlainReading } from "../quotas/reading.ts";
import type { Poller } from "../quotas/poller.ts";
import type { CoolDown } from "../relay/routing/cool_down.ts";
import type { Health } from "../relay/routing/health.ts";

/** What one gateway learned and the others should know: data alone, to be sent to another thread. */
export type Notice =
  | { readonly kind: "cool_down"; readonly coolDown: CoolDown }
  /** A quota that an endpoint told. */
  | {
    readonly kind: "polled";
    readonly connectionId: string;
    readonly reading: PlainReading;
    /** How long it stands yet, in milliseconds. */
    readonly ttlMs: number;
  }
  /** A quota that the headers of an answer told. */
  | {
    readonly kind: "harvested";
    readonly connectionId: string;
    readonly reading: PlainReading;
  }
  /** Whether the store that replicas share can be reached. */
  | { readonly kind: "store"; readonly isAway: boolean };

/** A way to the other gateways. Neither function throws or waits. */
export interface Notices {
  /** Tells all others. */
  tell(notice: Notice): void;
  /** Calls `listener` with what others tell from now on, never with what this one tells. */
  onHear(listener: (notice: Notice) => void): void;
}

/** What learns from what others tell. */
interface Learners {
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
