import type { Fetch } from "../../upstream/call.ts";
import type {
  IdentityKeys,
  IdentityProvider,
  PublicKey,
} from "../../config/config.ts";
import { parseDiscovery, parseKeySet } from "../../config/schema/key_set.ts";
import { type Deadlines, within } from "@gateway/base/time/deadlines";
import type { Clock } from "@gateway/base/time/timers";
import type { Log } from "../../observe/log.ts";
import { discard, readText } from "@gateway/base/streams/byte_reader";

/** An issuer whose keys are at a URL. */
export interface KeySource {
  readonly issuer: string;
  readonly keys: Exclude<IdentityKeys, { kind: "file" }>;
}

/** The keys of an issuer that one reading found. */
export interface KeySet {
  /** The id of the reading, unique in the process. */
  readonly id: number;
  readonly keys: readonly PublicKey[];
}

/** The keys of the identity providers, read when they are first needed. */
export interface KeySets {
  /**
   * Returns the keys of an issuer. Reads the keys when they are unknown or older than an hour.
   *
   * @throws {NoKeys} When the keys cannot be read.
   */
  of(source: KeySource): Promise<KeySet>;
  /**
   * Reads the keys again, because a token names a key that is not in `seen`. The keys are read at most once in 30 s for
   * all callers of the process together.
   *
   * @returns `undefined` when there are no newer keys than `seen`, because the keys were just read.
   * @throws {NoKeys} When the keys cannot be read.
   */
  renewed(
    source: KeySource,
    seen: Pick<KeySet, "id">,
  ): Promise<KeySet | undefined>;
  /** Forgets the keys of all providers but the given ones. */
  retain(providers: readonly IdentityProvider[]): void;
}

/** The keys cannot be read now. */
export class NoKeys extends Error {
  override readonly name = "NoKeys";
  /** The time until the next reading, in milliseconds. */
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super("Cannot verify a JWT: the keys of its issuer cannot be read.");
    this.retryAfterMs = retryAfterMs;
  }
}

/** The dependencies of {@linkcode createKeySets}. */
interface KeySetsOptions {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly log: Log;
}

/** The age up to which keys are used, in milliseconds. */
export const FRESH_MS = 3_600_000;

/** The least time between two readings that unknown keys cause, in milliseconds. */
const RENEW_MS = 30_000;

/** The time after a failed reading until the next reading, in milliseconds. */
const FAILED_MS = 5000;

/** The timeout of a reading, in milliseconds. */
const READ_MS = 5000;

/** The longest document that is read, in bytes. */
const MAX_BYTES = 1024 * 1024;

/** The keys of a provider. Times are on the monotonic clock, in milliseconds. */
interface Entry {
  keys?: { readonly set: KeySet; readonly readAtMs: number };
  /** The reading that is running. */
  reading?: Promise<KeySet> | undefined;
  /** The start of the last reading. */
  startedMs: number;
  /** After a failed reading: the time of the next reading. */
  retryAtMs?: number | undefined;
}

/** Creates key sets without any keys. */
export function createKeySets(options: KeySetsOptions): KeySets {
  const { clock, deadlines, log } = options;
  const entries = new Map<string, Entry>();
  let readings = 0;

  function entryOf(source: KeySource): Entry {
    const key = sourceKey(source);
    const entry = entries.get(key) ?? { startedMs: -Infinity };
    entries.set(key, entry);
    return entry;
  }

  /** Reads the keys once for all callers that wait for them. */
  function read(source: KeySource, entry: Entry): Promise<KeySet> {
    entry.reading ??= readNow(source, entry)
      .finally(() => entry.reading = undefined);
    return entry.reading;
  }

  async function readNow(source: KeySource, entry: Entry): Promise<KeySet> {
    entry.startedMs = clock.elapsedMs();
    const late = new AbortController();
    try {
      const keys = await within(
        readKeys(source, { fetch: options.fetch, signal: late.signal }),
        {
          ms: READ_MS,
          start: deadlines.start,
          onLate() {
            late.abort();
            throw new Unread("it did not answer within 5 s");
          },
        },
      );
      const set = { id: ++readings, keys };
      entry.keys = { set, readAtMs: entry.startedMs };
      entry.retryAtMs = undefined;
      return set;
    } catch (error) {
      entry.retryAtMs = clock.elapsedMs() + FAILED_MS;
      log.write("identity_keys_unread", {
        issuer: source.issuer,
        reason: error instanceof Unread ? error.message : UNREACHED,
        retry_ms: FAILED_MS,
      });
      throw new NoKeys(FAILED_MS);
    }
  }

  return {
    async of(source) {
      const entry = entryOf(source);
      const nowMs = clock.elapsedMs();
      const { keys, reading, retryAtMs = 0 } = entry;
      if (keys !== undefined && nowMs - keys.readAtMs < FRESH_MS) {
        return keys.set;
      }
      if (reading === undefined && nowMs < retryAtMs) {
        throw new NoKeys(retryAtMs - nowMs);
      }
      return await read(source, entry);
    },
    async renewed(source, seen) {
      const entry = entryOf(source);
      const nextMs = entry.startedMs + RENEW_MS;
      const nowMs = clock.elapsedMs();
      if (entry.reading !== undefined || nowMs >= nextMs) {
        return await read(source, entry);
      }
      if (entry.retryAtMs !== undefined) throw new NoKeys(nextMs - nowMs);
      return entry.keys?.set.id === seen.id ? undefined : entry.keys?.set;
    },
    retain(providers) {
      const kept = new Set(providers.map(sourceKey));
      for (const key of entries.keys()) {
        if (!kept.has(key)) entries.delete(key);
      }
    },
  };
}

/** Returns a text that is equal for providers with the same source of keys, so that a reload keeps their keys. */
export function sourceKey(
  { issuer, keys }: Pick<IdentityProvider, "issuer" | "keys">,
): string {
  return keys.kind === "file" ? "" : `${issuer} ${keys.url}`;
}

/** The reason why keys cannot be read, without any text of the provider. */
export class Unread extends Error {
  override readonly name = "Unread";
}

const UNREACHED = "the gateway cannot reach it";

interface ReadOptions {
  readonly fetch: Fetch;
  /** Cancels the reading. */
  readonly signal: AbortSignal;
}

/**
 * Reads the keys of a provider now.
 *
 * @throws {Unread} When the answer holds no usable key; also the errors of `fetch`.
 */
export async function readKeys(
  { issuer, keys }: Pick<IdentityProvider, "issuer" | "keys">,
  options: ReadOptions,
): Promise<readonly PublicKey[]> {
  if (keys.kind === "file") return keys.keys;
  const url = keys.kind === "url"
    ? keys.url
    : keysUrl(await readJson(keys.url, options), { issuer, from: keys.url });
  const found = parseKeySet(await readJson(url, options));
  if (found === undefined) throw new Unread("it sent no JSON Web Key Set");
  if (found.length === 0) {
    throw new Unread("its key set has no public key for signatures");
  }
  return found;
}

/** Returns the URL of an issuer's keys from the text of the issuer's OpenID Connect document. */
function keysUrl(
  text: string,
  { issuer, from }: { readonly issuer: string; readonly from: string },
): string {
  const found = parseDiscovery(text);
  if (found === undefined) {
    throw new Unread("its openid-configuration has no issuer and jwks_uri");
  }
  if (found.issuer !== issuer) {
    throw new Unread("its openid-configuration is of another issuer");
  }
  const url = found.jwks_uri;
  const isAllowed = url.startsWith("https://") ||
    url.startsWith("http://") && from.startsWith("http://");
  if (isAllowed && URL.canParse(url)) return url;
  throw new Unread("its openid-configuration has a jwks_uri without https:");
}

/** Reads a document, without following redirects. */
async function readJson(
  url: string,
  { fetch, signal }: ReadOptions,
): Promise<string> {
  const answer = await fetch(url, {
    headers: { accept: "application/json" },
    redirect: "manual",
    signal,
  });
  if (!answer.ok) {
    discard(answer);
    throw new Unread(`it answered with status ${answer.status}`);
  }
  const text = await readText(answer, MAX_BYTES);
  if (text === undefined) throw new Unread("it sent more than 1 MiB");
  return text;
}
