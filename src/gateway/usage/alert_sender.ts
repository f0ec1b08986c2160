import type { LiveConfig } from "../config/live_config.ts";
import type { AlertsConfig } from "../config/config.ts";
import type { JsonObject } from "@gateway/base/json";
import type { Deadlines } from "@gateway/base/time/deadlines";
import type { Log } from "../observe/log.ts";
import type { HttpClient } from "@gateway/http1";
import { NoReply, sendSmall } from "../upstream/small_request.ts";

/** Sends alerts to the receiver of the configuration, one after another. */
interface AlertSender {
  /** Sends an alert soon; of too many, the newest are left out. Does not wait or throw. */
  send(alert: JsonObject): void;
  /** Sends those that wait, each once more at most. */
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

/** The pauses before the further tries of an alert, in milliseconds. */
const RETRY_MS = [1000, 5000, 25_000, 125_000];

/** The number of alerts that wait. */
const MAX_WAITING = 100;

/** Creates a sender without alerts. */
export function createAlertSender(options: AlertSenderOptions): AlertSender {
  const { liveConfig, log, deadlines } = options;
  let last = Promise.resolve();
  let waiting = 0;
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
      const fault = await postAlert(alert, alerts, options);
      if (fault === undefined) return;
      const ms = RETRY_MS[tries];
      if (fault.isFinal || ms === undefined || isDraining) {
        return log.write("alert_lost", { reason: fault.reason });
      }
      await pause(ms);
    }
  }

  return {
    send(alert) {
      if (waiting >= MAX_WAITING) {
        const reason = `${MAX_WAITING} alerts wait already`;
        return log.write("alert_lost", { reason });
      }
      waiting += 1;
      last = last.then(() => deliver(alert)).finally(() => waiting -= 1);
    },
    drain() {
      isDraining = true;
      hurry();
      return last;
    },
  };
}

/** An alert that did not arrive. */
interface AlertFault {
  /** Without the path of the receiver, which may be a secret. */
  readonly reason: string;
  /** True when another try would not help. */
  readonly isFinal: boolean;
}

/** Sends an alert once, and follows no redirect. Returns `undefined` when the receiver has accepted it. */
export async function postAlert(
  alert: JsonObject,
  { webhook, headers }: AlertsConfig,
  { client, deadlines: { start } }: PostOptions,
): Promise<AlertFault | undefined> {
  try {
    const { status } = await sendSmall({
      url: webhook,
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(alert),
    }, { client, start });
    if (status >= 200 && status < 300) return undefined;
    const isFinal = status < 500 && status !== 429 && status !== 408;
    const host = new URL(webhook).host;
    return { reason: `${host} answered with ${status}`, isFinal };
  } catch (error) {
    if (!(error instanceof NoReply)) throw error;
    return { reason: error.message, isFinal: false };
  }
}
