import type { Protocol } from "../core/protocol.ts";
import { CODECS } from "../protocols/mod.ts";

/** The headers that name a request in every answer to it. */
export function idHeaders(
  protocol: Protocol,
  requestId: string,
): readonly [string, string][] {
  const own = CODECS[protocol].requestIdHeader;
  const named: [string, string] = ["x-request-id", requestId];
  return own === undefined ? [named] : [named, [own, requestId]];
}

/**
 * The headers of an upstream's answer with those that name the request; the upstream's own `request-id` stays. They are
 * here before there is a `Response`: to change its headers costs as much as to make it.
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

/** Names the request in an answer's headers, where those do not name it already. */
export function stamp(
  response: Response,
  protocol: Protocol,
  requestId: string,
): Response {
  for (const [name, value] of idHeaders(protocol, requestId)) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}
