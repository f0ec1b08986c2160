import { randomIds } from "../../../src/base/ids.ts";
import type { Random } from "../../support/fakes/random.ts";
import type { VirtualTime } from "./time.ts";

/** Values that replace those of an object for a while, by name. */
type Values = Readonly<Record<string, unknown>>;

/**
 * The start of the next history's monotonic clock. It never goes back: module-level state may compare moments of two
 * histories.
 */
let originMs = 0;

/**
 * Replaces the clock, the timers, the randomness and WebCrypto of this thread with those of a history. The program and
 * its libraries then depend only on the seed.
 *
 * @returns A function that restores the platform.
 */
export function takeOver(time: VirtualTime, random: Random): () => void {
  let draws = 0;
  const restores = [
    replace(globalThis, {
      Date: virtualDate(time),
      setTimeout: (onDue: () => void, delayMs = 0) =>
        virtualTimer(time, onDue, delayMs, false),
      setInterval: (onDue: () => void, delayMs = 0) =>
        virtualTimer(time, onDue, delayMs, true),
      clearTimeout: stopTimer,
      clearInterval: stopTimer,
    }),
    replace(performance, {
      now: () => originMs + Math.round(time.elapsedMs()),
    }),
    replace(Math, { random: () => random.below(2 ** 30) / 2 ** 30 }),
    replace(AbortSignal, {
      timeout(delayMs: number) {
        const controller = new AbortController();
        time.schedule(delayMs, () => {
          const why = new DOMException("Signal timed out.", "TimeoutError");
          controller.abort(why);
        });
        return controller.signal;
      },
    }),
    replace(crypto, {
      getRandomValues(values: Uint8Array) {
        draws++;
        const { buffer, byteOffset, byteLength } = values;
        const bytes = new Uint8Array(buffer, byteOffset, byteLength);
        for (let at = 0; at < bytes.length; at++) bytes[at] = random.below(256);
        return values;
      },
      randomUUID: () => uuid(random),
    }),
    replace(
      crypto.subtle,
      Object.fromEntries(
        SUBTLE.map((name) => [name, outside(time, crypto.subtle, name)]),
      ),
    ),
  ];
  // Discards the random bytes that the id generator kept from the history before.
  while (draws === 0) randomIds.next("none");
  return () => {
    originMs += Math.ceil(time.elapsedMs()) + 3600_000;
    for (const restore of restores.reverse()) restore();
  };
}

/** The functions of WebCrypto, which run in other threads. */
const SUBTLE = [
  "decrypt",
  "deriveBits",
  "deriveKey",
  "digest",
  "encrypt",
  "exportKey",
  "generateKey",
  "importKey",
  "sign",
  "verify",
] as const;

/** Wraps a function of WebCrypto: its result arrives when nothing else can run. */
function outside(
  time: VirtualTime,
  subtle: SubtleCrypto,
  name: typeof SUBTLE[number],
): (...args: readonly unknown[]) => Promise<unknown> {
  const real: unknown = subtle[name];
  if (typeof real !== "function") throw new Error(`No crypto.subtle.${name}`);
  return (...args) => time.outside(Reflect.apply(real, subtle, args));
}

function virtualDate(time: VirtualTime): DateConstructor {
  return new Proxy(Date, {
    construct: (target, args, newTarget) =>
      Reflect.construct(
        target,
        args.length === 0 ? [time.now()] : args,
        newTarget,
      ),
    get: (target, name, receiver) =>
      name === "now" ? time.now : Reflect.get(target, name, receiver),
  });
}

/** A timer of `setTimeout` or `setInterval`. */
class Timer {
  stop: () => void = () => {};
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}

function virtualTimer(
  time: VirtualTime,
  onDue: () => void,
  delayMs: number,
  isRepeated: boolean,
): Timer {
  const timer = new Timer();
  const start = () => {
    timer.stop = time.schedule(delayMs, () => {
      if (isRepeated) start();
      onDue();
    });
  };
  start();
  return timer;
}

function stopTimer(timer: unknown): void {
  if (timer instanceof Timer) timer.stop();
}

function uuid(random: Random): string {
  const digits = Array.from({ length: 32 }, () => random.below(16).toString(16))
    .join("");
  return digits.replace(
    /^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/,
    "$1-$2-4$3-8$4-$5",
  );
}

/** Replaces properties of an object; returns a function that restores them. */
function replace(target: object, values: Values): () => void {
  const before = Object.keys(values).map((name) =>
    [name, Object.getOwnPropertyDescriptor(target, name)] as const
  );
  for (const [name, value] of Object.entries(values)) {
    const options = { configurable: true, writable: true, enumerable: false };
    Object.defineProperty(target, name, { ...options, value });
  }
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) Reflect.deleteProperty(target, name);
      else Object.defineProperty(target, name, descriptor);
    }
  };
}
