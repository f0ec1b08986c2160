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
 * Returns an upstream's headers with the headers that identify the request. If the upstream sent a `request-id`, this
 * header stays. The headers are a list, because changing the headers of a `Response` costs as much as creating a
 * `Response`.
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
 * Returns the headers that only some answers have. If a fallback served, one header names the fallback. In answers to
 * Responses requests, the other headers are the connection's quota, because Codex shows the quota. If the provider sent
 * such quota headers, they stay as they are.
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
 * Adds headers to a response that the gateway creates itself, unless the response already has these headers. Some of
 * the headers identify the request. One forbids caching, because caches do not know that `x-api-key` is a credential.
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
 * Returns the headers of a stream, with three that keep proxies from holding the stream back. Because of
 * `no-transform`, Caddy does not compress the stream. Caddy 2.6 compresses it nevertheless unless there is a
 * `content-encoding`, such as `identity`. Because of `x-accel-buffering`, nginx sends every chunk at once.
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
