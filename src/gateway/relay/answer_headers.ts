import type { HeaderFields } from "@gateway/base/header_fields";
import type { Protocol } from "@gateway/base/protocol";
import { CODECS } from "@gateway/codecs";
import { type CodexQuota, hasCodexQuota } from "../quotas/codex_quota.ts";
import type { Attempt } from "./attempt.ts";

/** Returns the headers that identify a request in its response. */
export function idHeaders(
  protocol: Protocol,
  requestId: string,
): readonly [string, string][] {
  const own = CODECS[protocol].requestIdHeader;
  const named: [string, string] = ["x-request-id", requestId];
  return own === undefined ? [named] : [named, [own, requestId]];
}

/**
 * Adds the headers that identify the request to an upstream's headers; the upstream's own `request-id` stays. It takes
 * a list, because changing the headers of a `Response` costs as much as creating one.
 */
export function withRequestId(
  headers: readonly [string, string][],
  protocol: Protocol,
  requestId: string,
): [string, string][] {
  const named = headers.filter(([name]) => name !== "x-request-id");
  for (const own of idHeaders(protocol, requestId)) {
    if (!named.some(([name]) => name === own[0])) named.push(own);
  }
  return named;
}

/**
 * Returns the headers that an answer has beside those of every response. One names the fallback, if a fallback served.
 * The others are the connection's quota for callers of Responses, because Codex shows them, unless the provider sent
 * its own.
 *
 * @param answer The provider's headers that the caller receives.
 */
export function answerHeaders(
  { operation, deployment: { connection, model }, head }: Attempt,
  codexQuota: CodexQuota,
  answer?: HeaderFields | undefined,
): readonly [string, string][] {
  const headers: [string, string][] = [];
  if (model.id !== head.model) {
    headers.push(["x-gateway-model", encodeURI(model.id.toWellFormed())]);
  }
  const hasQuota = answer !== undefined && hasCodexQuota(answer);
  if (operation === "responses" && !hasQuota) {
    headers.push(...codexQuota.headersOf(connection));
  }
  return headers;
}

/**
 * Adds two kinds of headers to a response that the gateway creates itself, unless the response has them. One kind
 * identifies the request. The other forbids caching, because caches do not know `x-api-key` as a credential.
 */
export function stamp(
  response: Response,
  protocol: Protocol,
  requestId: string,
): Response {
  const ids = idHeaders(protocol, requestId);
  for (const [name, value] of [...ids, NOT_STORED]) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}

/** The header that forbids caches to keep a response (RFC 9111, section 5.2.2.5). */
export const NOT_STORED: [string, string] = ["cache-control", "no-store"];

/**
 * Returns the headers of a stream, with three that keep proxies from holding the stream back. With `no-transform`,
 * Caddy does not compress it. Caddy 2.6 needs a `content-encoding` for that, and `identity` is enough. With
 * `x-accel-buffering`, nginx passes it at once.
 */
export function streamHeaders(
  headers: readonly [string, string][],
): [string, string][] {
  const given = headers.find(([name]) => name === "cache-control")?.[1];
  const cache = given || "no-cache";
  const isSaid = /\bno-transform\b/i.test(cache);
  return [
    ...headers.filter(([name]) =>
      !/^(cache-control|content-encoding|x-accel-buffering)$/.test(name)
    ),
    ["cache-control", isSaid ? cache : `${cache}, no-transform`],
    ["content-encoding", "identity"],
    ["x-accel-buffering", "no"],
  ];
}
