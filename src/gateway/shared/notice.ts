import type { Config } from "../config/config.ts";
import type { Harvest } from "../quotas/harvest.ts";
import { fromPlain, isGood, type PlainReading } from "../quotas/reading.ts";
import type { Poller } from "../quotas/poller.ts";
import type { Queue } from "../relay/queue/queue.ts";
import type { LineNews } from "../relay/queue/shared_line.ts";
import type { CoolDown } from "../relay/routing/cool_down.ts";
import type {
  Conversations,
  PlacedConversation,
} from "../relay/routing/conversations.ts";
import type {
  LessonBook,
  TaughtLesson,
} from "../relay/translated/lesson_book.ts";
import type { Health } from "../relay/routing/health.ts";
import type { SessionNews } from "../usage/recent_sessions.ts";
import type { UsageService } from "../usage/service.ts";

/** News that one gateway sends to the other gateways, as plain data that threads can send to each other. */
export type Notice =
  | ({ readonly kind: "cool_down" } & CoolDown)
  | ({ readonly kind: "lesson" } & TaughtLesson)
  /** A quota that an endpoint reported. */
  | {
    readonly kind: "polled";
    readonly connectionId: string;
    readonly reading: PlainReading;
    /** The remaining time for which the reading is valid, in milliseconds. */
    readonly ttlMs: number;
  }
  /** A quota in the headers of a response. */
  | {
    readonly kind: "harvested";
    readonly connectionId: string;
    readonly reading: PlainReading;
  }
  | ({ readonly kind: "placed" } & PlacedConversation)
  | ({ readonly kind: "line" } & LineNews)
  /** A session of a caller that has a limit per session; only for the threads of this process. */
  | ({ readonly kind: "session" } & SessionNews)
  /** An attempt failed because of a shortage of the machine. All threads share the machine. */
  | { readonly kind: "shortage" }
  /** A change of the connection to the store that replicas share. */
  | { readonly kind: "store"; readonly isAway: boolean };

/** The channel to the other gateways. The functions of the channel do not throw or wait. */
export interface Notices {
  /** Sends a notice to all other gateways. */
  publish(notice: Notice): void;
  /** Calls `listener` with the notices of other gateways from now on, never with the notices of this gateway. */
  onNotice(listener: (notice: Notice) => void): void;
}

/** The parts of a gateway that use notices. */
interface NoticeTargets {
  readonly poller: Pick<Poller, "learn">;
  readonly health?: Pick<
    Health,
    "follow" | "noteReading" | "noteUsedUp" | "noteShortage"
  >;
  readonly harvest?: Pick<Harvest, "learn">;
  readonly conversations?: Pick<Conversations, "follow">;
  readonly lessonBook?: Pick<LessonBook, "follow">;
  readonly queue?: Pick<Queue, "follow">;
  readonly usage?: Pick<UsageService, "follow">;
}

/** Passes a notice to the parts that need it. Ignores a notice about a connection that is not configured. */
export function followNotice(
  notice: Notice,
  { health, poller, harvest, lessonBook, conversations, queue, usage }:
    NoticeTargets,
  config: Pick<Config, "connections">,
): void {
  if (notice.kind === "store") return;
  if (notice.kind === "session") return usage?.follow(notice);
  if (notice.kind === "shortage") return health?.noteShortage();
  if (notice.kind === "cool_down") {
    return health?.follow(notice, config);
  }
  if (notice.kind === "lesson") {
    return lessonBook?.follow(notice, config);
  }
  const connection = config.connections
    .find(({ id }) => id === notice.connectionId);
  if (connection === undefined) return;
  if (notice.kind === "line") return queue?.follow(notice);
  if (notice.kind === "placed") return conversations?.follow(notice);
  const reading = fromPlain(notice.reading);
  if (isGood(reading)) health?.noteReading(connection, () => reading);
  if (notice.kind === "polled") {
    if (isGood(reading)) health?.noteUsedUp(connection, reading);
    return poller.learn(connection, { reading, ttlMs: notice.ttlMs });
  }
  if (isGood(reading)) harvest?.learn(connection, reading);
}
