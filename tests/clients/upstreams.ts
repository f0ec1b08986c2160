import type { Fetch } from "../../src/gateway/upstream/call.ts";
import { type Clock, systemClock } from "../../src/base/time/timers.ts";
import { randomIds } from "../../src/base/ids.ts";
import type { Family, Protocol } from "../../src/base/protocol.ts";
import { createStrictProvider } from "../support/upstream/strict_provider/mod.ts";
import { connectionFile, minimalFile } from "../support/gateway/config.ts";
import {
  identityFile,
  KEYS_URL,
  type Signer,
} from "../support/gateway/identity_scene.ts";
import {
  type RunningGateway,
  startGateway,
} from "../support/gateway/gateway.ts";
import type { ClientProgram } from "./programs.ts";

/** An upstream with one protocol. */
export interface Upstream {
  readonly family: Family;
  /** The only path that it serves. */
  readonly path: string;
  readonly endpoint: Protocol;
}

/** One upstream for each protocol. */
export const UPSTREAMS: readonly Upstream[] = [
  { family: "A", endpoint: "chat", path: "/v1/chat/completions" },
  { family: "B", endpoint: "messages", path: "/v1/messages" },
  { family: "C", endpoint: "responses", path: "/v1/responses" },
];

/**
 * Returns the upstreams to which the gateway translates a client's protocol (docs/design.md#native-and-translated),
 * first the one that needs no `paths`.
 */
export function upstreamsFor(
  { protocol }: Pick<ClientProgram, "protocol">,
): readonly Upstream[] {
  return UPSTREAMS.filter(({ endpoint }) => endpoint !== protocol);
}

/** Returns the upstream for clients whose tools have another form in other protocols. */
export function chatUpstream(): Upstream {
  const [chat] = UPSTREAMS;
  if (chat === undefined) throw new Error("There is no upstream");
  return chat;
}

/** Replaces the demo's good answer to a request that reached the upstream. */
export type Spoil = (
  answer: Response,
  request: { readonly body: string },
) => Promise<Response>;

/** A name that no client knows. */
export const UNKNOWN_MODEL = "unknown-model";

/** The options of an upstream behind a gateway. */
export interface TranslatingOptions {
  /** The model's name; default: one that no client knows. */
  readonly model?: string;
  /** Further fields of the model in the configuration; default: none. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Further fields of the connection; default: none. */
  readonly connection?: Readonly<Record<string, unknown>>;
  /** Receives the path of every model request; absent to ignore them. */
  readonly asked?: string[];
  /** Further top-level keys of the configuration, such as `tokens`; default: none. */
  readonly file?: Readonly<Record<string, unknown>>;
  /** Signs the JWTs of callers; absent if the gateway accepts only its own tokens. */
  readonly signer?: Signer;
  /** The clock of cool-downs and of JWTs; default: that of this machine. */
  readonly clock?: Clock;
  /** Replaces the demo's answers; absent to keep them. */
  readonly spoil?: Spoil;
}

/** Starts a gateway in front of the demo's provider of a family, with one endpoint. */
export function startTranslating(
  { family, endpoint }: Upstream,
  {
    model = UNKNOWN_MODEL,
    fields,
    connection,
    file,
    signer,
    clock = systemClock,
    asked = [],
    spoil,
  }: TranslatingOptions = {},
): Promise<RunningGateway> {
  const letter = family.toLowerCase();
  const demo = createStrictProvider({
    clock: systemClock,
    ids: randomIds,
    wordMs: 0,
  });
  const fetch: Fetch = async (url, init) => {
    if (signer !== undefined && url === KEYS_URL) {
      return Response.json({ keys: [signer.jwk] });
    }
    // The gateway fetches the provider's models for a client's catalog.
    if (init.method !== "POST") return await demo(url, init);
    asked.push(new URL(url).pathname);
    const body = await new Response(init.body).text();
    const answer = await demo(url, { ...init, body });
    return spoil === undefined ? answer : await spoil(answer, { body });
  };
  const main = connectionFile({
    family,
    endpoints: { [endpoint]: `https://demo-${letter}.invalid/v1` },
    ...(family === "A" ? {} : { paths: ["messages", "responses"] }),
    auth: {
      scheme: family === "B" ? "x-api-key" : "bearer",
      key: `demo-key-${letter}`,
    },
    models: [{ id: model, upstream: `demo-${letter}`, ...fields }],
    ...connection,
  });
  return startGateway(
    minimalFile({
      connections: [main],
      ...(signer === undefined ? {} : { identity: [identityFile()] }),
      ...file,
    }),
    { fetch, clock },
  );
}
