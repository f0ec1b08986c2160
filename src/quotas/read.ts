import { isHeavyJson, parseJson } from "../core/json.ts";
import { retryAfterMs } from "../core/retry_after.ts";
import type { Clock } from "../core/time/timers.ts";
import {
  type FailureKind,
  kindOfStatus,
} from "../protocols/canonical/failure/failure.ts";
import { createByteReader, discard, readAll } from "../streams/byte_reader.ts";
import { QuotaFailure, type QuotaFailureReason, reasonOf } from "./failure.ts";
import type { QuotaPoll, QuotaRequest, QuotaSource } from "./readers/reader.ts";
import type { Reading } from "./reading.ts";

/** What `fetch` is to a quota read. */
export type QuotaFetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a read needs from outside. */
export interface ReadOptions {
  readonly fetch: QuotaFetch;
  readonly clock: Clock;
  /** Ends the read. */
  readonly signal: AbortSignal;
}

/** A quota answer is a few kilobytes; more is no quota. */
const MAX_BODY_BYTES = 256 * 1024;

/**
 * So are its elements and members: some dozens, of a gateway some for each of its connections. To check one takes as
 * long as to parse hundreds.
 */
const MAX_VALUES = 8 * 1024;

/** What a connection has at most; every request that is routed by quota looks at each. */
const MAX_WINDOWS = 512;

/**
 * Asks a provider for the quota of one connection. Goes to the configured address alone, follows no
 * redirect and carries no credential but the connection's.
 *
 * @returns The windows, or why there are none; never rejects.
 */
export async function readQuota(
  poll: QuotaPoll,
  source: QuotaSource,
  options: ReadOptions,
): Promise<Reading> {
  const end = new AbortController();
  const signal = AbortSignal.any([options.signal, end.signal]);
  const ask = (request: QuotaRequest) =>
    exchange(request, { ...options, poll, source, signal });
  try {
    const first = await Promise.all(poll.requests(source).map(ask));
    const more = poll.followUps?.(first, source) ?? [];
    const bodies = [...first, ...await Promise.all(more.map(ask))];
    const nowMs = options.clock.now();
    const windows = poll.parse(bodies, { source, nowMs });
    if (windows.length > MAX_WINDOWS) {
      throw brokenQuota("holds more than 512 windows");
    }
    return { checkedAtMs: nowMs, windows };
  } catch (error) {
    return { checkedAtMs: options.clock.now(), failure: toFailure(error) };
  } finally {
    // One failed call makes the others of this read pointless.
    end.abort();
  }
}

interface ExchangeContext extends ReadOptions {
  readonly poll: QuotaPoll;
  readonly source: QuotaSource;
}

/** The JSON that answers `request`; undefined when it fails and is optional. */
async function exchange(
  request: QuotaRequest,
  context: ExchangeContext,
): Promise<unknown> {
  try {
    const answer = await send(request, context);
    if (answer.ok) return await readJson(answer, context.signal);
    discard(answer);
    throw statusFailure(answer, context);
  } catch (error) {
    if (request.optional) return undefined;
    throw error;
  }
}

async function send(
  request: QuotaRequest,
  { fetch, source, signal }: ExchangeContext,
): Promise<Response> {
  try {
    return await fetch(request.url, {
      // Decoding an answer that grows without end would happen before its bytes are counted.
      headers: {
        "accept-encoding": "identity",
        ...request.headers,
        ...fixedHeaders(request.url, source),
      },
      redirect: "manual",
      signal,
    });
  } catch (error) {
    throw unread(error, signal);
  }
}

/** The connection's fixed headers belong to its own hosts, not to one that `quota.url` names. */
function fixedHeaders(
  url: string,
  { connection }: QuotaSource,
): Readonly<Record<string, string>> {
  const { origin } = new URL(url);
  const isOwnHost = Object.values(connection.endpoints)
    .some((base) => new URL(base).origin === origin);
  return isOwnHost ? connection.headers : {};
}

function unread(cause: unknown, signal: AbortSignal): QuotaFailure {
  return signal.aborted
    ? new QuotaFailure(
      "silent",
      "The provider did not tell its quota in time",
      {
        cause,
      },
    )
    : new QuotaFailure("unreachable", "The provider could not be reached", {
      cause,
    });
}

async function readJson(
  answer: Response,
  signal: AbortSignal,
): Promise<unknown> {
  const text = await readText(answer, signal);
  if (isHeavyJson(text, MAX_VALUES)) {
    throw brokenQuota("holds more than 8,192 values: check the address");
  }
  const body = parseJson(text);
  if (body !== undefined) return body;
  throw brokenQuota("is not JSON: check the address");
}

function brokenQuota(how: string): QuotaFailure {
  return new QuotaFailure("broken", `The provider's quota answer ${how}`);
}

async function readText(
  { body }: Response,
  signal: AbortSignal,
): Promise<string> {
  if (body === null) return "";
  let bytes: Uint8Array | undefined;
  try {
    bytes = await readAll(createByteReader(body), MAX_BODY_BYTES);
  } catch (error) {
    throw unread(error, signal);
  }
  if (bytes !== undefined) return new TextDecoder().decode(bytes);
  throw brokenQuota("is longer than 256 KiB");
}

/** What a reader did not foresee is its fault, and hides no other connection. */
function toFailure(error: unknown): QuotaFailure {
  if (error instanceof QuotaFailure) return error;
  return new QuotaFailure(
    "server",
    "The quota of this connection could not be read",
    { cause: error },
  );
}

/** What a status that is no success means for the quota of a connection. */
function statusFailure(
  answer: Response,
  { poll, clock }: { readonly poll: QuotaPoll; readonly clock: Clock },
): QuotaFailure {
  const kind = kindOf(answer, poll);
  const reason = reasonOf(kind);
  const message = MESSAGE_BY_REASON[reason] ??
    `The provider answers the quota read with HTTP ${answer.status}`;
  const mayWait = reason === "rate_limited" || reason === "unavailable";
  return new QuotaFailure(kind, message, {
    retryAfterMs: mayWait
      ? retryAfterMs(answer.headers, clock.now())
      : undefined,
  });
}

const MESSAGE_BY_REASON: Readonly<Partial<Record<QuotaFailureReason, string>>> =
  {
    no_plan: "The connection's key has no active plan or no credit",
    unauthorized:
      "The provider refuses the connection's key: check it, its rights and its expiry",
    rate_limited: "The provider asks for fewer quota reads",
    invalid_response:
      "The provider redirects the quota read, which is not followed: check the address",
  };

function kindOf(answer: Response, { noPlanStatus }: QuotaPoll): FailureKind {
  const { status } = answer;
  if (status === noPlanStatus) return "quota";
  if (status < 400) return "broken";
  return status === 403 && isHtml(answer) ? "server" : kindOfStatus(status);
}

/** A page instead of JSON is a gate in front of the provider, not the provider's word on the key. */
function isHtml(answer: Response): boolean {
  return answer.headers.get("content-type")?.includes("text/html") ?? false;
}
