import type { Connection } from "../config/config.ts";
import { credentialHeader } from "../config/credential.ts";
import type { HeaderFields } from "@gateway/base/header_fields";
import { oncePer } from "@gateway/base/memo";
import { saneWaitHeader } from "@gateway/base/retry_after";
import type { Clock } from "@gateway/base/time/timers";
import {
  type HeaderGroup,
  hopHeaderNames,
  nameMatcher,
  WITHHELD_FROM_CALLER,
  WITHHELD_FROM_UPSTREAM,
} from "./header_names.ts";
import { UpstreamFailure } from "@gateway/codecs";
import type { Secrets } from "./secrets.ts";
import { isVertexClaude } from "./vertex_claude.ts";

const isWithheld = nameMatcher(WITHHELD_FROM_UPSTREAM);

/**
 * Returns the headers of an upstream request: the caller's headers that are not withheld, the connection's credential,
 * and the connection's fixed headers. If a header occurs twice, the fixed header wins.
 *
 * @returns Pairs; each name once.
 */
export function upstreamHeaders(
  caller: HeaderFields,
  connection: Connection,
): [string, string][] {
  requireCredential(connection);
  const dropped = hopHeaderNames(caller);
  const own = ownHeadersOf(connection);
  const pairs: [string, string][] = [];
  caller.forEach((value, name) => {
    const isExcluded = isWithheld(name) || dropped.includes(name) ||
      own.names.has(name);
    if (!isExcluded) pairs.push([name, value]);
  });
  pairs.push(...own.pairs);
  return finish(pairs, connection);
}

/** The beta feature that Anthropic requires with an OAuth token (github.com/anthropics/anthropic-sdk-typescript). */
const ANTHROPIC_OAUTH = "oauth-2025-04-20";

/** Adds the beta feature that an exchanged token of Anthropic requires, and removes the values of `headers_drop`. */
function finish(
  pairs: [string, string][],
  connection: Connection,
): [string, string][] {
  const { auth } = connection;
  const name = "anthropic-beta";
  const isNamed = pairs.some(([known, value]) =>
    known === name && value.includes(ANTHROPIC_OAUTH)
  );
  if (
    auth.scheme !== "none" && auth.exchange?.kind === "anthropic" && !isNamed
  ) add(name, ANTHROPIC_OAUTH, pairs);
  // Vertex takes the version from the body, and the SDK sends it there alone.
  const sent = isVertexClaude(connection)
    ? pairs.filter(([known]) => known !== "anthropic-version")
    : pairs;
  return withoutListed(sent, connection);
}

/** @throws {UpstreamFailure} When the exchange of the connection gives no token now. */
function requireCredential({ auth }: Connection): void {
  if (auth.scheme === "none" || auth.key !== "") return;
  throw new UpstreamFailure({
    kind: "authentication",
    message: "The exchange of the connection gives no token now.",
  });
}

/**
 * Removes the values of `headers_drop` from lists in headers. A list without such values stays unchanged. If a list
 * becomes empty, the header is removed.
 */
function withoutListed(
  pairs: [string, string][],
  { headersDrop }: Connection,
): [string, string][] {
  if (Object.keys(headersDrop).length === 0) return pairs;
  return pairs.flatMap(([name, value]): [string, string][] => {
    const refused = Object.hasOwn(headersDrop, name) ? headersDrop[name] : [];
    const listed = value.split(",").map((one) => one.trim());
    const left = listed.filter((one) => refused?.includes(one) !== true);
    if (left.length === listed.length) return [[name, value]];
    return left.length === 0 ? [] : [[name, left.join(",")]];
  });
}

/** Returns the headers that a connection adds to every request. */
const ownHeadersOf = oncePer(({ auth, headers }: Connection) => {
  const own = new Map([["accept-encoding", "identity"]]);
  const credential = credentialHeader(auth);
  if (credential !== undefined) own.set(...credential);
  for (const [name, value] of Object.entries(headers)) {
    own.set(name.toLowerCase(), value);
  }
  return { names: new Set(own.keys()), pairs: [...own] };
});

const isWithheldFromCaller = nameMatcher(WITHHELD_FROM_CALLER);

/** The options for filtering the headers of an upstream's response. */
interface ResponseHeadersOptions {
  /**
   * True when the upstream knows the model by another name. The header `openai-model` is then withheld, because Codex
   * reads a name that it did not request as a warning about the account.
   */
  readonly isRenamed: boolean;
  /** The secrets that no header's value may contain. */
  readonly secrets: Pick<Secrets, "areIn">;
  /** The clock for a `retry-after` header that holds a date. */
  readonly clock: Pick<Clock, "now">;
}

/**
 * Returns the headers of an upstream's response for the caller (docs/http.md#headers). Shortens a `retry-after` that is
 * too long for clients' timers. Leaves out a `retry-after` that is longer than the window of any quota.
 */
export function responseHeaders(
  upstream: HeaderFields,
  { isRenamed, secrets, clock }: ResponseHeadersOptions,
): [string, string][] {
  const dropped = hopHeaderNames(upstream);
  const pairs: [string, string][] = [];
  upstream.forEach((value, name) => {
    const isExcluded = isWithheldFromCaller(name) || dropped.includes(name) ||
      (isRenamed && name === "openai-model") || secrets.areIn(value);
    const shown = isExcluded ? undefined : shownValue(name, value, clock);
    if (shown !== undefined) pairs.push([name, shown]);
  });
  return pairs;
}

function shownValue(
  name: string,
  value: string,
  clock: Pick<Clock, "now">,
): string | undefined {
  return name === "retry-after" || name === "retry-after-ms"
    ? saneWaitHeader(name, value, clock.now())
    : value;
}

const BODY_HEADERS: HeaderGroup = {
  reason:
    "describes the caller's body or SDK, not the body that is sent instead",
  names: ["accept", "content-type"],
  prefixes: ["x-stainless-"],
};

/** The properties of a translated request that decide its headers. */
interface TranslatedHeadersOptions {
  /** The headers that the upstream's protocol requires. */
  readonly ownHeaders: readonly [name: string, value: string][];
  /**
   * The beginnings of header names that belong to a protocol, in lower case. Every request must pass the same array,
   * because the array is the cache key of the test that is made from it.
   */
  readonly protocolPrefixes: readonly string[];
  readonly stream: boolean;
}

/**
 * Returns the headers of a translated upstream request: the headers of a native request without the headers of the
 * caller's protocol.
 */
export function translatedHeaders(
  caller: HeaderFields,
  connection: Connection,
  { ownHeaders, protocolPrefixes, stream }: TranslatedHeadersOptions,
): [string, string][] {
  const isExcluded = ofAnyProtocol(protocolPrefixes);
  const pairs = upstreamHeaders(caller, connection).filter(([name]) =>
    !isExcluded(name) || Object.hasOwn(connection.headers, name)
  );
  const accept = stream ? "text/event-stream" : "application/json";
  add("content-type", "application/json", pairs);
  add("accept", accept, pairs);
  for (const [name, value] of ownHeaders) add(name, value, pairs);
  return finish(pairs, connection);
}

const ofAnyProtocol = oncePer((prefixes: readonly string[]) =>
  nameMatcher([BODY_HEADERS, {
    reason: "belongs to a protocol",
    names: [],
    prefixes,
  }])
);

/** Adds a header. If the header exists, its value stays, but lists of beta features are joined. */
function add(name: string, value: string, pairs: [string, string][]): void {
  const place = pairs.findIndex(([known]) => known === name);
  const known = pairs[place]?.[1];
  if (known === undefined) pairs.push([name, value]);
  else if (name.endsWith("-beta")) pairs[place] = [name, `${known},${value}`];
}
