import { isHeavyJson, parseJson } from "@gateway/base/json";
import { retryAfterMs } from "@gateway/base/retry_after";
import type { Clock } from "@gateway/base/time/timers";
import { CODECS, type FailureKind } from "@gateway/codecs";
import { discard, readText } from "@gateway/base/streams/byte_reader";
import {
  QuotaFailure,
  type QuotaFailureReason,
  reasonOf,
  unreadable,
} from "./failure.ts";
import type { QuotaPoll, QuotaRequest, QuotaSource } from "./readers/reader.ts";
import type { Reading } from "./reading.ts";

/** The `fetch` of a quota read. */
export type QuotaFetch = (url: string, init: RequestInit) => Promise<Response>;

/** The dependencies of a read. */
interface ReadOptions {
  readonly fetch: QuotaFetch;
  readonly clock: Clock;
  /** Ends the read. */
  readonly signal: AbortSignal;
}

/** The longest response that is read. A quota has a few kilobytes. */
const MAX_BODY_BYTES = 256 * 1024;

/**
 * The largest number of elements and members in a quota response. A provider sends some dozens, another gateway sends
 * some for each of its connections. Validating one value takes as long as parsing hundreds of values.
 */
const MAX_VALUES = 8 * 1024;

/** The largest number of windows of a connection. Each request with quota routing reads all windows. */
const MAX_WINDOWS = 512;

/**
 * Reads the quota of one connection from the provider. Sends requests only to the configured address, follows no
 * redirect and sends no credential but the connection's.
 *
 * @returns The windows, or the failure. Never rejects.
 */
export async function readQuota(
  poll: QuotaPoll,
  source: QuotaSource,
  options: ReadOptions,
): Promise<Reading> {
  const end = new AbortController();
  const signal = AbortSignal.any([options.signal, end.signal]);
  const readOne = (request: QuotaRequest) =>
    exchange(request, { ...options, poll, source, signal });
  try {
    const first = await Promise.all(poll.requests(source).map(readOne));
    const more = poll.followUps?.(first, source) ?? [];
    const bodies = [...first, ...await Promise.all(more.map(readOne))];
    const nowMs = options.clock.now();
    const windows = poll.parse(bodies, { source, nowMs });
    if (windows.length > MAX_WINDOWS) {
      throw brokenQuota("holds more than 512 windows");
    }
    return { checkedAtMs: nowMs, windows };
  } catch (error) {
    return { checkedAtMs: options.clock.now(), failure: toFailure(error) };
  } finally {
    // When one request has failed, the other requests of this read are useless.
    end.abort();
  }
}

interface ExchangeContext extends ReadOptions {
  readonly poll: QuotaPoll;
  readonly source: QuotaSource;
}

/** Returns the JSON response to `request`, or undefined when an optional request fails. */
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
      // A compressed response would be decoded before its bytes are counted, and could grow without end.
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

/**
 * Returns the connection's fixed headers if a URL is on one of the connection's own hosts. Otherwise returns no
 * headers.
 */
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
    ? unreadable("silent", "the provider did not respond in time.", {
      cause,
    })
    : unreadable("unreachable", "the provider could not be reached.", {
      cause,
    });
}

async function readJson(
  answer: Response,
  signal: AbortSignal,
): Promise<unknown> {
  const text = await readBody(answer, signal);
  if (isHeavyJson(text, MAX_VALUES)) {
    throw brokenQuota("holds more than 8,192 values. Check the address");
  }
  const body = parseJson(text);
  if (body !== undefined) return body;
  throw brokenQuota("is not JSON. Check the address");
}

function brokenQuota(problem: string): QuotaFailure {
  return unreadable("broken", `the provider's response ${problem}.`);
}

async function readBody(
  answer: Response,
  signal: AbortSignal,
): Promise<string> {
  const text = await readText(answer, MAX_BODY_BYTES).catch((error) => {
    throw unread(error, signal);
  });
  if (text !== undefined) return text;
  throw brokenQuota("is longer than 256 KiB");
}

/** Converts any error to a failure, so that an unexpected error of one reader does not hide other connections. */
function toFailure(error: unknown): QuotaFailure {
  if (error instanceof QuotaFailure) return error;
  return unreadable("server", "the gateway could not process the response.", {
    cause: error,
  });
}

/** Returns the failure for an error status. */
function statusFailure(
  answer: Response,
  { poll, clock }: { readonly poll: QuotaPoll; readonly clock: Clock },
): QuotaFailure {
  const kind = kindOf(answer, poll);
  const reason = reasonOf(kind);
  const message = MESSAGE_BY_REASON[reason] ??
    `the provider responded with HTTP ${answer.status}.`;
  const mayWait = reason === "rate_limited" || reason === "unavailable";
  return unreadable(kind, message, {
    retryAfterMs: mayWait
      ? retryAfterMs(answer.headers, clock.now())
      : undefined,
  });
}

const MESSAGE_BY_REASON: Readonly<Partial<Record<QuotaFailureReason, string>>> =
  {
    no_plan: "the connection's key has no active plan or no credit.",
    unauthorized:
      "the provider rejects the connection's key. Check the key, its rights and its expiry.",
    rate_limited: "the provider limits the rate of quota reads.",
    invalid_response:
      "the provider redirects the request, but the gateway follows no redirects. Check the address.",
  };

function kindOf(answer: Response, { noPlanStatus }: QuotaPoll): FailureKind {
  const { status } = answer;
  if (status === noPlanStatus) return "quota";
  if (status < 400) return "broken";
  return status === 403 && isHtml(answer)
    ? "server"
    : CODECS.chat.decodeFailure(status, undefined).kind;
}

/**
 * Returns true for an HTML page instead of JSON. Such a page comes from a proxy and does not show that the key is
 * invalid.
 */
function isHtml(answer: Response): boolean {
  return answer.headers.get("content-type")?.includes("text/html") ?? false;
}
