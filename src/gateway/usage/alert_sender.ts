import type { LiveConfig } from "../config/live_config.ts";
import type { AlertsConfig } from "../config/config.ts";
import type { JsonObject } from "@gateway/base/json";
import { retryAfterMs } from "@gateway/base/retry_after";
import { type Deadlines, within } from "@gateway/base/time/deadlines";
import type { Log } from "../observe/log.ts";
import type { HttpClient } from "@gateway/http1";
import { NoReply, sendSmall } from "../upstream/small_request.ts";

/** Sends alerts to the receiver of the configuration, one after another. */
interface AlertSender {
  /**
   * Queues an alert. The alert is sent soon. If too many alerts wait, or too many with the same `name`, drops the
   * alert. Never throws.
   */
  send(alert: JsonObject): void;
  /** Sends each waiting alert at most once more. Alerts that are not sent within four seconds are lost. */
  drain(): Promise<void>;
}

interface AlertSenderOptions extends PostOptions {
  readonly liveConfig: Pick<LiveConfig, "current">;
  readonly log: Log;
}

interface PostOptions {
  readonly client: HttpClient;
  readonly deadlines: Pick<Deadlines, "start">;
}

/** The pauses before each repetition of an alert, in milliseconds. */
const RETRY_MS = [1000, 5000, 25_000, 125_000];

/** The longest pause that a receiver may ask for, in milliseconds. */
const MAX_RETRY_MS = 300_000;

/** The longest time in which waiting alerts are sent at the end of the process, in milliseconds. */
const DRAIN_MS = 4000;

/** The largest number of alerts that wait. */
const MAX_WAITING = 100;

/**
 * The largest number of waiting alerts with one name. A caller with many sessions thus leaves room for other callers.
 */
const MAX_WAITING_OF_ONE = 20;

/** Creates a sender without alerts. */
export function createAlertSender(options: AlertSenderOptions): AlertSender {
  const { liveConfig, log, deadlines } = options;
  let last = Promise.resolve();
  let waiting = 0;
  const waitingBy = new Map<unknown, number>();
  let isDraining = false;
  let hurry = () => {};

  function pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = deadlines.start(ms, resolve);
    hurry = () => {
      cancel();
      resolve();
    };
    return promise;
  }

  async function deliver(alert: JsonObject): Promise<void> {
    for (let tries = 0;; tries += 1) {
      // A reload may have changed the receiver.
      const { alerts } = liveConfig.current();
      if (alerts === undefined) return;
      const isLast = isDraining;
      const fault = await postAlert(alert, alerts, options);
      if (fault === undefined) return;
      const ms = RETRY_MS[tries];
      if (fault.isFinal || ms === undefined || isLast) {
        return log.write("alert_lost", { reason: fault.reason });
      }
      if (!isDraining) await pause(Math.max(ms, fault.retryAfterMs ?? 0));
    }
  }

  /** Counts the alerts that wait, in all and with one name. */
  function count({ name }: JsonObject, by: 1 | -1): void {
    waiting += by;
    const own = (waitingBy.get(name) ?? 0) + by;
    if (own > 0) waitingBy.set(name, own);
    else waitingBy.delete(name);
  }

  return {
    send(alert) {
      const own = waitingBy.get(alert.name) ?? 0;
      if (waiting >= MAX_WAITING || own >= MAX_WAITING_OF_ONE) {
        const reason = own < MAX_WAITING_OF_ONE
          ? `${MAX_WAITING} alerts wait already`
          : `${MAX_WAITING_OF_ONE} alerts with its name wait already`;
        return log.write("alert_lost", { reason });
      }
      count(alert, 1);
      last = last.then(() => deliver(alert)).finally(() => count(alert, -1));
    },
    async drain() {
      isDraining = true;
      hurry();
      await within(last, {
        ms: DRAIN_MS,
        start: deadlines.start,
        onLate() {
          const reason = "the gateway ended";
          for (let left = waiting; left > 0; left--) {
            log.write("alert_lost", { reason });
          }
        },
      });
    },
  };
}

/** An alert that did not arrive. */
interface AlertFault {
  /**
   * The reason in words. It names the receiver without the path of the receiver's URL, because a path may be a secret.
   */
  readonly reason: string;
  /** True when sending the alert again would not help. */
  readonly isFinal: boolean;
  /**
   * The pause that the receiver asks for, in milliseconds; 0 when it asks for no pause, `undefined` without an answer.
   */
  readonly retryAfterMs?: number | undefined;
}

/** Sends an alert once, and follows no redirect. Returns `undefined` when the receiver has accepted it. */
export async function postAlert(
  alert: JsonObject,
  { webhook, headers }: AlertsConfig,
  { client, deadlines: { start } }: PostOptions,
): Promise<AlertFault | undefined> {
  try {
    const { status, headers: answered } = await sendSmall({
      url: webhook,
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(alert),
    }, { client, start });
    if (status >= 200 && status < 300) return undefined;
    const isFinal = status < 500 && status !== 429 && status !== 408;
    const reason = `${new URL(webhook).host} answered with ${status}`;
    // A pause until a date would need a clock. The usual pauses are used instead.
    const askedMs = retryAfterMs(answered, NaN) ?? 0;
    return { reason, isFinal, retryAfterMs: Math.min(askedMs, MAX_RETRY_MS) };
  } catch (error) {
    if (!(error instanceof NoReply)) throw error;
    return { reason: error.message, isFinal: false };
  }
}
