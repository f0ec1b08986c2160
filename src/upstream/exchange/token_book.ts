import { isDeepStrictEqual } from "node:util";
import type {
  ExchangedToken,
  ExchangeSettings,
  SubjectFields,
  TokenFor,
} from "../../config/exchange.ts";
import { readFault, type ReadFile } from "../../config/environment.ts";
import { isCredential } from "../../config/resolve/auth.ts";
import {
  accessTokenSchema,
  serviceAccountTokenSchema,
} from "../../config/schema/exchange.ts";
import { backoffMs } from "../../core/time/backoff.ts";
import { within } from "../../core/time/deadlines.ts";
import type { Clock, Timers } from "../../core/time/timers.ts";
import type { Log } from "../../observe/log.ts";
import { createByteReader, readAll } from "../../streams/byte_reader.ts";
import type { UpstreamClient } from "../call.ts";
import {
  exchangeRequest,
  impersonation,
  subjectRequest,
  type TokenRequest,
} from "./steps.ts";

/** The tokens of all exchanges of the process, renewed before they end. */
export interface TokenBook {
  readonly tokenFor: TokenFor;
  /** Renews a token that its provider has refused, unless that was just done. */
  renew(exchange: ExchangeSettings): void;
  /** Stops the renewal of all other exchanges, and forgets their tokens. */
  retain(exchanges: readonly ExchangeSettings[]): void;
}

/** The dependencies of {@linkcode createTokenBook}. */
interface TokenBookOptions {
  /** Sends the requests to providers, through proxies. */
  readonly client: UpstreamClient;
  /** Sends the requests to metadata services, which no proxy reaches. */
  readonly local: UpstreamClient;
  readonly readFile: ReadFile;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  /** Called when a token has changed or has ended. */
  readonly onChange: () => void;
}

/** The longest time of an exchange, in milliseconds. */
const EXCHANGE_MS = 10_000;

/** The least time between two exchanges because of a refused token, in milliseconds. */
const REFUSED_MS = 10_000;

/** The longest delay of a timer, in milliseconds. */
const MAX_DELAY_MS = 24 * 3_600_000;

/** A token is renewed when a part of its life between these two is left. */
const RENEW_AT = { least: 0.2, most: 0.3 };

const MAX_BYTES = 64 * 1024;

/** The cause of a failed exchange, as the end of a sentence. */
class ExchangeFault extends Error {
  override readonly name = "ExchangeFault";
}

/** The token of one exchange. */
interface Entry {
  readonly exchange: ExchangeSettings;
  readonly connection: string;
  state: ExchangedToken;
  running: Promise<void> | undefined;
  /** The time of the last exchange because of a refused token, on the monotonic clock, in milliseconds. */
  refusedMs: number;
  failures: number;
  /** True after the first exchange. */
  isKnown: boolean;
  cancel: () => void;
}

/** Creates a book without tokens. */
export function createTokenBook(options: TokenBookOptions): TokenBook {
  const { clock, timers, log, random } = options;
  const entries = new Map<string, Entry>();

  function renewed(entry: Entry): Promise<void> {
    entry.running ??= renewNow(entry).finally(() => entry.running = undefined);
    return entry.running;
  }

  async function renewNow(entry: Entry): Promise<void> {
    const { exchange, connection } = entry;
    entry.cancel();
    const before = entry.state;
    const startedAtMs = clock.now();
    try {
      const { token, lifeMs } = await exchangeNow(exchange, options);
      entry.state = { token, expiresAtMs: startedAtMs + lifeMs };
      entry.failures = 0;
      const { least, most } = RENEW_AT;
      renewIn(lifeMs * (1 - least - random() * (most - least)), entry);
    } catch (error) {
      if (!(error instanceof ExchangeFault)) throw error;
      const reason = error.message;
      entry.failures += 1;
      const retryMs = backoffMs(entry.failures, {
        firstMs: 2000,
        mostMs: 60_000,
        random,
      });
      if (!lives(entry.state, clock)) entry.state = { reason };
      log.write("token_not_renewed", {
        connection,
        reason,
        retry_ms: Math.round(retryMs),
      });
      renewIn(retryMs, entry);
    }
    const isFirst = !entry.isKnown;
    entry.isKnown = true;
    if (!isFirst && !isDeepStrictEqual(entry.state, before)) options.onChange();
  }

  function renewIn(delayMs: number, entry: Entry): void {
    // The configuration may have lost the exchange while it ran.
    if (entries.get(JSON.stringify(entry.exchange)) !== entry) return;
    const endMs = "token" in entry.state
      ? Math.max(0, entry.state.expiresAtMs - clock.now())
      : Infinity;
    const ms = Math.min(delayMs, endMs, MAX_DELAY_MS);
    entry.cancel = timers.schedule(ms, () => void renewed(entry));
  }

  return {
    async tokenFor(exchange, connection) {
      const key = JSON.stringify(exchange);
      const known = entries.get(key);
      if (known !== undefined) {
        // Callers wait for the first exchange only: after that, the previous token may still be valid.
        if (!known.isKnown) await known.running;
        return known.state;
      }
      const entry: Entry = {
        exchange,
        connection,
        state: { reason: "there was no exchange yet" },
        running: undefined,
        refusedMs: -Infinity,
        failures: 0,
        isKnown: false,
        cancel: () => {},
      };
      entries.set(key, entry);
      await renewed(entry);
      return entry.state;
    },
    renew(exchange) {
      const entry = entries.get(JSON.stringify(exchange));
      if (entry === undefined || entry.running !== undefined) return;
      const nowMs = clock.elapsedMs();
      if (nowMs - entry.refusedMs < REFUSED_MS) return;
      entry.refusedMs = nowMs;
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

function lives(state: ExchangedToken, clock: Clock): boolean {
  return "token" in state && clock.now() < state.expiresAtMs;
}

/** A new token, and how long it lives from the start of its request, in milliseconds. */
interface NewToken {
  readonly token: string;
  readonly lifeMs: number;
}

/** Makes one exchange. @throws {ExchangeFault} When it fails. */
async function exchangeNow(
  exchange: ExchangeSettings,
  options: TokenBookOptions,
): Promise<NewToken> {
  const subject = "subject" in exchange
    ? await readSubject(exchange.subject, options)
    : "";
  const first = parse(
    accessTokenSchema,
    await send(exchangeRequest(exchange, subject), options),
  );
  const next = impersonation(exchange, first.access_token);
  if (next === undefined) {
    return tokenOf(first.access_token, first.expires_in * 1000);
  }
  const { accessToken, expireTime } = parse(
    serviceAccountTokenSchema,
    await send(next, options),
  );
  return tokenOf(accessToken, Date.parse(expireTime) - options.clock.now());
}

function tokenOf(token: string, lifeMs: number): NewToken {
  if (isCredential(token) && lifeMs > 0) return { token, lifeMs };
  throw new ExchangeFault("the response has no usable token");
}

/** Reads the platform's token from its file or its metadata service. */
async function readSubject(
  subject: SubjectFields,
  options: TokenBookOptions,
): Promise<string> {
  const request = subjectRequest(subject);
  const token = "file" in subject
    ? await readSubjectFile(subject.file, options)
    : request === undefined
    ? ""
    : await send(request, options);
  const isJson = token.startsWith("{");
  const found = isJson
    ? parse(accessTokenSchema, token).access_token
    : token.trim();
  if (isCredential(found)) return found;
  throw new ExchangeFault("the platform's token is not one word");
}

async function readSubjectFile(
  path: string,
  { readFile }: TokenBookOptions,
): Promise<string> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new ExchangeFault(
      `the file of the platform's token ${readFault(error)}`,
    );
  }
}

/** The part of a zod schema that {@linkcode parse} uses. */
interface Schema<Output> {
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: Output } | {
    readonly success: false;
  };
}

/** Parses a response. Its text never goes into an error: it may hold a token. */
function parse<Output>(schema: Schema<Output>, text: string): Output {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ExchangeFault("the response is not JSON");
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ExchangeFault("the response has no token");
}

/** The error codes of OAuth 2.0 (RFC 6749, section 5.2; RFC 8693), which hold no secret. */
const ERROR_REGEXP = /"error"\s*:\s*"([a-z_]{1,40})"/;

/** Sends a request and returns the text of a successful response. */
async function send(
  { url, method, headers, body, isLocal }: TokenRequest,
  { client, local, timers }: TokenBookOptions,
): Promise<string> {
  const host = new URL(url).host;
  const controller = new AbortController();
  const work = async () => {
    const response = await (isLocal ? local : client).send({
      url,
      method,
      headers: [...Object.entries(headers), ["accept", "application/json"]],
      body: body === undefined ? undefined : new TextEncoder().encode(body),
      connectMs: EXCHANGE_MS,
      signal: controller.signal,
    });
    const bytes = response.body === null
      ? new Uint8Array()
      : await readAll(createByteReader(response.body), MAX_BYTES);
    const text = new TextDecoder().decode(bytes);
    if (response.status === 200) return text;
    const [, code] = ERROR_REGEXP.exec(text) ?? [];
    throw new ExchangeFault(
      `${host} answered with status ${response.status}${
        code === undefined ? "" : `, ${code}`
      }`,
    );
  };
  try {
    return await within(work(), {
      ms: EXCHANGE_MS,
      start: timers.schedule,
      onLate() {
        controller.abort();
        throw new ExchangeFault(`${host} did not answer within 10 s`);
      },
    });
  } catch (error) {
    if (error instanceof ExchangeFault) throw error;
    throw new ExchangeFault(`${host} cannot be reached`);
  }
}
