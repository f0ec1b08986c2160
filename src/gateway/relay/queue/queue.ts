import type { Deployment } from "../../config/config.ts";
import { settled } from "@gateway/base/time/deadlines";
import type { Exchange } from "../exchange.ts";
import { shuttingDown } from "../request/admission.ts";
import { tokenDigest } from "../routing/cool_down.ts";
import { isBackground } from "./background.ts";
import type { LineLoad, LineNews } from "./shared_line.ts";
import {
  type ConnectionSlot,
  FULL,
  Slots,
  type SlotsOptions,
  type Waiter,
  type WaitingPlace,
  type WaitResult,
} from "./slots.ts";
import { keyOf } from "./waiting_line.ts";

/**
 * Assigns the slots of connections. If a connection has a `queue`, requests wait for its slots
 * (docs/failover.md#waiting-for-a-turn).
 */
export interface Queue {
  /** Opens the place of a request in the queue. */
  open(exchange: QueuedExchange): QueuedRequest;
  /** The number of requests that wait here. */
  readonly waiting: number;
  /** Returns the length of the line at a connection, including the lines of other gateways. */
  loadOf(connectionId: string): LineLoad;
  /** Applies the news of another gateway's line. */
  follow(news: LineNews): void;
}

type QueuedExchange = Pick<
  Exchange,
  "caller" | "record" | "headers" | "control"
>;

/** A request that takes slots, and may wait for them. */
export interface QueuedRequest {
  /**
   * Takes a slot of a connection.
   *
   * @returns `undefined` when no slot is free, or when other requests wait for one.
   */
  occupy(deployment: Deployment): ConnectionSlot | undefined;
  /**
   * Waits until one of the places may have room. A slot there is then kept for the request.
   *
   * @param places The places in the order of preference.
   * @throws The reason of the cancellation, if the request is cancelled.
   */
  wait(places: readonly WaitingPlace[]): Promise<WaitResult>;
  /** Frees the slot that was kept for the request, if the request has not taken it. */
  release(): void;
  /** The time that the request has waited, in milliseconds. */
  readonly waitedMs: number;
}

/** The longest interval between two checks of a place, in milliseconds. A quota may come back earlier than expected. */
const LOOK_AGAIN_MS = 5_000;

/** The part of the longest wait during which background work lets people's requests go first. */
const BACK_SHARE = 0.5;

/** Creates an empty queue. */
export function createQueue(options: SlotsOptions): Queue {
  const slots = new Slots(options);
  return {
    open: (exchange) => new Place(slots, exchange),
    get waiting() {
      return slots.line.size;
    },
    loadOf: (connectionId) => slots.loadOf(connectionId),
    follow: (news) => slots.follow(news),
  };
}

/** The place of one request. */
class Place implements QueuedRequest {
  readonly #slots: Slots;
  readonly #exchange: QueuedExchange;
  #sinceMs: number | undefined;
  #waitedMs = 0;
  #kept: { readonly key: string; readonly slot: ConnectionSlot } | undefined;

  constructor(slots: Slots, exchange: QueuedExchange) {
    this.#slots = slots;
    this.#exchange = exchange;
  }

  get waitedMs(): number {
    return this.#waitedMs;
  }

  occupy(deployment: Deployment): ConnectionSlot | undefined {
    const { connection } = deployment;
    if (connection.queue === undefined) {
      const leave = this.#slots.options.admission.occupy(connection);
      return leave && {
        leave: () => {
          leave();
          // After a reload, requests may wait for this slot.
          this.#slots.giveOut();
        },
        isAwaited: () => this.#slots.isSlotAwaited(deployment),
      };
    }
    const key = keyOf(deployment);
    if (this.#kept?.key === key) {
      const { slot } = this.#kept;
      this.#kept = undefined;
      return slot;
    }
    if (this.#slots.isAwaited((one) => one === key)) return undefined;
    const digest = tokenDigest(this.#exchange.caller);
    const slot = this.#slots.take(deployment, digest);
    if (slot !== undefined) {
      this.#slots.line.noteTurn(sessionOf(this.#exchange));
    }
    return slot;
  }

  async wait(places: readonly WaitingPlace[]): Promise<WaitResult> {
    const { admission, clock, deadlines } = this.#slots.options;
    const { signal } = this.#exchange.control.controller;
    signal.throwIfAborted();
    if (admission.draining) throw shuttingDown();
    const nowMs = clock.elapsedMs();
    const sinceMs = this.#sinceMs ??= nowMs;
    const waiter = this.#waiterFor(places, { sinceMs, nowMs });
    const expected = places.map((place) => ({
      ms: this.#slots.expectedMs(place, waiter),
      untilMs: sinceMs + place.mostMs,
    }));
    const isTimely = expected.some(({ ms, untilMs }) => nowMs + ms < untilMs);
    if (!isTimely || !this.#slots.makeRoom(waiter)) {
      const expectedMs = Math.min(...expected.map(({ ms }) => ms));
      return { kind: "full", expectedMs };
    }
    const cancel = deadlines.start(
      Math.ceil(waiter.untilMs - nowMs),
      () => waiter.woken.resolve(FULL),
    );
    try {
      this.#slots.add(waiter);
      return await settled(waiter.woken, signal, () => {});
    } finally {
      cancel();
      this.#slots.remove(waiter);
      this.#note(places, clock.elapsedMs() - nowMs);
    }
  }

  release(): void {
    this.#kept?.slot.leave();
    this.#kept = undefined;
  }

  #waiterFor(
    places: readonly WaitingPlace[],
    { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
  ): Waiter {
    const { caller } = this.#exchange;
    return {
      caller: { digest: tokenDigest(caller), weight: caller.weight },
      session: sessionOf(this.#exchange),
      isBackground: isBackground(this.#exchange),
      sinceMs,
      untilMs: sinceMs + Math.max(...places.map(({ mostMs }) => mostMs)),
      // `mostMs` is shorter for the conversation's own connection.
      backUntilMs: sinceMs + BACK_SHARE * Math.max(
            ...places.map(({ deployment: { connection } }) =>
              connection.queue?.maxWaitMs ?? 0
            ),
          ),
      places: new Map(places.map(({ deployment, restMs }) => [
        keyOf(deployment),
        {
          deployment,
          roomMs: nowMs + restMs,
          dueMs: nowMs + Math.min(restMs, LOOK_AGAIN_MS),
        },
      ])),
      woken: Promise.withResolvers(),
      keep: (key, slot) => this.#kept = { key, slot },
    };
  }

  #note([place]: readonly WaitingPlace[], ms: number): void {
    const { facts } = this.#exchange.record;
    this.#waitedMs += ms;
    facts.waitedMs = this.#waitedMs;
    if (place !== undefined) facts.waitedFor ??= place.why;
  }
}

/** Returns a text that names the agent of a session. Only texts of one caller are compared with each other. */
function sessionOf(
  { caller, record: { facts: { client } } }: QueuedExchange,
): string {
  const session = client?.session ?? tokenDigest(caller);
  // Most requests name no agent, and a concatenation takes longer than the rest.
  return client?.agent === undefined ? session : `${session} ${client.agent}`;
}
