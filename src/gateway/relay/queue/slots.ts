import type { Deployment } from "../../config/config.ts";
import type { Ids } from "@gateway/base/ids";
import type { Cancel, Deadlines } from "@gateway/base/time/deadlines";
import type { Clock } from "@gateway/base/time/timers";
import type { WaitWord } from "../../observe/facts.ts";
import { type Admission, shuttingDown } from "../request/admission.ts";
import { tokenDigest } from "../routing/cool_down.ts";
import { AdaptiveLimit } from "./adaptive_limit.ts";
import { isBackground } from "./background.ts";
import { RecentUse } from "./recent_use.ts";
import {
  type LineLoad,
  type LineNews,
  type OwnLine,
  SharedLine,
} from "./shared_line.ts";
import {
  keyOf,
  keyOfIds,
  type NextWaiter,
  type RankedGroup,
  type Waiting,
  WaitingLine,
} from "./waiting_line.ts";

/** A deployment that has no room for a request now. */
export interface WaitingPlace {
  readonly deployment: Deployment;
  /**
   * The known time until the deployment can have room, in milliseconds; 0 when a slot may become free at any moment.
   */
  readonly restMs: number;
  readonly why: WaitWord;
  /** The longest time that the request may wait for the deployment in all, in milliseconds. */
  readonly mostMs: number;
}

/**
 * How a wait ended. If it ended as `full`, `expectedMs` is the time after which the request could be served, if known.
 */
export type WaitResult =
  | { readonly kind: "room" }
  | { readonly kind: "full"; readonly expectedMs?: number };

/** A slot of a connection. */
export interface ConnectionSlot {
  /** Frees the slot; only the first call counts. */
  leave(): void;
  /** Reports that the provider refused the request by a rate limit. */
  refused?(): void;
  /** Reports that the provider's answer is complete. */
  completed?(): void;
  /** Returns true while other requests wait for the slot. */
  readonly isAwaited?: (() => boolean) | undefined;
}

/** The dependencies of {@linkcode Slots}. */
export interface SlotsOptions {
  readonly admission: Admission;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** True when other threads take and free slots, too. */
  readonly isShared: boolean;
  readonly ids: Ids;
  /** Sends news of the line to other gateways; absent when there are no other gateways. */
  readonly publish?: ((news: LineNews) => void) | undefined;
}

/** A request that waits. */
export interface Waiter extends Waiting {
  /** The time at which the request's wait must end, on a monotonic clock. */
  readonly untilMs: number;
  readonly woken: PromiseWithResolvers<WaitResult>;
  /** Keeps a slot for the request. */
  keep(key: string, slot: ConnectionSlot): void;
}

/** The most requests that wait at the same time, in all and of one caller. */
const MAX_WAITING = 1_000;
const MAX_WAITING_OF_CALLER = 100;

/**
 * The interval at which the gateway tries slots that other threads may have freed, in milliseconds. Requests in other
 * threads may go first for at most this time.
 */
const POLL_MS = 100;

/** The assumed use of a running request before any request has ended, in milliseconds. */
const FIRST_GUESS_MS = 5_000;

const ROOM: WaitResult = { kind: "room" };
export const FULL: WaitResult = { kind: "full" };

/** The slots of all connections, and the line of the requests that wait for them. */
export class Slots {
  readonly options: SlotsOptions;
  readonly line: WaitingLine<Waiter>;
  readonly #use = new RecentUse();
  readonly #shared: SharedLine;
  readonly #limits = new Map<string, AdaptiveLimit>();
  #isGiving = false;
  /** The time since which a free slot is left to requests elsewhere, by the deployment's key. */
  readonly #leftMs = new Map<string, number>();
  #cancelTimer: Cancel | undefined;

  constructor(options: SlotsOptions) {
    this.options = options;
    this.line = new WaitingLine(options.clock, this.#use);
    this.#shared = new SharedLine({
      ...options,
      id: options.ids.next("line"),
      describe: (key) => this.#describe(key),
    });
    options.admission.onDrain(() => {
      for (const { woken } of [...this.line]) woken.reject(shuttingDown());
    });
    options.admission.onFull((caller, newcomer, error) => {
      const last = this.line.yielding({
        caller: { digest: tokenDigest(caller), weight: caller.weight },
        isBackground: isBackground(newcomer),
        sinceMs: options.clock.elapsedMs(),
      });
      if (last === undefined) return false;
      this.remove(last);
      last.woken.reject(error);
      return true;
    });
  }

  /** Takes a slot, even if other requests wait for one. */
  take(deployment: Deployment, caller: string): ConnectionSlot | undefined {
    const { admission, clock } = this.options;
    const key = keyOf(deployment);
    const limit = this.#limitOf(key);
    if (!limit.hasRoom) return undefined;
    const leave = admission.occupy(deployment.connection);
    if (leave === undefined) return undefined;
    const startMs = clock.elapsedMs();
    const guessMs = limit.averageMs ?? FIRST_GUESS_MS;
    this.#use.begin(caller, guessMs);
    this.#shared.note(key, deployment, { caller, ms: guessMs });
    limit.begin();
    let isLeft = false;
    return {
      leave: () => {
        if (isLeft) return;
        isLeft = true;
        leave();
        const nowMs = clock.elapsedMs();
        const tookMs = nowMs - startMs;
        limit.end();
        this.#use.end(caller, guessMs, tookMs, nowMs);
        this.#shared.note(key, deployment, { caller, ms: tookMs - guessMs });
        this.giveOut();
        if (this.#shared.turnsAt(key).length > 0) this.#shared.send();
      },
      refused: () => limit.refused(),
      completed: () => limit.completed(clock.elapsedMs() - startMs),
      isAwaited: () => this.isSlotAwaited(deployment),
    };
  }

  /** Adds a request to the line. */
  add(waiter: Waiter): void {
    this.line.add(waiter);
    this.#noteChange(waiter);
    this.giveOut();
  }

  /** Removes a request from the line, if it is still there. */
  remove(waiter: Waiter): void {
    if (this.line.remove(waiter)) this.#noteChange(waiter);
  }

  #noteChange({ places }: Waiter): void {
    for (const [key, { deployment }] of places) {
      this.#shared.note(key, deployment);
    }
  }

  /** Gives the free slots to waiting requests, in the order of their turns. */
  giveOut(): void {
    // A loop that runs already also finds slots that become free meanwhile.
    if (this.#isGiving || this.line.size === 0) return;
    this.#isGiving = true;
    const full = new Set<string>();
    for (;;) {
      const turn = this.line.next(full);
      if (turn === undefined) break;
      const { waiter, key, deployment } = turn;
      const slot = this.#isLeftToOthers(turn)
        ? undefined
        : this.take(deployment, waiter.caller.digest);
      if (slot === undefined) {
        full.add(key);
        continue;
      }
      this.line.noteTurn(waiter.session);
      this.remove(waiter);
      waiter.keep(key, slot);
      waiter.woken.resolve(ROOM);
    }
    this.#isGiving = false;
    this.#startTimer();
  }

  /**
   * Returns true while a free slot is left to requests elsewhere, because their turn comes before the waiter's turn.
   */
  #isLeftToOthers(
    { waiter, key, deployment }: NextWaiter<Waiter>,
  ): boolean {
    const isBehind = this.line.isBehind(waiter, this.#shared.turnsAt(key));
    const leave = isBehind
      ? this.options.admission.occupy(deployment.connection)
      : undefined;
    if (leave === undefined) {
      this.#leftMs.delete(key);
      return false;
    }
    leave();
    const nowMs = this.options.clock.elapsedMs();
    const sinceMs = this.#leftMs.get(key) ?? nowMs;
    this.#leftMs.set(key, sinceMs);
    return nowMs - sinceMs < POLL_MS;
  }

  /** Does the same as {@linkcode WaitingLine.isAwaited}, but also for requests of other threads. */
  isAwaited(isOne: (key: string) => boolean): boolean {
    return this.line.isAwaited(isOne) || this.#shared.isAwaited(isOne);
  }

  /** Returns true when a request waits for a deployment's slot. `max_concurrent` counts all models of a connection. */
  isSlotAwaited(deployment: Deployment): boolean {
    const { id, maxConcurrent } = deployment.connection;
    return this.isAwaited((key) =>
      maxConcurrent === undefined
        ? key === keyOf(deployment)
        : key.startsWith(keyOfIds(id, ""))
    );
  }

  follow(news: LineNews): void {
    const nowMs = this.options.clock.elapsedMs();
    for (const [caller, ms] of Object.entries(news.used)) {
      this.#use.add(caller, ms, nowMs);
    }
    this.#shared.follow(news);
    // The sender of the news may have freed a slot.
    if (news.turns !== undefined) this.giveOut();
  }

  loadOf(connectionId: string): LineLoad {
    const own = new Map<string, number>();
    let waiting = 0;
    for (const { places } of this.line) {
      const here = [...places].filter(([, { deployment: { connection } }]) =>
        connection.id === connectionId
      );
      if (here.length > 0) waiting += 1;
      for (const [key] of here) own.set(key, this.#describe(key).expectedMs);
    }
    const others = this.#shared.loadsOf(connectionId);
    return {
      waiting: others.reduce((sum, one) => sum + one.waiting, waiting),
      expectedMs: Math.max(
        ...own.values(),
        ...others.map(({ expectedMs }) => expectedMs),
        0,
      ),
    };
  }

  #describe(key: string): OwnLine {
    const waiters = this.line.at(key);
    const [place] = waiters.flatMap(({ places }) => places.get(key) ?? []);
    if (place === undefined) return { waiting: 0, expectedMs: 0 };
    const { deployment } = place;
    const restMs = Math.max(0, place.roomMs - this.options.clock.elapsedMs());
    const elsewhere = this.#turnsElsewhere(deployment)
      .reduce((sum, { count }) => sum + count, 0);
    const before = waiters.length + elsewhere - 1;
    return {
      waiting: waiters.length,
      expectedMs: this.#expectedMs({ deployment, restMs }, before),
      turns: this.#sharesSlots(deployment) ? this.line.turnsAt(key) : undefined,
    };
  }

  /**
   * Makes room for a request in the line. If the line is full, or holds too many requests of the caller, another
   * request gives way.
   *
   * @returns False when there is no room.
   */
  makeRoom(waiter: Waiter): boolean {
    const { digest } = waiter.caller;
    const own = [...this.line].filter(({ caller }) => caller.digest === digest);
    const isOwnFull = own.length >= MAX_WAITING_OF_CALLER;
    if (!isOwnFull && this.line.size < MAX_WAITING) return true;
    const last = this.line.yielding(waiter, isOwnFull);
    if (last === undefined) return false;
    this.remove(last);
    last.woken.resolve(FULL);
    return true;
  }

  /** Returns the time until a place has room for a request, in milliseconds. */
  expectedMs(place: WaitingPlace, waiter: Waiter): number {
    const { deployment } = place;
    const elsewhere = this.#turnsElsewhere(deployment);
    const key = keyOf(deployment);
    const before = this.line.countBefore(key, waiter, elsewhere);
    return this.#expectedMs(place, before);
  }

  #expectedMs(
    { deployment, restMs }: Pick<WaitingPlace, "deployment" | "restMs">,
    before: number,
  ): number {
    const limit = this.#limitOf(keyOf(deployment));
    const most = deployment.connection.maxConcurrent ?? Infinity;
    const turnMs = (limit.averageMs ?? 0) / Math.min(most, limit.most);
    return Math.max(restMs, (before + 1) * turnMs);
  }

  /** Returns the requests in other threads that wait for slots which requests here may get. */
  #turnsElsewhere(deployment: Deployment): readonly RankedGroup[] {
    return this.#sharesSlots(deployment)
      ? this.#shared.turnsAt(keyOf(deployment))
      : [];
  }

  /** Returns true while `max_concurrent` limits a deployment more than refusals do. All threads share this limit. */
  #sharesSlots(deployment: Deployment): boolean {
    const { maxConcurrent } = deployment.connection;
    return this.options.isShared && maxConcurrent !== undefined &&
      this.#limitOf(keyOf(deployment)).most >= maxConcurrent;
  }

  #limitOf(key: string): AdaptiveLimit {
    const known = this.#limits.get(key);
    if (known !== undefined) return known;
    const limit = new AdaptiveLimit(this.options.clock);
    this.#limits.set(key, limit);
    return limit;
  }

  /** Sets the timer for the next place that is due, and for the slots that other threads free. */
  #startTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const { deadlines, isShared } = this.options;
    if (this.line.size === 0) return;
    const ms = Math.min(this.line.nextDueMs(), isShared ? POLL_MS : Infinity);
    if (ms === Infinity) return;
    this.#cancelTimer = deadlines.start(Math.ceil(ms), () => this.giveOut());
  }
}
