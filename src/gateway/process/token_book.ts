import type { HttpClient } from "@gateway/http1";
import { openNetwork } from "./network.ts";
import type { Config } from "../config/config.ts";
import type { TokenExchangeSettings } from "../config/token_exchange.ts";
import { lastingTimers, systemClock } from "@gateway/base/time/timers";
import type { Log } from "../observe/log.ts";
import {
  createTokenBook,
  type TokenBook,
} from "../upstream/token_exchange/token_book.ts";
import { beside, readText } from "./config_file.ts";

interface OpenTokenBookOptions {
  /** The path of the configuration file. */
  readonly path: string;
  /** Sends requests to providers. */
  readonly client: HttpClient;
  readonly log: Log;
  /** Called when a token has changed. */
  readonly onChange: () => void;
}

/** Opens the book of exchanged tokens for a configuration file on this machine. */
export function openTokenBook(
  { path, client, log, onChange }: OpenTokenBookOptions,
): TokenBook {
  let direct: HttpClient | undefined;
  return createTokenBook({
    client,
    local: {
      send(request) {
        // This client reads no environment variables, so that it uses no proxy.
        direct ??= openNetwork(() => undefined, lastingTimers).client;
        return direct.send(request);
      },
    },
    readFile: (name) => readText(beside(path, name)),
    clock: systemClock,
    timers: lastingTimers,
    log,
    random: Math.random,
    onChange,
  });
}

/** Returns the token exchanges of a configuration. */
export function tokenExchangesIn(
  { connections }: Pick<Config, "connections">,
): readonly TokenExchangeSettings[] {
  return connections.flatMap(({ auth }) =>
    auth.scheme === "none" ? [] : auth.exchange ?? []
  );
}
