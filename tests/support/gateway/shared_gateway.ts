import type { Protocol } from "../../../src/base/protocol.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { good } from "../upstream/bad_provider.ts";
import { minimalFile, tokenFile } from "./config.ts";
import { connectionTo, type Mode } from "./failover_scene.ts";
import type { SeenRequest } from "../upstream/scripted_upstream.ts";
import { protocolOfPath, WIRES } from "../wire/wire.ts";

/** The callers that share the gateway. */
const CALLERS = ["alice", "bob", "carol"] as const;

export type CallerName = typeof CALLERS[number];

/** A caller's protocol, and the mode in which the upstream serves it. */
export interface Way {
  readonly protocol: Protocol;
  readonly mode: Mode;
}

/** Returns the token of a caller. */
export function tokenOf(caller: CallerName): string {
  return `token-of-${caller}`;
}

/**
 * Returns the configuration of a gateway that three callers share.
 *
 * @param urls The upstreams' URLs by the names of their connections, in order. Each serves the same two models.
 */
export function sharedFile(
  way: Way,
  urls: Readonly<Record<string, string>>,
): Record<string, unknown> {
  return minimalFile({
    connections: Object.entries(urls).map(([name, url]) => {
      const file = connectionTo(name, way, { models: ["model-1", "model-2"] });
      const endpoints = Object.keys(Object(file.endpoints))
        .map((endpoint) => [endpoint, `${url}/v1`]);
      return { ...file, endpoints: Object.fromEntries(endpoints) };
    }),
    tokens: CALLERS.map((name) =>
      tokenFile({ name, sha256: sha256Hex(tokenOf(name)) })
    ),
  });
}

/** Returns a complete answer to a request, in its protocol. */
export function answerWell({ path, text }: SeenRequest): Response {
  const body = JSON.parse(text());
  return good({
    host: "upstream",
    model: body.model,
    stream: body.stream === true,
    atMs: 0,
    body,
    wire: WIRES[protocolOfPath(path)],
    signal: new AbortController().signal,
    onPiece() {},
  });
}
