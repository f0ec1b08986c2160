import type { SharedConfig } from "../config/config.ts";
import type { LiveConfig } from "../config/live_config.ts";
import { isStoreKept } from "../config/reload.ts";
import { backoffMs } from "@gateway/base/time/backoff";
import { systemTimers, type Timers } from "@gateway/base/time/timers";
import {
  type OpenStore,
  type StoreConnection,
  StoreError,
  type StoreEvents,
} from "../shared/store/store_link.ts";

/** The timeout for opening a connection, and the longest silence of an open connection, in milliseconds. */
const CONNECT_MS = 5000;
const SILENT_MS = 10_000;

/** The pauses between attempts to connect. They are random, so that replicas do not connect at the same time. */
const PAUSES = { firstMs: 100, mostMs: 5000, random: Math.random };

/** The most commands that may wait for their replies; further commands are rejected. */
const MAX_WAITING = 10_000;

/** The factory of clients. */
type CreateClient = typeof import("@redis/client").createClient;

/** One connection of the client. */
type Client = ReturnType<typeof connect>;

/**
 * Loads the client of Valkey and Redis, only for a configuration with a store.
 *
 * @param liveConfig A new configuration replaces the credentials of `config` if it names the same store.
 * @returns A function that opens connections.
 */
export async function loadRedis(
  config: SharedConfig,
  timers: Timers = systemTimers,
  liveConfig?: Pick<LiveConfig, "onSwap">,
): Promise<OpenStore> {
  const { createClient } = await import("@redis/client");
  return (events) =>
    keepConnected(config, { createClient, timers, events, liveConfig });
}

/** Keeps a connection open. The client does not reconnect by itself: the pause before that cannot be cancelled. */
function keepConnected(
  started: SharedConfig,
  { createClient, timers, events, liveConfig }: {
    readonly createClient: CreateClient;
    readonly timers: Timers;
    readonly events: StoreEvents;
    readonly liveConfig: Pick<LiveConfig, "onSwap"> | undefined;
  },
): StoreConnection {
  let config = started;
  let isClosed = false;
  let failures = 0;
  let stopWaiting = () => {};
  let client: Client = open();

  function open(): Client {
    const opened = connect(config, createClient);
    opened.on("ready", () => {
      failures = 0;
      events.onReady();
    });
    opened.on("error", (error) => {
      if (isClosed || opened !== client) return;
      events.onBroken(storeError(error));
      openAgain();
    });
    // The client also emits this error as an event.
    opened.connect().catch(() => {});
    return opened;
  }

  function openAgain({ isNow = false } = {}): void {
    end(client);
    stopWaiting();
    failures = isNow ? 0 : failures + 1;
    const pauseMs = isNow ? 0 : backoffMs(failures, PAUSES);
    stopWaiting = timers.schedule(pauseMs, () => {
      client = open();
    });
  }

  liveConfig?.onSwap(({ shared }) => {
    if (isClosed || shared === undefined || !isStoreKept(shared, started)) {
      return;
    }
    config = shared;
    // An open connection stays valid. The next connection uses the new credentials.
    if (!client.isReady) openAgain({ isNow: true });
  });

  return {
    async send(command) {
      try {
        return await client.sendCommand([...command]);
      } catch (error) {
        throw storeError(error);
      }
    },
    close() {
      isClosed = true;
      stopWaiting();
      end(client);
    },
  };
}

function connect(
  { host, port, tls, ca, username, password, database }: SharedConfig,
  createClient: CreateClient,
) {
  return createClient({
    // Proxies in front of the store understand RESP 2.
    RESP: 2,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    database,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_WAITING,
    maintNotifications: "disabled",
    disableClientInfo: true,
    socket: {
      ...{ host, port, connectTimeout: CONNECT_MS },
      socketTimeout: SILENT_MS,
      reconnectStrategy: false,
      ...(tls ? { tls, ...(ca === undefined ? {} : { ca }) } : {}),
    },
  });
}

function end(client: Client): void {
  if (client.isOpen) client.destroy();
}

/**
 * Matches errors about settings that have only the code `ERR`: a user without permission for a command of the script, a
 * password for a store that needs no password (the second form is Redis 5's), and an unknown database.
 */
const WRONG_SETTINGS =
  /^ERR (?:The user executing the script can't run|AUTH <password> called without|Client sent AUTH, but|DB index is|invalid DB index)/;

/** Returns an error with the code that begins the store's message. The client's own errors have no code. */
function storeError(cause: unknown): StoreError {
  const message = cause instanceof Error ? cause.message : "";
  if (WRONG_SETTINGS.test(message)) return new StoreError("NOPERM", { cause });
  const [code = ""] = /^[A-Z]{2,}(?= |$)/.exec(message) ?? [];
  return new StoreError(code, { cause });
}
