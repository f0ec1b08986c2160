import type { HttpClient } from "@gateway/http1";
import { isDeepStrictEqual } from "node:util";
import type {
  ExchangedToken,
  TokenExchangeSettings,
  TokenFor,
} from "../../config/token_exchange.ts";
import { readFault, type ReadFile } from "../../config/environment.ts";
import { isCredential } from "../../config/resolve/auth.ts";
import { backoffMs } from "@gateway/base/time/backoff";
import type { Clock, Timers } from "@gateway/base/time/timers";
import type { Log } from "../../observe/log.ts";
import { NoReply, sendSmall } from "../small_request.ts";
import { errorCode, type NewKey, TokenExchangeFault } from "./answers.ts";
import { tokenExchangeSteps, type TokenRequest } from "./steps.ts";

/** The tokens of all exchanges of the process, renewed before they end. */
export interface TokenBook {
  readonly tokenFor: TokenFor;
  /** Renews a token that a provider has refused, unless the token was just renewed because of a refusal. */
  renew(exchange: TokenExchangeSettings): void;
  /** Stops the renewal of all exchanges that are not in `exchanges`, and forgets their tokens. */
  retain(exchanges: readonly TokenExchangeSettings[]): void;
}

/** The dependencies of {@linkcode createTokenBook}. */
interface TokenBookOptions {
  /** Sends the requests to providers, through proxies. */
  readonly client: HttpClient;
  /** Sends the requests to metadata services without a proxy, because no proxy reaches them. */
  readonly local: HttpClient;
  readonly readFile: ReadFile;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  /** Called when a token has changed or has ended. */
  readonly onChange: () => void;
}

/** The least time between two exchanges that a refused token causes, in milliseconds. */
const REFUSED_MS = 10_000;

/**
 * The pauses before the renewal of short-lived tokens, in milliseconds. A short-lived token is due within `shortMs`.
 * Each pause is longer than the pause before. When a provider refuses a token, the pauses start over, because requests
 * need a new token.
 */
const PAUSES = { shortMs: 30_000, firstMs: 1000, mostMs: 3_600_000 };

/** The longest delay of a timer, in milliseconds. */
const MAX_DELAY_MS = 24 * 3_600_000;

/** A token is renewed when a random part of its life is left, between `least` and `most`. */
const RENEW_AT = { least: 0.2, most: 0.3 };

/** The token of one exchange. */
interface Entry {
  readonly exchange: TokenExchangeSettings;
  readonly connection: string;
  /** `undefined` until the end of the first exchange. */
  state: ExchangedToken | undefined;
  running: Promise<ExchangedToken> | undefined;
  /** The time of the last exchange that a refused token caused, on the monotonic clock, in milliseconds. */
  refusedMs: number;
  failures: number;
  /** The number of consecutive short-lived tokens since a provider refused a token. */
  shortLives: number;
  cancel: () => void;
}

/** Creates a book without tokens. */
export function createTokenBook(options: TokenBookOptions): TokenBook {
  const { clock, timers, log, random } = options;
  const entries = new Map<string, Entry>();

  function renewed(entry: Entry): Promise<ExchangedToken> {
    entry.running ??= renewNow(entry).finally(() => entry.running = undefined);
    return entry.running;
  }

  async function renewNow(entry: Entry): Promise<ExchangedToken> {
    const { exchange, connection, state: before } = entry;
    let state: ExchangedToken;
    entry.cancel();
    const startedAtMs = clock.now();
    try {
      const found = await exchangeNow(exchange, options);
      const endsAtMs = "endsAtMs" in found
        ? found.endsAtMs
        : startedAtMs + found.lifeMs;
      const lifeMs = endsAtMs - clock.now();
      if (!isCredential(found.key) || !(lifeMs > 0)) {
        throw new TokenExchangeFault("the response has no usable token");
      }
      state = { token: found.key, expiresAtMs: endsAtMs };
      entry.failures = 0;
      const { least, most } = RENEW_AT;
      const delayMs = lifeMs * (1 - least - random() * (most - least));
      entry.shortLives = delayMs < PAUSES.shortMs ? entry.shortLives + 1 : 0;
      const pauseMs = entry.shortLives && backoffMs(entry.shortLives, PAUSES);
      renewIn(Math.max(delayMs, pauseMs), entry);
    } catch (error) {
      if (!(error instanceof TokenExchangeFault)) throw error;
      const reason = error.message;
      entry.failures += 1;
      const retryMs = backoffMs(entry.failures, {
        firstMs: 2000,
        mostMs: 60_000,
        random,
      });
      const lives = before !== undefined && "token" in before &&
        clock.now() < before.expiresAtMs;
      state = lives ? before : { reason };
      log.write("token_not_renewed", {
        connection,
        reason,
        retry_ms: Math.round(retryMs),
      });
      const endMs = lives ? before.expiresAtMs - clock.now() : Infinity;
      renewIn(Math.min(retryMs, endMs), entry);
    }
    entry.state = state;
    if (before !== undefined && !isDeepStrictEqual(state, before)) {
      options.onChange();
    }
    return state;
  }

  function renewIn(delayMs: number, entry: Entry): void {
    // A reload may have removed the exchange while it ran.
    if (entries.get(JSON.stringify(entry.exchange)) !== entry) return;
    const ms = Math.min(delayMs, MAX_DELAY_MS);
    entry.cancel = timers.schedule(ms, () => void renewed(entry));
  }

  return {
    async tokenFor(exchange, connection) {
      const key = JSON.stringify(exchange);
      const entry: Entry = entries.get(key) ?? {
        ...{ exchange, connection, state: undefined, running: undefined },
        ...{
          refusedMs: -Infinity,
          failures: 0,
          shortLives: 0,
          cancel: () => {},
        },
      };
      entries.set(key, entry);
      // Callers wait for the first exchange only: after that, the previous token may still be valid.
      return entry.state ?? await renewed(entry);
    },
    renew(exchange) {
      const entry = entries.get(JSON.stringify(exchange));
      if (entry === undefined || entry.running !== undefined) return;
      const nowMs = clock.elapsedMs();
      const leastMs = entry.shortLives > 0 ? PAUSES.firstMs : REFUSED_MS;
      if (nowMs - entry.refusedMs < leastMs) return;
      entry.refusedMs = nowMs;
      entry.shortLives = 0;
      renewed(entry);
    },
    retain(exchanges) {
      const kept = new Set(exchanges.map((one) => JSON.stringify(one)));
      for (const [key, entry] of entries) {
        if (kept.has(key)) continue;
        entry.cancel();
        entries.delete(key);
      }
    },
  };
}

/** Makes one exchange. @throws {TokenExchangeFault} When it fails. */
async function exchangeNow(
  exchange: TokenExchangeSettings,
  options: TokenBookOptions,
): Promise<NewKey> {
  const steps = tokenExchangeSteps(exchange);
  let next = steps.next();
  while (!next.done) {
    const step = next.value;
    next = steps.next(
      "file" in step
        ? await readTokenFile(step.file, options)
        : await send(step, options),
    );
  }
  return next.value;
}

async function readTokenFile(
  path: string,
  { readFile }: TokenBookOptions,
): Promise<string> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new TokenExchangeFault(
      `the file of the platform's token ${readFault(error)}`,
    );
  }
}

/** Sends a request and returns the text of a successful response. */
async function send(
  request: TokenRequest,
  { client, local, timers }: TokenBookOptions,
): Promise<string> {
  const { status, text } = await sendSmall(request, {
    client: request.isLocal ? local : client,
    start: timers.schedule,
  }).catch((error) => {
    throw error instanceof NoReply
      ? new TokenExchangeFault(error.message)
      : error;
  });
  if (status === 200) return text;
  const words = [`status ${status}`, errorCode(text)].filter((one) => one);
  const { host } = new URL(request.url);
  throw new TokenExchangeFault(`${host} answered with ${words.join(", ")}`);
}
